// SPDX-License-Identifier: Apache-2.0
// What the hub's HTTP API answers with: docs/api.md. Times are seconds since 1970.

export const states = ["waiting", "held", "assigned", "running", "finished", "failed", "cancelled"] as const;
export type State = (typeof states)[number];

export interface Progress {
  step: number;
  steps: number;
  values: Record<string, number | null>;
}

export interface Job {
  id: string;
  name: string;
  number: number;
  state: State;
  reason: string;
  owner: string;
  team: string;
  site: string;
  queue: string;
  image: string;
  nodes: number;
  ranks: number;
  submitted: number;
  started: number | null;
  ended: number | null;
  attempt: number;
  exit_code: number | null;
  progress: Progress | null;
  expected_start: number | null;
}

export interface Attempt {
  number: number;
  site: string;
  queue: string;
  state: string;
  outcome: string | null;
  reason: string;
  pilot: string;
  batch_job: string;
  nodes: string[];
  ranks: number;
  created: number;
  started: number | null;
  ended: number | null;
  exit_code: number | null;
  outputs: { name: string; size: number }[];
}

export interface JobEvent {
  at: number;
  what: string;
  attempt: number;
}

// The job file's own keys; what is not shown by name is printed as it is.
export interface Spec {
  [key: string]: unknown;
  name?: string;
  image?: string;
  code?: string;
  command?: string[];
  needs?: { walltime?: string; [key: string]: unknown };
}

export interface JobDetails extends Job {
  spec: Spec;
  code?: { digest: string; size: number } | null;
  attempts: Attempt[];
  events: JobEvent[];
}

export interface JobList {
  jobs: Job[];
  total: number;
  counts: Partial<Record<State, number>>;
}

export interface Place {
  site: string;
  queue: string;
  fits: boolean;
  reason: string;
  image?: string;
}

export interface Why {
  job: string;
  state: State;
  reason: string;
  places: Place[];
}

export interface Queue {
  name: string;
  max_nodes: number | null;
  max_walltime: number | string | null; // seconds, or as a site file says it
  waiting: number;
  running: number;
}

export interface Site {
  name: string;
  state: "up" | "silent" | "never";
  since: number | null;
  condition: string;
  batch: string;
  arch: string;
  cores: number;
  memory: number | string;
  gpus: number;
  queues: Queue[];
  version: string;
}

export type Point = [step: number, seconds: number, value: number | null];
export interface Metrics {
  steps: number;
  series: { name: string; points: Point[] }[];
}

export const activities = ["compute", "communication", "waiting", "input", "checkpoint", "other"] as const;
export type Activity = (typeof activities)[number];
export type ActivitySeconds = Partial<Record<Activity, number>>;

export interface RankReport {
  rank: number;
  node: string;
  seconds: ActivitySeconds;
  arrived_last: number;
  others_waited_seconds: number;
}

export interface Report {
  ranks: number;
  interval_seconds: number;
  steps: number;
  seconds: ActivitySeconds;
  collectives: { count: number; median_bytes: number; moving_seconds: number; hidden_seconds: number };
  metrics: Record<string, number | null>;
  by_rank: RankReport[];
  advice: string[];
  problems: string[];
}

export interface StudyTrial {
  number: number;
  state: string;
  values: (number | string)[]; // "inf" and "nan" are texts
  params: Record<string, unknown>;
  reports?: unknown[];
  job?: string;
  reason?: string;
}

export interface StudyHead {
  name: string;
  owner: string;
  updated: number;
  objectives: { metric: string; direction: "minimize" | "maximize" }[];
  counts: Record<string, number>;
  best: StudyTrial[];
}

export interface Study extends StudyHead {
  parameters: unknown[];
  importance: Record<string, number>[];
  trials: StudyTrial[];
}

export function isOver(state: State): boolean {
  return state === "finished" || state === "failed" || state === "cancelled";
}
