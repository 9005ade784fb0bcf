// SPDX-License-Identifier: Apache-2.0
// All jobs in one table: is mine running, and if not, why?
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { onChanges } from "../api/live";
import { useStore } from "../api/store";
import type { Job } from "../api/types";
import { plural } from "../format";
import { Copyable } from "../parts/copyable";
import { Problem, Skeleton } from "../parts/notice";
import { useVisibleRows } from "../parts/virtual";
import { useKeys } from "../shell/keys";
import { useMedia } from "../shell/media";
import { useNow } from "../shell/now";
import { address, go, scrollBefore } from "../shell/router";
import { Filters, clearFilters, filterOf } from "./filters";
import { continueCourse } from "./metric";
import { JobPages } from "./pages";
import { Row } from "./row";

const pages = new JobPages(); // outlives the page: going back shows at once what was there
const seen = { site: new Set<string>(), owner: new Set<string>(), team: new Set<string>() };

export function JobsPage() {
  const { query } = useStore(address);
  const filter = filterOf(query);
  const view = useStore(pages.view);
  const asked = useRef(query.toString());
  useEffect(() => {
    pages.setFilter(filter);
    if (asked.current !== query.toString()) scrollTo(0, 0);
    asked.current = query.toString();
  }, [query.toString()]);
  useEffect(() => {
    if (pages.view.value.total !== null) pages.reload(); // what changed while another page was shown
    return onChanges((changes) => {
      pages.apply(changes);
      for (const job of changes.jobs.values()) continueCourse(job);
    });
  }, []);
  useEffect(() => {
    document.title = "Jobs · Longship";
  }, []);
  const filtered = Object.keys(filter).length > 0;
  return (
    <main id="main" class="jobs">
      <h1 class="sr">Jobs</h1>
      <Filters filter={filter} counts={view.counts} choices={choicesFrom(view.jobs)} />
      {view.error ? <Problem error={view.error} again={() => pages.reload()} /> : null}
      {view.total === null && !view.error && <Skeleton lines={12} label="Jobs are on their way" />}
      {view.total === 0 && (filtered ? <NoMatch /> : <NoJobs />)}
      <p class="sr" role="status">
        {view.total === null ? "" : plural(view.total, "job")}
      </p>
      {view.total ? <Table jobs={view.jobs} total={view.total} /> : null}
    </main>
  );
}

function choicesFrom(jobs: Job[]) {
  for (const job of jobs.slice(0, 1000))
    for (const name of ["site", "owner", "team"] as const) if (job[name]) seen[name].add(job[name]);
  return { site: [...seen.site], owner: [...seen.owner], team: [...seen.team] };
}

function Table(props: { jobs: Job[]; total: number }) {
  const { jobs, total } = props;
  const body = useRef<HTMLDivElement>(null);
  const phone = useMedia("(max-width: 760px)");
  const rowHeight = phone ? 68 : 36;
  const { first, end } = useVisibleRows(body, rowHeight, total, false, 12);
  const now = useNow(10);
  const [chosen, setChosen] = useState({ at: -1, focus: false });
  const cursor = useRef(chosen); // keys come faster than redraws
  // A new object each time: who goes away and comes back between two redraws has moved all the same.
  const choose = (at: number, focus: boolean) => {
    cursor.current = { at, focus };
    setChosen(cursor.current);
  };
  useEffect(() => pages.need(end), [end, total]);
  useLayoutEffect(() => scrollTo(0, scrollBefore()), []);
  const move = (by: number) => {
    const next = Math.max(0, Math.min(total - 1, cursor.current.at + by));
    choose(next, true);
    reveal(body.current!, next, rowHeight);
  };
  // The row may not have been drawn when it was chosen.
  useEffect(() => {
    const link = cursor.current.focus && body.current?.querySelector<HTMLElement>(`[data-row="${cursor.current.at}"]`);
    if (!link) return;
    cursor.current.focus = false;
    link.focus({ preventScroll: true });
  }, [chosen, first, end]);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      const job = jobs[cursor.current.at];
      if (job) go(`/jobs/${encodeURIComponent(job.id)}`);
    },
  });
  const rows = [];
  for (let index = first; index < end; ++index) {
    const at = index;
    rows.push(
      <Row
        key={jobs[index]?.id ?? index}
        job={jobs[index]}
        index={index}
        now={now}
        chosen={index === chosen.at}
        onFocus={() => choose(at, false)}
      />,
    );
  }
  return (
    <div role="table" class="table" aria-label="Jobs" aria-rowcount={total + 1}>
      <div role="rowgroup">
        <div role="row" class="row head" aria-rowindex={1}>
          <span role="columnheader" class="c-state">
            State
          </span>
          <span role="columnheader" class="c-name">
            Job
          </span>
          <span role="columnheader" class="c-site">
            Site
          </span>
          <span role="columnheader" class="c-ranks number">
            Ranks
          </span>
          <span role="columnheader" class="c-progress">
            Progress, or why not
          </span>
          <span role="columnheader" class="c-metric">
            Metric
          </span>
          <span role="columnheader" class="c-age number">
            Age
          </span>
          <span role="columnheader" class="c-owner">
            Owner
          </span>
        </div>
      </div>
      <div role="rowgroup" class="rows" ref={body} style={{ height: `${total * rowHeight}px` }}>
        <div role="presentation" class="shown" style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {rows}
        </div>
      </div>
    </div>
  );
}

function reveal(body: HTMLElement, index: number, rowHeight: number): void {
  const margin = 96; // the bars above
  const top = body.getBoundingClientRect().top + index * rowHeight;
  if (top < margin) scrollBy(0, top - margin);
  else if (top + rowHeight > innerHeight - 8) scrollBy(0, top + rowHeight - innerHeight + 8);
}

function NoJobs() {
  return (
    <section class="empty">
      <h2>No jobs yet</h2>
      <p>A job is one file. This gives an example to the hub, and the hub gives it to the first site that fits:</p>
      <Copyable text="longship submit examples/digits/job.toml" />
      <p>
        It appears here at once. The same file runs without any service with <code>longship run</code>.
      </p>
    </section>
  );
}

function NoMatch() {
  return (
    <section class="empty">
      <h2>No job matches</h2>
      <p>There are jobs, but none for all of these filters.</p>
      <button class="primary" onClick={clearFilters}>
        Show all jobs
      </button>
    </section>
  );
}
