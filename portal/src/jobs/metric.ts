// SPDX-License-Identifier: Apache-2.0
// The main metric of a job, and its course so far for a sparkline: asked of the site once the row is looked at, then
// continued by what the hub tells.
import { api } from "../api/client";
import { Store } from "../api/store";
import type { Job } from "../api/types";

const points = 40;
const atOnce = 3;
const settle = 150; // ms a row has to stay in sight

// Loss before all others, then whatever the script reports first; rates are the least interesting.
export function mainMetric(values: Record<string, unknown>): string | null {
  const names = Object.keys(values);
  return (
    names.find((name) => name === "loss") ??
    names.find((name) => /loss|error/i.test(name)) ??
    names.find((name) => !name.endsWith("/s")) ??
    names[0] ??
    null
  );
}

export type Course = [step: number, value: number][];
interface Entry {
  store: Store<Course>;
  asked: boolean;
}
const entries = new Map<string, Entry>();
const queue: { key: string; job: Job; metric: string }[] = [];
let busy = 0;

export function courseOf(job: Job, metric: string): Store<Course> {
  return entryOf(job, metric).store;
}

function entryOf(job: Job, metric: string): Entry {
  const key = `${job.id}.${job.attempt} ${metric}`;
  let entry = entries.get(key);
  if (!entry) entries.set(key, (entry = { store: new Store<Course>([]), asked: false }));
  return entry;
}

// The row is in sight: returns how to say that it no longer is.
export function watchCourse(job: Job, metric: string): () => void {
  const entry = entryOf(job, metric);
  if (entry.asked) return () => {};
  const timer = setTimeout(() => {
    entry.asked = true;
    queue.push({ key: `${job.id}.${job.attempt} ${metric}`, job, metric });
    work();
  }, settle);
  return () => clearTimeout(timer);
}

export function continueCourse(job: Job): void {
  const metric = job.progress && mainMetric(job.progress.values);
  if (!metric) return;
  const entry = entries.get(`${job.id}.${job.attempt} ${metric}`);
  const value = job.progress!.values[metric];
  if (!entry || typeof value !== "number") return;
  const before = entry.store.value;
  if (job.progress!.step > (before.at(-1)?.[0] ?? -1)) entry.store.value = [...before, [job.progress!.step, value]];
}

function work(): void {
  while (busy < atOnce && queue.length > 0) {
    const { job, metric } = queue.pop()!; // the latest in sight first
    ++busy;
    void ask(job, metric).finally(() => {
      --busy;
      work();
    });
  }
}

async function ask(job: Job, metric: string): Promise<void> {
  try {
    const { series } = await api.metrics(job.id, 0, points);
    const found = series.find((one) => one.name === metric);
    const course: Course = [];
    for (const [step, , value] of found?.points ?? [])
      if (value !== null && Number.isFinite(value)) course.push([step, value]);
    const { store } = entryOf(job, metric);
    const last = course.at(-1)?.[0] ?? -1;
    store.value = course.concat(store.value.filter(([step]) => step > last));
  } catch {
    // the site is away or the job has none: the row does without
  }
}
