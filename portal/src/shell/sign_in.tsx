// SPDX-License-Identifier: Apache-2.0
// Without a token: how to get one.
import { useState } from "preact/hooks";
import { keepToken } from "../api/token";
import { Copyable } from "../parts/copyable";

export function SignIn(props: { refused: boolean }) {
  const [text, setText] = useState("");
  return (
    <main id="main" class="narrow">
      <h1>Who are you?</h1>
      {props.refused && (
        <p role="alert" class="notice error">
          The hub does not know this browser’s token any more.
        </p>
      )}
      <p>
        This page shows your jobs once it has a token. The command that starts the hub prints an address that has yours
        in it; open that one:
      </p>
      <Copyable text="longship up" />
      <p class="muted">
        The token stays in this browser and is sent to this hub only. Someone else’s hub: ask its owner for a token.
      </p>
      <form
        class="token"
        onSubmit={(event) => {
          event.preventDefault();
          const found = /token=([^&\s]+)/.exec(text)?.[1] ?? text.trim();
          if (found) keepToken(found);
        }}
      >
        <label for="token">Or paste the token, or the whole address</label>
        <div class="with-button">
          <input
            id="token"
            type="password"
            autocomplete="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button class="primary">Go on</button>
        </div>
      </form>
    </main>
  );
}
