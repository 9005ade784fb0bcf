// SPDX-License-Identifier: Apache-2.0
// A state by icon, word and colour.
import { Icon, type IconName } from "./icon";

const words: Record<string, IconName> = {
  waiting: "waiting",
  held: "held",
  assigned: "assigned",
  running: "running",
  finished: "finished",
  failed: "failed",
  cancelled: "cancelled",
  sent: "assigned",
  preparing: "assigned",
  queued: "waiting",
  lost: "silent",
  timed_out: "waiting",
  refused: "cancelled",
  stopped: "cancelled",
  up: "up",
  silent: "silent",
  never: "never",
};

export function StateMark(props: { state: string }) {
  const icon = words[props.state] ?? "never";
  return (
    <span class={`state is-${props.state}`}>
      <Icon name={icon} />
      <span>{props.state.replace("_", " ")}</span>
    </span>
  );
}
