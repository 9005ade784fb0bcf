// SPDX-License-Identifier: Apache-2.0
// A job's JSON as the job file it came from: the same keys, in the order the hub gives them.

type Json = unknown;
const isTable = (value: Json): value is Record<string, Json> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isTables = (value: Json): value is Record<string, Json>[] =>
  Array.isArray(value) && value.length > 0 && value.every(isTable);

export function toToml(document: Record<string, Json>): string {
  return section(document, "").replace(/^\n/, "");
}

function section(table: Record<string, Json>, path: string): string {
  let lines = "";
  for (const [key, value] of Object.entries(table))
    if (value !== null && value !== undefined && !isTable(value) && !isTables(value))
      lines += `${name(key)} = ${written(value)}\n`;
  for (const [key, value] of Object.entries(table)) {
    const inner = path ? `${path}.${name(key)}` : name(key);
    if (isTable(value) && Object.keys(value).length > 0) lines += `\n[${inner}]\n${section(value, inner)}`;
    if (isTables(value)) for (const one of value) lines += `\n[[${inner}]]\n${section(one, inner)}`;
  }
  return lines;
}

function name(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : text(key);
}

function written(value: Json): string {
  if (typeof value === "string") return text(value);
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  if (isTable(value))
    return `{ ${Object.entries(value)
      .map(([key, inner]) => `${name(key)} = ${written(inner)}`)
      .join(", ")} }`;
  return String(value);
}

// TOML's basic strings are JSON's, but for a few characters that JSON leaves as they are.
function text(value: string): string {
  return JSON.stringify(value).replace(/\u007f/g, "\\u007f");
}
