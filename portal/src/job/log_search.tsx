// SPDX-License-Identifier: Apache-2.0
// Finds text in a log that is not all here: first in the lines that are, then part by part in that direction.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { bytes } from "../format";
import { Icon } from "../parts/icon";
import type { LogReader } from "./log_reader";
import type { Line } from "./log_window";

interface Props {
  reader: LogReader;
  text: string;
  setText: (text: string) => void;
  hit: number;
  onBegin: () => void;
  goTo: (offset: number) => void;
}

export function LogSearch({ reader, text, setText, hit, onBegin, goTo }: Props) {
  const [said, setSaid] = useState("");
  const current = useRef(0); // a newer search ends an older one
  const count = text ? reader.window.lines.reduce((sum, line) => sum + Number(contains(line, text)), 0) : 0;

  const look = async (direction: 1 | -1) => {
    const mine = ++current.current;
    if (!text) return;
    onBegin();
    reader.searching = true;
    const found = await find(mine, direction);
    if (mine !== current.current) return;
    reader.searching = false;
    setSaid(found ? "" : direction < 0 ? "none before" : "none after");
    if (found) goTo(found.at);
  };

  const find = async (mine: number, direction: 1 | -1): Promise<Line | undefined> => {
    let from = hit >= 0 ? hit : direction < 0 ? Infinity : -1;
    for (;;) {
      const found = nearest(reader.window.lines, text, from, direction);
      if (found || (direction < 0 ? reader.atStart : reader.atEnd)) return found;
      from = direction < 0 ? (reader.window.lines[0]?.at ?? 0) + 1 : (reader.window.lines.at(-1)?.at ?? 0) - 1;
      const more = direction < 0 ? await reader.earlier() : await reader.later();
      if (mine !== current.current || !more) return undefined;
      setSaid(`looking at ${bytes(direction < 0 ? reader.window.start : reader.window.end)} …`);
    }
  };

  return (
    <div class="log-search" role="search">
      <label class="search">
        <Icon name="search" />
        <input
          id="search"
          type="search"
          aria-label="Search the log"
          placeholder="search ( / )"
          value={text}
          onInput={(event) => {
            ++current.current;
            reader.searching = false;
            setSaid("");
            setText(event.currentTarget.value);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter") void look(event.shiftKey ? 1 : -1);
            else if (event.key === "Escape") event.currentTarget.blur();
          }}
        />
      </label>
      <button disabled={!text} onClick={() => look(-1)} title="Earlier (Enter)">
        Earlier
      </button>
      <button disabled={!text} onClick={() => look(1)} title="Later (Shift Enter)">
        Later
      </button>
      <span class="muted" role="status">
        {said || (text ? `${count} in the part shown` : "")}
      </span>
    </div>
  );
}

const contains = (line: Line, text: string) => line.text.toLowerCase().includes(text.toLowerCase());

// The line nearest to `from`, not itself, in that direction.
export function nearest(lines: Line[], text: string, from: number, direction: 1 | -1): Line | undefined {
  if (direction > 0) return lines.find((line) => line.at > from && contains(line, text));
  for (let i = lines.length - 1; i >= 0; --i) if (lines[i]!.at < from && contains(lines[i]!, text)) return lines[i];
  return undefined;
}

export function marked(line: string, text: string): ComponentChildren {
  const parts: ComponentChildren[] = [];
  const lower = line.toLowerCase();
  const wanted = text.toLowerCase();
  let at = 0;
  for (let found = lower.indexOf(wanted); found >= 0; found = lower.indexOf(wanted, at)) {
    parts.push(line.slice(at, found), <mark key={found}>{line.slice(found, found + wanted.length)}</mark>);
    at = found + wanted.length;
  }
  parts.push(line.slice(at));
  return parts;
}
