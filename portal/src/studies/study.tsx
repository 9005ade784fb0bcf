// SPDX-License-Identifier: Apache-2.0
// One study: where it stands, the best trial with its job, and the plots that `longship study plot` draws too.
import { useEffect, useRef, useState } from "preact/hooks";
import { draw, short } from "../../../src/sweep/page/plots.js";
import { api } from "../api/client";
import type { Study, StudyTrial } from "../api/types";
import { Problem, Skeleton } from "../parts/notice";
import { countsOf, goalOf } from "./words";

export function StudyPage(props: { owner: string; name: string }) {
  const [study, setStudy] = useState<Study | null>(null);
  const [error, setError] = useState<unknown>(null);
  const plots = useRef<HTMLDivElement>(null);
  const drawn = useRef("");
  const load = () =>
    void api.study(props.owner, props.name).then((found) => (setStudy(found), setError(null)), setError);
  useEffect(() => {
    document.title = `${props.name} · Longship`;
    load();
    const timer = setInterval(load, 5000);
    return () => clearInterval(timer);
  }, [props.owner, props.name]);
  useEffect(() => {
    // Nothing moves unless data moved.
    const reports = study?.trials.reduce((sum, trial) => sum + (trial.reports?.length ?? 0), 0);
    const now = `${JSON.stringify(study?.counts)} ${study?.trials.length} ${reports}`;
    if (!study || !plots.current || drawn.current === now) return;
    drawn.current = now;
    draw(plots.current, study);
  }, [study]);
  return (
    <main id="main" class="study">
      <h1>{props.name}</h1>
      {error ? <Problem error={error} again={load} /> : null}
      {!study && !error && <Skeleton lines={6} label="The study is on its way" />}
      {study && (
        <p>
          {goalOf(study)}: {countsOf(study)}
        </p>
      )}
      {study?.objectives.length === 1 && study.best.map((trial) => <Best key={trial.number} trial={trial} />)}
      <div class="plots" ref={plots} />
    </main>
  );
}

function Best({ trial }: { trial: StudyTrial }) {
  const values = Object.entries(trial.params).map(([name, value]) => `${name} = ${short(value)}`);
  return (
    <p>
      Best is trial <b>{trial.number}</b> with <b>{short(trial.values[0])}</b>: {values.join(", ")}
      {trial.job && (
        <>
          {", "}
          <a href={`/jobs/${encodeURIComponent(trial.job)}`}>{trial.job}</a>
        </>
      )}
    </p>
  );
}
