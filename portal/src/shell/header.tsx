// SPDX-License-Identifier: Apache-2.0
import { connection } from "../api/live";
import { useStore } from "../api/store";
import { token } from "../api/token";
import { duration } from "../format";
import { Icon } from "../parts/icon";
import { useNow } from "./now";
import { address } from "./router";
import { setTheme, theme, type Theme } from "./theme";

export function Header(props: { onHelp: () => void }) {
  const { path } = useStore(address);
  const here = (yes: boolean) => (yes ? "page" : undefined);
  return (
    <header class="top">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <a class="brand" href="/" aria-label="Longship, all jobs">
        <Icon name="ship" />
        <span>Longship</span>
      </a>
      <nav aria-label="Pages">
        <a href="/" aria-current={here(path === "/" || path.startsWith("/jobs/"))}>
          Jobs
        </a>
        <a href="/studies" aria-current={here(path.startsWith("/studies"))}>
          Studies
        </a>
        <a href="/sites" aria-current={here(path === "/sites")}>
          Sites
        </a>
      </nav>
      {useStore(token) ? <ConnectionState /> : <span class="connection" />}
      <ThemeSwitch />
      <button class="quiet square" aria-label="Keys" title="Keys (?)" onClick={props.onHelp}>
        <kbd>?</kbd>
      </button>
    </header>
  );
}

function ConnectionState() {
  const state = useStore(connection);
  const now = useNow(state.state === "lost" ? 1 : 0);
  return (
    <p class={`connection ${state.state}`} role="status">
      {state.state === "live" && (
        <>
          <Icon name="live" /> live
        </>
      )}
      {state.state === "connecting" && (
        <>
          <Icon name="waiting" /> connecting
        </>
      )}
      {state.state === "resting" && (
        <>
          <Icon name="held" /> resting
        </>
      )}
      {state.state === "lost" && (
        <>
          <Icon name="lost" /> <span>connection lost</span>
          <span class="detail" aria-hidden="true">
            {" "}
            {duration(Math.max(0, Math.round(now - state.since / 1000)))} ago: what you see is as of then; trying again
          </span>
        </>
      )}
    </p>
  );
}

const after: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

export function nextTheme(): void {
  setTheme(after[theme.value]);
}

function ThemeSwitch() {
  const now = useStore(theme);
  return (
    <button class="quiet square" onClick={nextTheme} aria-label={`Theme: ${now}`} title={`Theme: ${now} (t)`}>
      <Icon name={now === "system" ? "system" : now === "light" ? "sun" : "moon"} />
    </button>
  );
}
