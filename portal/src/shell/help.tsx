// SPDX-License-Identifier: Apache-2.0
import { Dialog } from "./dialog";

const keys: [string, string][] = [
  ["/", "search"],
  ["j  k", "next, previous row"],
  ["Enter", "open the row"],
  ["g", "jobs"],
  ["s", "sites"],
  ["l", "curves: logarithmic or linear"],
  ["x", "curves: over steps or over time"],
  ["f", "log: follow its end"],
  ["t", "theme: system, light, dark"],
  ["?", "this page"],
  ["Esc", "close, or leave the search"],
];

export function Help(props: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={props.onClose}>
      <dl class="keys">
        {keys.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              {key.split("  ").map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog" class="buttons">
        <button class="primary">Close</button>
      </form>
    </Dialog>
  );
}
