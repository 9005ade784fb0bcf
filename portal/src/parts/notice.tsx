// SPDX-License-Identifier: Apache-2.0
// What went wrong, as a sentence, and the way to try again.
import { useEffect, useState } from "preact/hooks";

export function Problem(props: { error: unknown; again?: () => void }) {
  const sentence = props.error instanceof Error ? props.error.message : String(props.error);
  return (
    <div class="notice error" role="alert">
      <span>{sentence}</span>
      {props.again && <button onClick={props.again}>Try again</button>}
    </div>
  );
}

// Where something will be. Nothing at first: most answers are here before anybody could see it.
export function Skeleton(props: { lines?: number; label: string }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="skeleton" role="status" aria-label={props.label}>
      {late && Array.from({ length: props.lines ?? 3 }, (_, i) => <span key={i} class="bone" />)}
    </div>
  );
}
