// SPDX-License-Identifier: Apache-2.0
// The address says what is shown, filters included, so that it can be sent to a colleague and survives a reload.
import { Store } from "../api/store";

export interface Address {
  path: string;
  query: URLSearchParams;
}

const read = (): Address => ({ path: location.pathname, query: new URLSearchParams(location.search) });
export const address = new Store<Address>(read());

export function go(href: string, how: "push" | "replace" = "push"): void {
  if (how === "push") {
    history.replaceState({ scroll: scrollY }, "");
    history.pushState(null, "", href);
    scrollTo(0, 0);
  } else {
    history.replaceState(history.state, "", href);
  }
  address.value = read();
}

// Changes some words of the query; null takes one out.
export function setQuery(changes: Record<string, string | null>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  go(location.pathname + (text ? `?${text}` : ""), "replace");
}

// Where the page was scrolled to when it was left; asked once it is as tall as it was.
export function scrollBefore(): number {
  const state: unknown = history.state;
  return state && typeof state === "object" && "scroll" in state ? Number(state.scroll) : 0;
}

export function startRouter(): void {
  history.scrollRestoration = "manual";
  addEventListener("popstate", () => {
    address.value = read();
  });
  addEventListener("pagehide", () => history.replaceState({ scroll: scrollY }, ""));
  document.addEventListener("click", (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = (event.target as Element).closest("a");
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (link.hash && link.pathname === location.pathname) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
