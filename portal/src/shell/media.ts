// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";

export function useMedia(query: string): boolean {
  const [yes, setYes] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const changed = () => setYes(list.matches);
    list.addEventListener("change", changed);
    return () => list.removeEventListener("change", changed);
  }, [query]);
  return yes;
}
