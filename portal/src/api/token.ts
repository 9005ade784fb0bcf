// SPDX-License-Identifier: Apache-2.0
// Who we are: a token that comes with the address `longship up` prints, in its fragment, which no browser sends
// anywhere. It is kept in this browser and taken out of the address, so that a copied address gives nothing away.
import { Store } from "./store";

const key = "longship.token";

export const token = new Store<string>("");

export function findToken(): void {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given !== null) history.replaceState(history.state, "", location.pathname + location.search);
  if (given) keepToken(given);
  else token.value = stored();
}

export function keepToken(text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // storage is forbidden here: the token lasts as long as the page
  }
  token.value = text;
}

// The hub does not know it any more.
export function forgetToken(refused: string): void {
  if (token.value !== refused) return; // another tab has found a better one
  try {
    localStorage.removeItem(key);
  } catch {
    // as above
  }
  token.value = "";
}

function stored(): string {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

addEventListener("hashchange", findToken);
addEventListener("storage", (event) => {
  if (event.key === key) token.value = event.newValue ?? "";
});
