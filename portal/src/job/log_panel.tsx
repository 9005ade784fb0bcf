// SPDX-License-Identifier: Apache-2.0
// What a rank said: only the lines in sight are drawn, only the parts somebody looked at are loaded.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useStore } from "../api/store";
import type { Attempt, JobDetails } from "../api/types";
import { bytes } from "../format";
import { Problem, Skeleton } from "../parts/notice";
import { useVisibleRows } from "../parts/virtual";
import { useKeys } from "../shell/keys";
import { address, setQuery } from "../shell/router";
import { LogReader, type Which } from "./log_reader";
import { LogSearch, marked } from "./log_search";

const lineHeight = 18;
const poll = 1000; // ms, while following a job that runs
const pollAfterError = 5000;

export function LogPanel({ job, attempt }: { job: JobDetails; attempt: Attempt }) {
  const { query } = useStore(address);
  const rank = Math.min(Number(query.get("rank")) || 0, Math.max(0, attempt.ranks - 1));
  const stream = query.get("stream") === "err" ? "err" : "out";
  return (
    <section class="panel log" aria-labelledby="log">
      <div class="panel-head">
        <h2 id="log">Log</h2>
        <div class="tools">
          <RankChoice rank={rank} ranks={attempt.ranks} />
          <div role="group" aria-label="Stream">
            {(["out", "err"] as const).map((one) => (
              <button
                key={one}
                class="toggle"
                aria-pressed={stream === one}
                onClick={() => setQuery({ stream: one === "out" ? null : one })}
              >
                {one}
              </button>
            ))}
          </div>
        </div>
      </div>
      <Log
        key={`${rank} ${stream}`}
        job={job}
        which={{ attempt: attempt.number, rank, stream }}
        growing={attempt.ended === null}
      />
    </section>
  );
}

function RankChoice({ rank, ranks }: { rank: number; ranks: number }) {
  if (ranks < 2) return null;
  const choose = (text: string) => setQuery({ rank: text === "0" ? null : text });
  return (
    <label class="rank-choice">
      rank{" "}
      {ranks <= 256 ? (
        <select value={String(rank)} onChange={(event) => choose(event.currentTarget.value)}>
          {Array.from({ length: ranks }, (_, i) => (
            <option key={i} value={String(i)}>
              {i}
            </option>
          ))}
        </select>
      ) : (
        <input
          type="number"
          min={0}
          max={ranks - 1}
          value={rank}
          onChange={(event) => choose(event.currentTarget.value)}
        />
      )}
    </label>
  );
}

function Log({ job, which, growing }: { job: JobDetails; which: Which; growing: boolean }) {
  const reader = useMemo(() => new LogReader(job.id, which), []);
  const [follow, setFollow] = useState(true);
  const [search, setSearch] = useState("");
  const [hit, setHit] = useState(-1); // offset of the line that was found
  const view = useRef<HTMLDivElement>(null);
  useStore(reader.version);
  const error = useStore(reader.error);
  useEffect(() => {
    void reader.toEnd();
    return () => reader.close();
  }, [reader]);
  usePolling(reader, growing && follow);
  useKeys({ f: () => setFollow((on) => !on) });
  const goTo = (offset: number) => {
    setHit(offset);
    const index = reader.window.lines.findIndex((line) => line.at === offset);
    if (index >= 0 && view.current)
      view.current.scrollTop = Math.max(0, index * lineHeight - view.current.clientHeight / 2);
  };
  const { window: part } = reader;
  return (
    <>
      <div class="log-bar">
        <LogSearch
          reader={reader}
          text={search}
          setText={setSearch}
          hit={hit}
          onBegin={() => setFollow(false)}
          goTo={goTo}
        />
        <span class="spacer" />
        <span class="muted number where">
          {part.size > 0 &&
            (reader.atStart && reader.atEnd
              ? bytes(part.size)
              : `${bytes(part.start)} – ${bytes(part.end)} of ${bytes(part.size)}`)}
        </span>
        <button
          onClick={() => {
            setFollow(false);
            void reader.toStart().then(() => view.current?.scrollTo(0, 0));
          }}
        >
          Start
        </button>
        <button
          class="toggle"
          aria-pressed={follow}
          title="Follow the end (f)"
          onClick={() => {
            if (!follow && !reader.atEnd) void reader.toEnd();
            setFollow(!follow);
          }}
        >
          {growing ? "Follow" : "End"}
        </button>
      </div>
      {error ? <Problem error={error} again={() => void (reader.loaded ? reader.later() : reader.toEnd())} /> : null}
      <Lines
        reader={reader}
        view={view}
        follow={follow}
        setFollow={setFollow}
        search={search}
        hit={hit}
        growing={growing}
        label={`Output of rank ${which.rank}`}
      />
    </>
  );
}

