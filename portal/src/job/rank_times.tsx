// SPDX-License-Identifier: Apache-2.0
// Where each rank's time went, as stacked bars, with the rank that the others waited for marked.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, Refusal } from "../api/client";
import {
  activities,
  isOver,
  type Activity,
  type Attempt,
  type JobDetails,
  type RankReport,
  type Report,
} from "../api/types";
import { duration, grouped, percent } from "../format";
import { Icon } from "../parts/icon";
import { Problem, Skeleton } from "../parts/notice";
import { useVisibleRows } from "../parts/virtual";

const refresh = 15_000; // ms, while it runs

export function RankTimes({ job, attempt }: { job: JobDetails; attempt: Attempt }) {
  const [anyway, setAnyway] = useState(false);
  const reports = anyway || job.progress !== null; // who reports no steps has most likely recorded nothing
  const { report, error } = useReport(job, attempt, reports);
  return (
    <section
      class="panel ranks"
      aria-labelledby="ranks"
      style={reports ? { minHeight: `${150 + rowHeight * Math.min(12, attempt.ranks)}px` } : undefined}
    >
      <h2 id="ranks">Time per rank</h2>
      {!reports && (
        <div class="teach">
          <p class="muted">
            Scripts that import <code>longship.torch</code> or <code>longship.trace</code> and tell their steps with{" "}
            <code>longship.progress</code> are taken apart here.
          </p>
          <button onClick={() => setAnyway(true)}>Look anyway</button>
        </div>
      )}
      {reports && !report && !error && <Skeleton lines={4} label="The report is on its way" />}
      {error && !report ? <NoReport error={error} /> : null}
      {report && <Bars report={report} />}
    </section>
  );
}

function useReport(job: JobDetails, attempt: Attempt, wanted: boolean) {
  const [report, setReport] = useState<Report | null>(null);
  const [error, setError] = useState<unknown>(null);
  const step = job.progress?.step ?? 0;
  const asked = useRef({ at: -Infinity, ended: false });
  const ended = attempt.ended !== null || isOver(job.state);
  useEffect(() => {
    // Again when it has gone on, but not all the time; and once more at its end.
    const due = asked.current.at + refresh - performance.now();
    const finalDue = ended && !asked.current.ended;
    if (asked.current.ended || !wanted) return;
    const timer = setTimeout(
      () => {
        asked.current = { at: performance.now(), ended };
        api.report(job.id, attempt.number).then((found) => (setReport(found), setError(null)), setError);
      },
      finalDue ? 0 : Math.max(0, due),
    );
    return () => clearTimeout(timer);
  }, [job.id, attempt.number, step, ended, wanted]);
  return { report, error };
}

function NoReport(props: { error: unknown }) {
  if (
    props.error instanceof Refusal &&
    (props.error.status === 404 || props.error.status === 409 || props.error.status === 400)
  )
    return (
      <div class="teach">
        <p>{props.error.message}</p>
        <p class="muted">
          Scripts that import <code>longship.torch</code> or <code>longship.trace</code> record what each rank does.
        </p>
      </div>
    );
  return <Problem error={props.error} />;
}

// The one the others waited for most, if there was any waiting.
export function slowestRank(report: Report): RankReport | null {
  if (report.by_rank.length < 2) return null;
  const worst = report.by_rank.reduce((a, b) => (b.others_waited_seconds > a.others_waited_seconds ? b : a));
  return worst.others_waited_seconds > 0 ? worst : null;
}

const rowHeight = 22;

function Bars({ report }: { report: Report }) {
  const list = useRef<HTMLDivElement>(null);
  const { by_rank: ranks } = report;
  const { first, end } = useVisibleRows(list, rowHeight, ranks.length, true, 6);
  const longest = Math.max(1e-9, ...ranks.map((rank) => total(rank.seconds)));
  const slowest = slowestRank(report);
  const all = total(report.seconds);
  useLayoutEffect(() => {
    if (slowest) list.current!.scrollTop = (ranks.indexOf(slowest) + 0.5) * rowHeight - list.current!.clientHeight / 2;
  }, []);
  const present = activities.filter((activity) => (report.seconds[activity] ?? 0) > 0);
  return (
    <>
      <ul class="legend">
        {present.map((activity) => (
          <li key={activity}>
            <span class={`swatch a-${activity}`} />
            {activity} <strong class="number">{percent((report.seconds[activity] ?? 0) / all)}</strong>
          </li>
        ))}
      </ul>
      <div class="rank-list" ref={list} tabIndex={0} role="group" aria-label={`Time of ${ranks.length} ranks`}>
        <div class="space" style={{ height: `${ranks.length * rowHeight}px` }}>
          <ul class="shown" style={{ transform: `translateY(${first * rowHeight}px)` }}>
            {ranks.slice(first, end).map((rank) => (
              <li
                key={rank.rank}
                class={rank === slowest ? "slowest" : ""}
                title={`${spoken(rank, present)} on ${rank.node}`}
              >
                <span class="number">{rank.rank}</span>
                <span class="stack" role="img" aria-label={spoken(rank, present)}>
                  {present.map((activity) => (
                    <span
                      key={activity}
                      class={`a-${activity}`}
                      style={{ width: `${(100 * (rank.seconds[activity] ?? 0)) / longest}%` }}
                    />
                  ))}
                </span>
                <span class="mark">
                  {rank === slowest && (
                    <>
                      <Icon name="slow" />
                      slowest
                    </>
                  )}
                </span>
              </li>
            ))}
          </ul>
        </div>
      </div>
      <p class="axis number" aria-hidden="true">
        <span>0</span>
        <span>{duration(longest)}</span>
      </p>
      {slowest && (
        <p>
          Rank {slowest.rank} arrived last in {percent(slowest.arrived_last / Math.max(1, report.collectives.count))} of{" "}
          {grouped(report.collectives.count)} collectives; the others waited {duration(slowest.others_waited_seconds)}{" "}
          for it.
        </p>
      )}
      {report.advice.map((sentence) => (
        <p key={sentence} class="advice">
          {sentence}
        </p>
      ))}
      {report.problems.map((sentence) => (
        <p key={sentence} class="notice">
          {sentence}
        </p>
      ))}
    </>
  );
}

function total(seconds: Partial<Record<Activity, number>>): number {
  return activities.reduce((sum, activity) => sum + (seconds[activity] ?? 0), 0);
}

function spoken(rank: RankReport, present: Activity[]): string {
  return `rank ${rank.rank}: ${present.map((activity) => `${activity} ${duration(rank.seconds[activity] ?? 0)}`).join(", ")}`;
}
