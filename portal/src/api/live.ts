// SPDX-License-Identifier: Apache-2.0
// One connection that tells what changes. When it is lost the page keeps what it has, says so, and tries again;
// when it is back, everything shown is asked for once more, since what was missed cannot be known.
//
// Browsers allow six connections to one address, over all tabs: a tab that nobody has looked at for a while gives
// its own back.
import { EventSplitter } from "./event_stream";
import { Refusal, request } from "./client";
import { Store } from "./store";
import { token } from "./token";
import type { Job, Site } from "./types";

export type Connection =
  { state: "connecting" } | { state: "live" } | { state: "lost"; since: number } | { state: "resting" };
export const connection = new Store<Connection>({ state: "connecting" });

export interface Changes {
  jobs: Map<string, Job>;
  sites: Map<string, Site & { removed?: boolean }>;
  missed: boolean; // more may have changed than is told here: ask again
}
type Listener = (changes: Changes) => void;

const gather = 100; // ms: thousands of changes at once are one redraw
const patience = 40_000; // ms without a byte; the hub says something every 15 s
const rest = 30_000; // ms hidden until the connection is given back
const delays = [300, 1000, 2000, 4000, 8000]; // ms between attempts

const listeners = new Set<Listener>();
let pending: Changes = nothing();
let flushing = 0;
let lastId = "";
let current: AbortController | null = null;
let failures = 0;
let retrying = 0;
let resting = 0;
let interrupted = false; // since the last connection

export function onChanges(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function startLive(): void {
  token.watch(reconnect);
  addEventListener("online", retryNow);
  addEventListener("offline", () => current?.abort());
  document.addEventListener("visibilitychange", () => {
    clearTimeout(resting);
    if (document.hidden) resting = window.setTimeout(goToRest, rest);
    else retryNow();
  });
  reconnect();
}

function nothing(): Changes {
  return { jobs: new Map(), sites: new Map(), missed: false };
}

function goToRest(): void {
  clearTimeout(retrying);
  connection.value = { state: "resting" };
  current?.abort();
}

function retryNow(): void {
  if (connection.value.state === "live") return;
  failures = 0;
  reconnect();
}

function reconnect(): void {
  clearTimeout(retrying);
  current?.abort();
  current = null;
  if (!token.value) return;
  const mine = new AbortController();
  current = mine;
  void listen(mine)
    .catch(() => {})
    .then(() => {
      if (current === mine) ended();
    });
}

function ended(): void {
  current = null;
  interrupted = true;
  if (connection.value.state === "resting") return;
  if (connection.value.state !== "lost") connection.value = { state: "lost", since: Date.now() };
  const delay = delays[Math.min(failures++, delays.length - 1)]!;
  retrying = window.setTimeout(reconnect, delay * (0.8 + 0.4 * Math.random()));
}

async function listen(controller: AbortController): Promise<void> {
  let watchdog = 0;
  const heard = () => {
    clearTimeout(watchdog);
    watchdog = window.setTimeout(() => controller.abort(), patience);
  };
  try {
    heard();
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (lastId) headers["Last-Event-ID"] = lastId;
    const response = await request("/v1/events", { headers, signal: controller.signal });
    if (!response.body) throw new Refusal(0, "The hub's answer has no body.");
    connected();
    const splitter = new EventSplitter();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      for (const event of splitter.add(value)) take(event.kind, event.data);
      lastId = splitter.lastId || lastId;
    }
  } finally {
    clearTimeout(watchdog);
  }
}

function connected(): void {
  failures = 0;
  connection.value = { state: "live" };
  if (interrupted) {
    interrupted = false;
    pending.missed = true;
    flushSoon();
  }
}

function take(kind: string, data: string): void {
  if (kind === "reset") {
    pending.missed = true;
  } else if (kind === "job") {
    const job: Job = JSON.parse(data);
    pending.jobs.set(job.id, job);
  } else if (kind === "site") {
    const site: Site = JSON.parse(data);
    pending.sites.set(site.name, site);
  } else {
    return; // of a newer hub
  }
  flushSoon();
}

function flushSoon(): void {
  if (flushing) return;
  flushing = window.setTimeout(() => {
    flushing = 0;
    const changes = pending;
    pending = nothing();
    for (const listener of [...listeners]) listener(changes);
  }, gather);
}
