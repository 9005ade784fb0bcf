// SPDX-License-Identifier: Apache-2.0
// What sites say to the jobs that wait: the newest of each name, since many jobs of one name ask for the same.
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/client";
import { onChanges } from "../api/live";
import type { Job, Place } from "../api/types";

export interface Verdict {
  job: string;
  place: Place;
}

const atMost = 12; // jobs asked about
const refresh = 3000; // ms

export function usePlaces(): { verdicts: Map<string, Verdict[]>; waiting: number } {
  const [found, setFound] = useState({ verdicts: new Map<string, Verdict[]>(), waiting: 0 });
  useEffect(() => {
    let over = false;
    let timer = 0;
    const load = async () => {
      timer = 0;
      try {
        const list = await api.jobs({ state: "waiting" }, "", 200);
        const verdicts = await ask(onePerName(list.jobs).slice(0, atMost));
        if (!over) setFound({ verdicts, waiting: list.total });
      } catch {
        // the page's own request for sites tells what is wrong
      }
    };
    void load();
    const stop = onChanges((changes) => {
      if (!timer && (changes.missed || changes.jobs.size || changes.sites.size))
        timer = window.setTimeout(load, refresh);
    });
    return () => {
      over = true;
      clearTimeout(timer);
      stop();
    };
  }, []);
  return found;
}

export function onePerName(jobs: Job[]): Job[] {
  const names = new Set<string>();
  return jobs.filter((job) => !names.has(job.name) && names.add(job.name));
}

async function ask(jobs: Job[]): Promise<Map<string, Verdict[]>> {
  const bySite = new Map<string, Verdict[]>();
  const answers = await Promise.allSettled(jobs.map((job) => api.why(job.id)));
  for (const answer of answers) {
    if (answer.status === "rejected") continue;
    for (const place of answer.value.places) {
      const verdicts = bySite.get(place.site) ?? [];
      verdicts.push({ job: answer.value.job, place });
      bySite.set(place.site, verdicts);
    }
  }
  for (const verdicts of bySite.values()) verdicts.sort((a, b) => Number(b.place.fits) - Number(a.place.fits));
  return bySite;
}
