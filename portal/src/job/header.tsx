// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import type { Attempt, JobDetails } from "../api/types";
import { isOver } from "../api/types";
import { absolute, bytes, clock, duration, figure, grouped, plural, relative, secondsOf } from "../format";
import { CopyButton } from "../parts/copyable";
import { StateMark } from "../parts/state";
import { When } from "../parts/time";
import { Told } from "../parts/told";
import { useNow } from "../shell/now";
import { Actions } from "./actions";

export function JobHeader(props: { job: JobDetails; shown: Attempt | undefined; onChanged: () => void }) {
  const { job, shown } = props;
  const now = useNow(isOver(job.state) ? 30 : 1);
  return (
    <section class="job-head" aria-label="Summary">
      <div class="title">
        <h1>{job.id}</h1>
        <StateMark state={job.state} />
        <CopyButton text={job.id} what="the job’s name" />
        <Actions job={job} onChanged={props.onChanged} />
      </div>
      {job.reason && (
        <p class={`reason is-${job.state}`}>
          <Told text={job.reason} />
        </p>
      )}
      <dl class="facts">
        <Fact name="Progress">
          <ProgressFact job={job} />
        </Fact>
        <Fact name={isOver(job.state) ? "Ran for" : "Elapsed"}>
          <Elapsed job={job} now={now} />
          <Limit job={job} />
        </Fact>
        <Fact name={isOver(job.state) ? "Ended" : "Expected end"}>
          <End job={job} now={now} />
        </Fact>
        <Fact name="Site">
          {job.site ? (
            <>
              <a href={`/?site=${encodeURIComponent(job.site)}`}>{job.site}</a>
              {job.queue && <span class="muted"> {job.queue}</span>}
            </>
          ) : (
            "–"
          )}
        </Fact>
        <Fact name="Size">
          {plural(job.ranks, "rank")}
          <span class="muted"> on {plural(job.nodes, "node")}</span>
        </Fact>
        <Fact name="Image">{job.image ? <code>{job.image}</code> : <span class="muted">the site’s own</span>}</Fact>
        <Fact name="Code">
          <Code job={job} />
        </Fact>
        <Fact name="Submitted">
          <When at={job.submitted} now={now} /> <span class="muted">by</span>{" "}
          <a href={`/?owner=${encodeURIComponent(job.owner)}`}>{job.owner}</a>
          {job.team && <span class="muted"> of {job.team}</span>}
        </Fact>
        <Fact name="Attempt">
          {job.attempt || "–"}
          {shown?.batch_job && <span class="muted"> batch job {shown.batch_job}</span>}
        </Fact>
        {job.exit_code !== null && <Fact name="Exit code">{job.exit_code}</Fact>}
      </dl>
    </section>
  );
}

function Fact(props: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

function ProgressFact({ job }: { job: JobDetails }) {
  const { progress } = job;
  if (!progress) return <>–</>;
  const share = progress.steps ? Math.min(1, progress.step / progress.steps) : 0;
  return (
    <span class="progress-fact">
      {progress.steps > 0 && (
        <span class="bar" aria-hidden="true">
          <span style={{ transform: `scaleX(${share})` }} />
        </span>
      )}
      <span class="number">
        {progress.steps ? `${grouped(progress.step)}/${grouped(progress.steps)}` : `step ${grouped(progress.step)}`}
      </span>
      {Object.entries(progress.values).map(([name, value]) => (
        <span key={name} class="value number">
          <span class="muted">{name.endsWith("/s") ? "" : `${name} `}</span>
          {figure(value)}
          {name.endsWith("/s") && ` ${name}`}
        </span>
      ))}
    </span>
  );
}

// Of the attempt that runs or was the last; while the next one waits nothing elapses.
function Elapsed({ job, now }: { job: JobDetails; now: number }) {
  const until = job.state === "running" ? now : job.ended;
  return <>{job.started && until ? duration(until - job.started) : "–"}</>;
}

function Limit({ job }: { job: JobDetails }) {
  const limit = secondsOf(job.spec.needs?.walltime);
  return limit ? <span class="muted"> of {duration(limit)}</span> : null;
}

// When it ended, or will if it goes on as it did.
export function expectedEnd(job: JobDetails, now: number): number | null {
  const { progress, started } = job;
  if (job.state !== "running" || !started || !progress || progress.step < 1 || progress.steps <= progress.step)
    return null;
  return started + ((now - started) * progress.steps) / progress.step;
}

function End({ job, now }: { job: JobDetails; now: number }) {
  if (job.ended) return <When at={job.ended} now={now} />;
  const end = expectedEnd(job, now);
  if (end)
    return (
      <span title={absolute(end)}>
        {relative(end, now)} <span class="muted">about {clock(end).slice(0, 5)}</span>
      </span>
    );
  if (job.expected_start && job.expected_start > now)
    return (
      <span class="muted">
        starts <When at={job.expected_start} now={now} />
      </span>
    );
  return <>–</>;
}

function Code({ job }: { job: JobDetails }) {
  if (!job.code?.digest) return <span class="muted">{job.spec.code ? "bundled" : "none"}</span>;
  const digest = job.code.digest.replace(/^sha256:/, "");
  return (
    <>
      <code title={job.code.digest}>{digest.slice(0, 12)}</code>
      <span class="muted"> {bytes(job.code.size)}</span>
      <CopyButton text={job.code.digest} what="the digest of the code" />
    </>
  );
}
