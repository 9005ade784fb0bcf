// SPDX-License-Identifier: Apache-2.0
// The studies that were shown to this hub, newest first.
import { useEffect, useState } from "preact/hooks";
import { short } from "../../../src/sweep/page/plots.js";
import { api } from "../api/client";
import type { StudyHead } from "../api/types";
import { Copyable } from "../parts/copyable";
import { Problem, Skeleton } from "../parts/notice";
import { When } from "../parts/time";
import { useNow } from "../shell/now";
import { countsOf, goalOf } from "./words";

export function StudiesPage() {
  const [studies, setStudies] = useState<StudyHead[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const now = useNow(5);
  const load = () => void api.studies().then((found) => (setStudies(found), setError(null)), setError);
  useEffect(() => {
    document.title = "Studies · Longship";
    load();
    const timer = setInterval(load, 5000);
    return () => clearInterval(timer);
  }, []);
  return (
    <main id="main" class="studies">
      <h1>Studies</h1>
      {error ? <Problem error={error} again={load} /> : null}
      {!studies && !error && <Skeleton lines={6} label="Studies are on their way" />}
      {studies?.length === 0 && <NoStudies />}
      {studies && studies.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>Study</th>
              <th>Searches</th>
              <th>Trials</th>
              <th>Best</th>
              <th>Owner</th>
              <th>Changed</th>
            </tr>
          </thead>
          <tbody>
            {studies.map((study) => (
              <tr key={`${study.owner}/${study.name}`}>
                <td>
                  <a href={`/studies/${encodeURIComponent(study.owner)}/${encodeURIComponent(study.name)}`}>{study.name}</a>
                </td>
                <td>{goalOf(study)}</td>
                <td>{countsOf(study)}</td>
                <td class="number">{study.best.length === 1 ? short(study.best[0]!.values[0]) : study.best.length ? `${study.best.length} on the front` : "–"}</td>
                <td>{study.owner}</td>
                <td>
                  <When at={study.updated} now={now} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </main>
  );
}

function NoStudies() {
  return (
    <section class="empty">
      <h2>No study yet</h2>
      <p>A study is a file that says what is searched and what is measured. Its trials are jobs, and it is shown here.</p>
      <Copyable text="longship study run study.toml --submit" />
    </section>
  );
}
