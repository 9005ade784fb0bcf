// SPDX-License-Identifier: Apache-2.0
// A command or a name, and a button that copies it.
import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icon";

export function CopyButton(props: { text: string; what: string }) {
  const [copied, setCopied] = useState<boolean | null>(null);
  useEffect(() => {
    if (copied === null) return;
    const timer = setTimeout(() => setCopied(null), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = () =>
    navigator.clipboard.writeText(props.text).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  return (
    <button class="quiet copy" aria-label={`Copy ${props.what}`} title={`Copy ${props.what}`} onClick={copy}>
      <Icon name={copied ? "finished" : "copy"} />
      <span role="status">{copied === null ? "" : copied ? "copied" : "please copy by hand"}</span>
    </button>
  );
}

export function Copyable(props: { text: string; shown?: string }) {
  const lines = (props.shown ?? props.text).includes("\n");
  return (
    <div class="copyable">
      <pre
        tabIndex={lines ? 0 : undefined}
        role={lines ? "region" : undefined}
        aria-label={lines ? "Text to copy" : undefined}
      >
        <code>{props.shown ?? props.text}</code>
      </pre>
      <CopyButton text={props.text} what={lines ? "all of it" : props.text} />
    </div>
  );
}
