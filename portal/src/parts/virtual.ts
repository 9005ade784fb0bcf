// SPDX-License-Identifier: Apache-2.0
// Which rows of a long list can be seen: all have the same height, so it is arithmetic, and only those are drawn.
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { RefObject } from "preact";

export interface Span {
  first: number;
  end: number; // exclusive
}

export function visibleRows(top: number, height: number, rowHeight: number, count: number, spare: number): Span {
  const first = Math.max(0, Math.floor(top / rowHeight) - spare);
  const end = Math.min(count, Math.ceil((top + height) / rowHeight) + spare);
  return { first: Math.min(first, Math.max(0, end)), end: Math.max(0, end) };
}

const same = (a: Span, b: Span) => a.first === b.first && a.end === b.end;

// Rows inside `list`, which scrolls with the page, or, with `inside`, has its own scroll bar.
export function useVisibleRows(
  list: RefObject<HTMLElement | null>,
  rowHeight: number,
  count: number,
  inside: boolean,
  spare = 8,
): Span {
  const [span, setSpan] = useState<Span>({ first: 0, end: Math.min(count, 30) });
  const measure = () => {
    const element = list.current;
    if (!element) return;
    const top = inside ? element.scrollTop : -element.getBoundingClientRect().top;
    const height = inside ? element.clientHeight : innerHeight;
    const next = visibleRows(top, height, rowHeight, count, spare);
    setSpan((before) => (same(before, next) ? before : next));
  };
  useLayoutEffect(measure, [rowHeight, count]);
  useEffect(() => {
    const target: EventTarget = inside ? list.current! : window;
    target.addEventListener("scroll", measure, { passive: true });
    addEventListener("resize", measure);
    return () => {
      target.removeEventListener("scroll", measure);
      removeEventListener("resize", measure);
    };
  });
  return { first: Math.min(span.first, count), end: Math.min(span.end, count) };
}
