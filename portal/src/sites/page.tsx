// SPDX-License-Identifier: Apache-2.0
// Where can I run? Each site with its queues, and what of the waiting jobs would fit there.
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/client";
import { onChanges } from "../api/live";
import type { Place, Queue, Site } from "../api/types";
import { bytes, duration, grouped, plural } from "../format";
import { Copyable } from "../parts/copyable";
import { Icon } from "../parts/icon";
import { Problem, Skeleton } from "../parts/notice";
import { StateMark } from "../parts/state";
import { When } from "../parts/time";
import { Told } from "../parts/told";
import { useNow } from "../shell/now";
import { usePlaces, type Verdict } from "./places";

export function SitesPage() {
  const [sites, setSites] = useState<Site[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const { verdicts, waiting } = usePlaces();
  const load = () => void api.sites().then((found) => (setSites(found), setError(null)), setError);
  useEffect(() => {
    document.title = "Sites · Longship";
    load();
    return onChanges((changes) => {
      if (changes.missed) return load();
      if (changes.sites.size) setSites((before) => before && merged(before, changes.sites.values()));
    });
  }, []);
  return (
    <main id="main" class="sites">
      <h1>Sites</h1>
      {error ? <Problem error={error} again={load} /> : null}
      {!sites && !error && <Skeleton lines={6} label="Sites are on their way" />}
      {sites?.length === 0 && <NoSites />}
      {sites?.map((site) => (
        <SitePanel key={site.name} site={site} verdicts={verdicts.get(site.name) ?? []} waiting={waiting} />
      ))}
      {sites && sites.length > 0 && (
        <section class="empty small">
          <h2>Another site</h2>
          <p>
            Starts an agent on a login node over ssh; nothing has to be installed there but <code>longship</code>, and
            no port is opened.
          </p>
          <Copyable text="longship site add NAME --ssh user@login" />
        </section>
      )}
    </main>
  );
}

export function merged(before: Site[], changed: Iterable<Site & { removed?: boolean }>): Site[] {
  const sites = new Map(before.map((site) => [site.name, site]));
  for (const { removed, ...site } of changed) {
    if (removed) sites.delete(site.name);
    else sites.set(site.name, { ...sites.get(site.name), ...site });
  }
  return [...sites.values()];
}

function SitePanel(props: { site: Site; verdicts: Verdict[]; waiting: number }) {
  const { site } = props;
  const now = useNow(site.state === "up" ? 30 : 5);
  return (
    <section class="panel site" aria-labelledby={`site-${site.name}`}>
      <div class="panel-head">
        <h2 id={`site-${site.name}`}>
          <a href={`/?site=${encodeURIComponent(site.name)}`}>{site.name}</a>
        </h2>
        <StateMark state={site.state} />
        <span class="muted">
          {site.state === "never" ? (
            "no agent has ever connected"
          ) : (
            <>
              since <When at={site.since} now={now} plain={(at) => duration(now - at)} />
            </>
          )}
        </span>
        <span class="spacer" />
        <span class="muted machine">{machine(site)}</span>
      </div>
      {site.condition && <p class="notice error">{site.condition}</p>}
      {site.state === "silent" && (
        <p class="muted">Jobs that run there go on; what happens there will be told when the agent is back.</p>
      )}
      {site.queues?.length > 0 && <Queues site={site.name} queues={site.queues} />}
      {site.state === "never" && <Copyable text={`longship agent ${site.name}`} />}
      <Fits verdicts={props.verdicts} waiting={props.waiting} />
    </section>
  );
}

function machine(site: Site): string {
  const words = [site.batch, site.arch];
  if (site.cores) words.push(`${grouped(site.cores)} cores`);
  if (site.memory) words.push(typeof site.memory === "number" ? bytes(site.memory) : site.memory);
  if (site.gpus) words.push(plural(site.gpus, "GPU"));
  if (site.version) words.push(`longship ${site.version}`);
  return words.filter(Boolean).join(" · ");
}

function Queues({ site, queues }: { site: string; queues: Queue[] }) {
  const limit = (value: Queue["max_walltime"]) => (!value ? "–" : typeof value === "number" ? duration(value) : value);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Queues of ${site}`}>
      <table class="queues">
        <thead>
          <tr>
            <th scope="col">Queue</th>
            <th scope="col" class="number">
              Max. nodes
            </th>
            <th scope="col" class="number">
              Max. time
            </th>
            <th scope="col" class="number">
              Running
            </th>
            <th scope="col" class="number">
              Waiting
            </th>
          </tr>
        </thead>
        <tbody>
          {queues.map((queue) => (
            <tr key={queue.name}>
              <th scope="row">{queue.name}</th>
              <td class="number">{queue.max_nodes ? grouped(queue.max_nodes) : "–"}</td>
              <td class="number">{limit(queue.max_walltime)}</td>
              <td class="number">{grouped(queue.running ?? 0)}</td>
              <td class="number">{grouped(queue.waiting ?? 0)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Fits(props: { verdicts: Verdict[]; waiting: number }) {
  const { verdicts, waiting } = props;
  if (waiting === 0) return <p class="muted">No job waits for a site.</p>;
  if (verdicts.length === 0) return null;
  return (
    <ul class="places">
      {verdicts.map(({ job, place }) => (
        <li key={`${job} ${place.queue}`} class={place.fits ? "fits" : ""}>
          <span class={`state ${place.fits ? "is-finished" : "is-cancelled"}`}>
            <Icon name={place.fits ? "finished" : "cancelled"} />
            <span>{place.fits ? "fits" : "does not fit"}</span>
          </span>
          <a href={`/jobs/${encodeURIComponent(job)}`}>{job}</a>
          <span class="muted">{place.queue}</span>
          <span>
            <Told text={reasonOf(place)} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function reasonOf(place: Place): string {
  return place.reason || (place.fits ? "waits for its turn" : "");
}

function NoSites() {
  return (
    <section class="empty">
      <h2>No sites yet</h2>
      <p>A site is a machine or a cluster where jobs run. This machine becomes one with</p>
      <Copyable text="longship up" />
      <p>and a cluster, through its login node, with</p>
      <Copyable text="longship site add NAME --ssh user@login" />
    </section>
  );
}
