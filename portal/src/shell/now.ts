// SPDX-License-Identifier: Apache-2.0
// The time, in seconds, for what says how long ago: redrawn every `every` seconds, and only while it is looked at.
import { useEffect, useState } from "preact/hooks";

export function useNow(every: number): number {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    if (!every) return;
    const tick = () => {
      if (!document.hidden) setNow(Date.now() / 1000);
    };
    const timer = setInterval(tick, every * 1000);
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", tick);
    };
  }, [every]);
  return now;
}
