// SPDX-License-Identifier: Apache-2.0
// Single keys, for the page as a whole; never while somebody types, and never together with a modifier.
import { useEffect } from "preact/hooks";

export type Keys = Record<string, (event: KeyboardEvent) => void>;

export function useKeys(keys: Keys): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.target as HTMLElement;
      if (target.closest("input, textarea, select, dialog")) return;
      if (event.key === "Enter" && target.closest("a, button")) return; // theirs
      const action = keys[event.key];
      if (!action) return;
      event.preventDefault();
      action(event);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}
