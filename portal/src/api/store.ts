// SPDX-License-Identifier: Apache-2.0
// A value that components watch.
import { useEffect, useState } from "preact/hooks";

export class Store<T> {
  private watchers = new Set<() => void>();
  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }
  set value(next: T) {
    if (next === this.current) return;
    this.current = next;
    for (const watcher of [...this.watchers]) watcher();
  }
  watch(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }
}

export function useStore<T>(store: Store<T>): T {
  const [, redraw] = useState({});
  const { value } = store;
  useEffect(() => {
    const stop = store.watch(() => redraw({}));
    if (store.value !== value) redraw({}); // it changed between drawing and now
    return stop;
  }, [store]);
  return value;
}
