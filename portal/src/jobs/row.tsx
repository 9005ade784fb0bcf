// SPDX-License-Identifier: Apache-2.0
// One job in the table. What it waits for, or died of, stands in the row itself.
import type { Job } from "../api/types";
import { age, grouped, rough } from "../format";
import { StateMark } from "../parts/state";
import { When } from "../parts/time";
import { Told } from "../parts/told";
import { Sparkline } from "./sparkline";

export function Row(props: { job: Job | undefined; index: number; now: number; chosen: boolean; onFocus: () => void }) {
  const { job, index, now } = props;
  if (!job)
    return (
      <div role="row" class="row unseen" aria-rowindex={index + 2}>
        <span role="cell">…</span>
      </div>
    );
  const told = job.state !== "running" && job.state !== "finished" && Boolean(job.reason || job.expected_start);
  return (
    <div role="row" class="row" aria-rowindex={index + 2} data-chosen={props.chosen || undefined}>
      <span role="cell" class="c-state">
        <StateMark state={job.state} />
      </span>
      <span role="cell" class="c-name">
        <a href={`/jobs/${encodeURIComponent(job.id)}`} data-row={index} onFocus={props.onFocus}>
          {job.id}
        </a>
        {job.attempt > 1 && (
          <span class="again" title={`attempt ${job.attempt}`}>
            ×{job.attempt}
          </span>
        )}
      </span>
      <span role="cell" class="c-site" title={job.queue ? `${job.site}, queue ${job.queue}` : undefined}>
        {job.site || <span class="muted">–</span>}
        {job.queue && <span class="muted"> {job.queue}</span>}
      </span>
      <span role="cell" class="c-ranks number">
        {grouped(job.ranks)}
      </span>
      {told ? (
        <span role="cell" aria-colspan={2} class="c-reason" title={job.reason}>
          <span>
            <Told text={job.reason || "queued"} />
            {job.expected_start && job.expected_start > now ? (
              <>
                {" "}
                (expected <When at={job.expected_start} now={now} />)
              </>
            ) : null}
          </span>
        </span>
      ) : (
        <>
          <span role="cell" class="c-progress">
            <ProgressBar job={job} now={now} />
          </span>
          <span role="cell" class="c-metric">
            <Sparkline job={job} />
          </span>
        </>
      )}
      <span role="cell" class="c-age number">
        <When at={job.submitted} now={now} plain={(at) => age(now - at)} />
      </span>
      <span role="cell" class="c-owner" title={job.team ? `team ${job.team}` : undefined}>
        {job.owner}
      </span>
    </div>
  );
}

function ProgressBar({ job, now }: { job: Job; now: number }) {
  const progress = job.progress;
  const ran = job.started ? rough((job.ended ?? now) - job.started) : "";
  if (!progress || !progress.steps)
    return (
      <>
        {progress?.step ? <span class="number">step {grouped(progress.step)}</span> : null}
        <span class="ran alone muted number">{ran}</span>
      </>
    );
  const share = Math.min(1, progress.step / progress.steps);
  return (
    <>
      <span class="bar" aria-hidden="true">
        <span style={{ transform: `scaleX(${share})` }} />
      </span>
      <span class="steps number">
        {grouped(progress.step)}/{grouped(progress.steps)}
      </span>
      <span class="ran muted number">{ran}</span>
    </>
  );
}