interface LinesProps {
  reader: LogReader;
  view: RefObject<HTMLDivElement | null>;
  follow: boolean;
  setFollow: (on: boolean) => void;
  search: string;
  hit: number;
  growing: boolean;
  label: string;
}

function Lines({ reader, view, follow, setFollow, search, hit, growing, label }: LinesProps) {
  const version = useStore(reader.version);
  const { lines } = reader.window;
  const { first, end } = useVisibleRows(view, lineHeight, lines.length, true, 20);
  const expected = useRef(0); // where we scrolled to ourselves
  const placed = useRef(version); // a shift counts once
  useLayoutEffect(() => {
    const element = view.current!;
    if (!follow && placed.current !== version) element.scrollTop += version.shift * lineHeight;
    placed.current = version;
    if (follow) element.scrollTop = element.scrollHeight;
    expected.current = element.scrollTop;
  }, [version, follow]);
  const scrolled = () => {
    const element = view.current;
    if (!element) return; // the page has been left
    const bottom = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (follow && element.scrollTop < expected.current - 2 && bottom > lineHeight) setFollow(false);
    else if (!follow && bottom < 2 && reader.atEnd && element.scrollTop > expected.current) setFollow(true);
    expected.current = element.scrollTop;
    if (reader.searching) return; // it brings what it needs
    if (element.scrollTop < 30 * lineHeight && !reader.atStart && !follow) void reader.earlier();
    if (bottom < 30 * lineHeight && !reader.atEnd) void reader.later();
  };
  const short = !growing && reader.loaded && reader.atStart && reader.atEnd && lines.length < 24;
  return (
    <div
      class={`log-view ${short ? "short" : ""}`}
      ref={view}
      onScroll={scrolled}
      tabIndex={0}
      role="log"
      aria-label={label}
      aria-live="off"
    >
      {!reader.loaded && <Skeleton lines={8} label="The log is on its way" />}
      {reader.loaded && lines.length === 0 && (
        <p class="muted nothing">Nothing was written here{growing ? " yet" : ""}.</p>
      )}
      <div class="space" style={{ height: `${lines.length * lineHeight}px` }}>
        <pre class="shown" style={{ transform: `translateY(${first * lineHeight}px)` }}>
          {lines.slice(first, end).map((line) => (
            <div key={line.at} class={line.at === hit ? "hit" : ""}>
              {search ? marked(line.text, search) : line.text}
              {"\n"}
            </div>
          ))}
        </pre>
      </div>
    </div>
  );
}

function usePolling(reader: LogReader, on: boolean): void {
  useEffect(() => {
    if (!on) {
      if (reader.loaded) void reader.later(); // what came at the very end
      return;
    }
    let timer = 0;
    let over = false;
    const ask = async () => {
      const more = !document.hidden && reader.loaded && (await reader.later());
      if (!over) timer = window.setTimeout(ask, more && !reader.atEnd ? 0 : reader.error.value ? pollAfterError : poll);
    };
    timer = window.setTimeout(ask, poll);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [reader, on]);
}
