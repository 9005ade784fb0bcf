// SPDX-License-Identifier: Apache-2.0
// What can be done to a job. Each asks first, and says what it will mean.
import { useState } from "preact/hooks";
import { api, type Verb } from "../api/client";
import { isOver, type Job } from "../api/types";
import { Problem } from "../parts/notice";
import { Dialog } from "../shell/dialog";

interface Action {
  verb: Verb;
  label: string;
  means: string;
  danger?: boolean;
}

export function actionsFor(job: Job): Action[] {
  const actions: Action[] = [];
  if (job.state === "waiting")
    actions.push({
      verb: "hold",
      label: "Hold",
      means: "It stays in the list but is not started until it is released.",
    });
  if (job.state === "held") actions.push({ verb: "release", label: "Release", means: "It waits for a site again." });
  if (isOver(job.state))
    actions.push({
      verb: "retry",
      label: "Retry",
      means: "It gets a new attempt with the same code, image and needs. What earlier attempts left is kept.",
    });
  else
    actions.push({
      verb: "cancel",
      label: "Cancel",
      means:
        job.state === "running"
          ? "All its ranks are stopped. What has not been written to a checkpoint is lost."
          : "It will not be started.",
      danger: true,
    });
  return actions;
}

export function Actions(props: { job: Job; onChanged: () => void }) {
  const [asking, setAsking] = useState<Action | null>(null);
  return (
    <div class="actions">
      {actionsFor(props.job).map((action) => (
        <button key={action.verb} class={action.danger ? "danger" : ""} onClick={() => setAsking(action)}>
          {action.label}
        </button>
      ))}
      {asking && <Confirm job={props.job} action={asking} onDone={props.onChanged} onClose={() => setAsking(null)} />}
    </div>
  );
}

function Confirm(props: { job: Job; action: Action; onDone: () => void; onClose: () => void }) {
  const { job, action } = props;
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const act = async () => {
    setBusy(true);
    try {
      await api.change(job.id, action.verb);
      props.onDone();
      props.onClose();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <Dialog title={`${action.label} ${job.id}?`} onClose={props.onClose}>
      <p>{action.means}</p>
      {error ? <Problem error={error} /> : null}
      <div class="buttons">
        <button onClick={props.onClose}>{isOver(job.state) ? "Leave it" : "Keep it as it is"}</button>
        <button class={action.danger ? "danger" : "primary"} disabled={busy} onClick={act}>
          {action.label} {job.id}
        </button>
      </div>
      <p class="muted same-command">
        The same from a terminal:{" "}
        <code>
          longship {action.verb} {job.id}
        </code>
      </p>
    </Dialog>
  );
}
