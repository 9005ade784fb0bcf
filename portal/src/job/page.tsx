// SPDX-License-Identifier: Apache-2.0
// One job: is it going well?
import { useEffect, useRef, useState } from "preact/hooks";
import { api, Refusal } from "../api/client";
import { onChanges } from "../api/live";
import { useStore } from "../api/store";
import { isOver, type JobDetails } from "../api/types";
import { Problem, Skeleton } from "../parts/notice";
import { address } from "../shell/router";
import { Attempts } from "./attempts";
import { Curves } from "./curves";
import { Files } from "./files";
import { JobHeader } from "./header";
import { LogPanel } from "./log_panel";
import { RankTimes } from "./rank_times";
import { Repeat } from "./repeat";
import { WhyNot } from "./why_not";

export function JobPage(props: { id: string }) {
  const { job, error, reload } = useJob(props.id);
  const { query } = useStore(address);
  useEffect(() => {
    document.title = `${props.id}${job ? ` ${job.state}` : ""} · Longship`;
  }, [props.id, job?.state]);
  if (!job)
    return (
      <main id="main" class="job">
        <h1>{props.id}</h1>
        {error ? (
          <Problem error={error} again={isMissing(error) ? undefined : reload} />
        ) : (
          <Skeleton lines={8} label="The job is on its way" />
        )}
        {isMissing(error) && (
          <p>
            All jobs that you may see are <a href="/">in the table</a>.
          </p>
        )}
      </main>
    );
  const chosen = Number(query.get("attempt")) || 0;
  const shown =
    job.attempts.find((one) => one.number === chosen) ??
    job.attempts.find((one) => one.outcome === "finished") ??
    job.attempts.at(-1);
  const began = Boolean(shown?.started);
  return (
    <main id="main" class="job">
      {error ? <Problem error={error} again={reload} /> : null}
      <JobHeader job={job} shown={shown} onChanged={reload} />
      {!began && !isOver(job.state) && <WhyNot job={job} />}
      {began && shown && (
        <>
          <Curves key={`curves ${job.id} ${shown.number}`} job={job} attempt={shown} />
          <div class="columns">
            <RankTimes key={`ranks ${job.id} ${shown.number}`} job={job} attempt={shown} />
            <Attempts job={job} shown={shown} />
          </div>
          <LogPanel key={`log ${job.id} ${shown.number}`} job={job} attempt={shown} />
        </>
      )}
      {!began && <Attempts job={job} shown={shown} />}
      <div class="columns">
        <Files job={job} attempt={shown} />
        <Repeat job={job} />
      </div>
    </main>
  );
}

const isMissing = (error: unknown) => error instanceof Refusal && (error.status === 404 || error.status === 403);

// The job, kept up to date: its line by events, the rest asked for again when its state or attempt changed.
function useJob(id: string) {
  const [job, setJob] = useState<JobDetails | null>(null);
  const [error, setError] = useState<unknown>(null);
  const latest = useRef({ id, asking: false, again: false });
  const reload = () => {
    const mine = latest.current;
    if (mine.asking) {
      mine.again = true;
      return;
    }
    mine.asking = true;
    api
      .job(id)
      .then(
        (found) => {
          if (latest.current === mine) {
            setJob(found);
            setError(null);
          }
        },
        (problem) => {
          if (latest.current === mine) setError(problem);
        },
      )
      .finally(() => {
        mine.asking = false;
        if (mine.again && latest.current === mine) {
          mine.again = false;
          reload();
        }
      });
  };
  useEffect(() => {
    latest.current = { id, asking: false, again: false };
    setJob(null);
    setError(null);
    reload();
    return onChanges((changes) => {
      const next = changes.jobs.get(id);
      if (next) {
        setJob((before) => before && { ...before, ...next });
        reload();
      } else if (changes.missed) {
        reload();
      }
    });
  }, [id]);
  return { job, error, reload };
}
