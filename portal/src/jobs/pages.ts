// SPDX-License-Identifier: Apache-2.0
// The jobs that match a filter, newest first: as many as somebody has scrolled to, kept up to date by what changes.
import { api, type JobFilter } from "../api/client";
import type { Changes } from "../api/live";
import { Store } from "../api/store";
import type { Job, JobList } from "../api/types";

export interface View {
  jobs: Job[]; // the first ones, without a gap
  total: number | null; // that match; null: not known yet
  counts: JobList["counts"];
  error: unknown;
}

const smallPage = 200;
const largePage = 1000; // somebody has jumped far down
const countsEvery = 1000; // ms

export class JobPages {
  readonly view = new Store<View>({ jobs: [], total: null, counts: {}, error: null });
  private filter: JobFilter = {};
  private wanted = smallPage;
  private running: AbortController | null = null;
  private countingSoon = 0;
  private reloadingSoon = 0;
  private reloaded = -Infinity;

  setFilter(filter: JobFilter): void {
    if (this.view.value.total !== null && JSON.stringify(filter) === JSON.stringify(this.filter)) return;
    this.filter = filter;
    this.wanted = smallPage;
    this.reload();
  }

  // Rows up to `end` are being looked at.
  need(end: number): void {
    this.wanted = Math.max(smallPage, end);
    if (!this.running && this.missing(this.view.value.jobs, this.view.value.total) > 0 && !this.view.value.error)
      void this.load(this.view.value.jobs);
  }

  // What is shown stays until the new answer is there.
  reload(): void {
    this.reloaded = performance.now();
    void this.load([]);
  }

  apply(changes: Changes): void {
    if (changes.missed) return this.reloadSoon();
    if (changes.jobs.size === 0) return;
    const { view } = this;
    const { jobs, added } = merge(view.value.jobs, changes.jobs.values(), this.filter, view.value.total ?? 0);
    const total = view.value.total === null ? null : Math.max(view.value.total + added, jobs.length);
    const states = new Map(view.value.jobs.map((job) => [job.id, job.state]));
    view.value = { ...view.value, jobs, total };
    for (const job of changes.jobs.values()) if (states.get(job.id) !== job.state) return this.countSoon();
  }

  // While everything changes at once the hub says so again and again.
  private reloadSoon(): void {
    if (this.reloadingSoon) return;
    const wait = Math.max(0, this.reloaded + countsEvery - performance.now());
    this.reloadingSoon = window.setTimeout(() => {
      this.reloadingSoon = 0;
      this.reload();
    }, wait);
  }

  private missing(jobs: Job[], total: number | null): number {
    return Math.min(this.wanted, total ?? this.wanted) - jobs.length;
  }

  private async load(jobs: Job[]): Promise<void> {
    this.running?.abort();
    const mine = new AbortController();
    this.running = mine;
    try {
      do {
        const missing = this.missing(jobs, jobs.length ? this.view.value.total : null);
        const page = await api.jobs(
          this.filter,
          jobs.at(-1)?.id ?? "",
          missing > 2 * smallPage ? largePage : smallPage,
          mine.signal,
        );
        jobs = jobs.length ? jobs.concat(page.jobs) : page.jobs;
        if (page.jobs.length === 0) page.total = jobs.length;
        if (jobs.length >= this.view.value.jobs.length || this.missing(jobs, page.total) <= 0)
          this.view.value = { jobs, total: page.total, counts: page.counts, error: null };
        else this.view.value = { ...this.view.value, total: page.total, counts: page.counts };
      } while (this.missing(jobs, this.view.value.total) > 0);
    } catch (error) {
      if (this.running === mine && !mine.signal.aborted) this.view.value = { ...this.view.value, error };
    } finally {
      if (this.running === mine) this.running = null;
    }
  }

  // How many there are in each state only the hub knows.
  private countSoon(): void {
    if (this.countingSoon) return;
    this.countingSoon = window.setTimeout(async () => {
      this.countingSoon = 0;
      const { filter } = this;
      try {
        const { counts, total } = await api.jobs(filter, "", 1);
        if (filter === this.filter)
          this.view.value = { ...this.view.value, counts, total: Math.max(total, this.view.value.jobs.length) };
      } catch {
        // the connection's own state tells
      }
    }, countsEvery);
  }
}

// `known` with what changed; `added` is by how much the number of all that match grew for certain.
export function merge(
  known: Job[],
  changed: Iterable<Job>,
  filter: JobFilter,
  total: number,
): { jobs: Job[]; added: number } {
  const latest = new Map<string, Job>();
  for (const job of changed) latest.set(job.id, job);
  let added = 0;
  const jobs: Job[] = [];
  for (const job of known) {
    const next = latest.get(job.id);
    latest.delete(job.id);
    if (!next) jobs.push(job);
    else if (matches(next, filter)) jobs.push(next);
    else --added;
  }
  const fresh = [...latest.values()].filter((job) => matches(job, filter));
  if (fresh.length === 0) return { jobs, added };
  const whole = known.length >= total;
  const last = known.at(-1);
  const placed = fresh.filter((job) => whole || !last || newestFirst(job, last) < 0); // the others are further down, unseen
  const first = known[0];
  added += placed.filter((job) => whole || !first || newestFirst(job, first) < 0).length;
  return { jobs: jobs.concat(placed).sort(newestFirst), added };
}

function newestFirst(a: Job, b: Job): number {
  return b.submitted - a.submitted || (a.name === b.name ? b.number - a.number : 0);
}

export function matches(job: Job, filter: JobFilter): boolean {
  for (const key of ["state", "site", "owner", "team", "name"] as const)
    if (filter[key] && filter[key] !== job[key]) return false;
  if (!filter.text) return true;
  const { text } = filter; // as the hub does, but for the command, which a job's line does not have
  return [job.id, job.image, job.owner, job.team].some((words) => words.includes(text));
}
