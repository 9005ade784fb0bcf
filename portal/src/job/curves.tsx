// SPDX-License-Identifier: Apache-2.0
// What the script reported, as curves: one plot for each name, one crosshair for all of them.
import { useEffect, useRef, useState } from "preact/hooks";
import { api, Refusal } from "../api/client";
import { onChanges } from "../api/live";
import { useStore } from "../api/store";
import { isOver, type Attempt, type JobDetails, type Metrics } from "../api/types";
import { Copyable } from "../parts/copyable";
import { Problem, Skeleton } from "../parts/notice";
import { useKeys } from "../shell/keys";
import { address, setQuery } from "../shell/router";
import { mainMetric } from "../jobs/metric";
import { Plot } from "./plot";

const points = 600; // thinned at the site; more than there are pixels helps nobody
const refresh = 2000; // ms between two requests while it runs

export function Curves({ job, attempt }: { job: JobDetails; attempt: Attempt }) {
  const { metrics, error } = useMetrics(job, attempt);
  const { query } = useStore(address);
  const log = query.get("y") === "log";
  const time = query.get("x") === "time";
  const toggleLog = () => setQuery({ y: log ? null : "log" });
  const toggleTime = () => setQuery({ x: time ? null : "time" });
  useKeys({ l: toggleLog, x: toggleTime });
  const series = inOrder(metrics);
  return (
    <section class="panel curves" aria-labelledby="curves">
      <div class="panel-head">
        <h2 id="curves">Curves</h2>
        {series.length > 0 && (
          <div class="tools" role="group" aria-label="Axes">
            <button class="toggle" aria-pressed={log} onClick={toggleLog} title="Logarithmic (l)">
              log
            </button>
            <button class="toggle" aria-pressed={time} onClick={toggleTime} title="Over time instead of steps (x)">
              over time
            </button>
          </div>
        )}
      </div>
      {!metrics && !error && <Skeleton lines={6} label="Curves are on their way" />}
      {!metrics && error ? <NoMetrics error={error} /> : null}
      {metrics && series.length === 0 && <Teach over={isOver(job.state)} />}
      {series.length > 0 && (
        <div class="plots">
          {series.map((one) => (
            <Plot
              key={one.name}
              name={one.name}
              points={one.points}
              log={log}
              time={time}
              file={`${job.id}.${attempt.number}`}
            />
          ))}
        </div>
      )}
    </section>
  );
}

function inOrder(metrics: Metrics | null): Metrics["series"] {
  if (!metrics) return [];
  const filled = metrics.series.filter((one) => one.points.length > 0);
  const first = mainMetric(Object.fromEntries(filled.map((one) => [one.name, 0])));
  return filled.sort((a, b) => Number(b.name === first) - Number(a.name === first));
}

function useMetrics(job: JobDetails, attempt: Attempt) {
  const [metrics, setMetrics] = useState<Metrics | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [missed, setMissed] = useState(0);
  const last = useRef(-Infinity);
  useEffect(() => onChanges((changes) => changes.missed && setMissed((n) => n + 1)), []);
  useEffect(() => {
    let current = true;
    const timer = setTimeout(
      () => {
        last.current = performance.now();
        api.metrics(job.id, attempt.number, points).then(
          (found) => current && (setMetrics(found), setError(null)),
          (problem) => current && setError(problem),
        );
      },
      Math.max(0, last.current + refresh - performance.now()),
    );
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [job.id, attempt.number, attempt.ended, job.progress?.step, missed]);
  return { metrics, error };
}

function NoMetrics(props: { error: unknown }) {
  const { error } = props;
  if (error instanceof Refusal && error.status === 404) return <Teach over={false} />;
  return <Problem error={error} />;
}

function Teach(props: { over: boolean }) {
  return (
    <div class="teach">
      <p>
        {props.over ? "This job reported no values." : "Nothing reported yet."} One line in the training script draws
        curves here:
      </p>
      <Copyable text={'longship.progress(step, steps, **{"loss": loss, "samples/s": rate})'} />
    </div>
  );
}
