// SPDX-License-Identifier: Apache-2.0
// Light or dark as the system says, until somebody switches. public/theme.js applies the choice before the first paint.
import { Store } from "../api/store";

export type Theme = "system" | "light" | "dark";
const key = "longship.theme";

const chosen = (): Theme => (document.documentElement.dataset.theme as Theme | undefined) ?? "system";
export const theme = new Store<Theme>(chosen());
// Changes whenever colours do: plots draw themselves anew.
export const colours = new Store<object>({});

export function setTheme(next: Theme): void {
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try {
    if (next === "system") localStorage.removeItem(key);
    else localStorage.setItem(key, next);
  } catch {
    // storage is forbidden here: the choice lasts as long as the page
  }
  theme.value = next;
  colours.value = {};
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  colours.value = {};
});
