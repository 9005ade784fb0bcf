// SPDX-License-Identifier: Apache-2.0
import { absolute, relative } from "../format";

// When, relative to now; the absolute time on hover.
export function When(props: {
  at: number | null | undefined;
  now: number;
  plain?: (at: number, now: number) => string;
}) {
  if (!props.at) return <span class="muted">–</span>;
  const words = (props.plain ?? relative)(props.at, props.now);
  return (
    <time dateTime={new Date(props.at * 1000).toISOString()} title={absolute(props.at)}>
      {words}
    </time>
  );
}
