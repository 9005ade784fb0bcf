// SPDX-License-Identifier: Apache-2.0
// What happened, in order: each attempt on one axis of time, and every event as a sentence.
import type { Attempt, JobDetails } from "../api/types";
import { isOver } from "../api/types";
import { absolute, clock, duration } from "../format";
import { StateMark } from "../parts/state";
import { useNow } from "../shell/now";
import { setQuery } from "../shell/router";

export function Attempts({ job, shown }: { job: JobDetails; shown: Attempt | undefined }) {
  const now = useNow(isOver(job.state) ? 0 : 5);
  const begin = job.submitted;
  const end = Math.max(begin + 1, job.ended ?? now);
  return (
    <section class="panel" aria-labelledby="history">
      <h2 id="history">Attempts and events</h2>
      {job.attempts.length > 0 && (
        <ol class="attempts">
          {job.attempts.map((attempt) => (
            <li key={attempt.number}>
              <button
                class="attempt"
                aria-pressed={attempt === shown}
                title={attempt.reason || undefined}
                onClick={() => setQuery({ attempt: String(attempt.number) })}
              >
                <span class="number">{attempt.number}</span>
                <StateMark state={attempt.outcome ?? attempt.state} />
                <span class="where">
                  {attempt.site}
                  <span class="muted"> {attempt.nodes.join(" ")}</span>
                </span>
                <span class="number muted">
                  {attempt.started ? duration((attempt.ended ?? now) - attempt.started) : ""}
                </span>
              </button>
              <Track attempt={attempt} begin={begin} end={end} now={now} />
            </li>
          ))}
        </ol>
      )}
      <ol class="events" tabIndex={0} aria-label="Events, newest first">
        {[...job.events].reverse().map((event, i) => (
          <li key={job.events.length - i}>
            <time dateTime={new Date(event.at * 1000).toISOString()} title={absolute(event.at)}>
              {clock(event.at)}
            </time>
            <span class="which" title={event.attempt ? `attempt ${event.attempt}` : undefined}>
              {event.attempt || ""}
            </span>
            <span>{event.what}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

// From the job's submission to its end: pale while the attempt was prepared and queued, full while it ran.
function Track(props: { attempt: Attempt; begin: number; end: number; now: number }) {
  const { attempt, begin, end } = props;
  const place = (from: number, to: number) => ({
    left: `${(100 * (from - begin)) / (end - begin)}%`,
    width: `${Math.max(0.4, (100 * (to - from)) / (end - begin))}%`,
  });
  const over = attempt.ended ?? props.now;
  return (
    <span class="track" aria-hidden="true">
      <span class="before" style={place(attempt.created, attempt.started ?? over)} />
      {attempt.started && (
        <span class={`ran is-${attempt.outcome ?? attempt.state}`} style={place(attempt.started, over)} />
      )}
    </span>
  );
}
