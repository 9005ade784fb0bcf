// SPDX-License-Identifier: Apache-2.0
// A job that does not run yet: what each site and queue says to it. The answer is the broker's own.
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/client";
import type { JobDetails, Why } from "../api/types";
import { Icon } from "../parts/icon";
import { Told } from "../parts/told";
import { Problem, Skeleton } from "../parts/notice";

export function WhyNot({ job }: { job: JobDetails }) {
  const [why, setWhy] = useState<Why | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    let current = true;
    api.why(job.id).then(
      (found) => current && (setWhy(found), setError(null)),
      (problem) => current && setError(problem),
    );
    return () => {
      current = false;
    };
  }, [job.id, job.state, job.reason]);
  return (
    <section class="panel" aria-labelledby="why">
      <h2 id="why">Why it does not run yet</h2>
      {error ? <Problem error={error} /> : null}
      {!why && !error && <Skeleton lines={2} label="Sites are being asked" />}
      {why && why.places.length === 0 && (
        <p>
          No site is connected. <code>longship up</code> makes this machine one;{" "}
          <code>longship site add NAME --ssh user@login</code> adds another.
        </p>
      )}
      {why && why.places.length > 0 && (
        <ul class="places">
          {why.places.map((place) => (
            <li key={`${place.site} ${place.queue}`} class={place.fits ? "fits" : ""}>
              <span class={`state ${place.fits ? "is-finished" : "is-cancelled"}`}>
                <Icon name={place.fits ? "finished" : "cancelled"} />
                <span>{place.fits ? "fits" : "does not fit"}</span>
              </span>
              <strong>{place.site}</strong>
              <span class="muted">{place.queue}</span>
              <span>
                <Told text={place.reason || (place.fits ? "can start there" : "")} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
