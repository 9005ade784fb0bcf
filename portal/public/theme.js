// SPDX-License-Identifier: Apache-2.0
// Before the first paint, so that nobody who chose dark sees a flash of white.
{
  let theme = null;
  try {
    theme = localStorage.getItem("longship.theme");
  } catch {
    // storage is forbidden here: the system's choice stands
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
