// SPDX-License-Identifier: Apache-2.0
// Numbers with units and sane precision, the same way everywhere. A narrow space that does not break groups digits.

const space = "\u202f";

export function grouped(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, space);
}

// Three or four figures that matter: 4 180, 12.3, 0.214, 3.1e-7.
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const sign = value < 0 ? "−" : "";
  if (size >= 1e9) return sign + size.toExponential(2);
  if (size >= 1000) return sign + grouped(size);
  if (size >= 100) return sign + size.toFixed(0);
  if (size >= 10) return sign + size.toFixed(1);
  if (size >= 1) return sign + size.toFixed(2);
  if (size === 0) return "0";
  if (size >= 0.001)
    return (
      sign +
      size
        .toPrecision(3)
        .replace(/(\.\d*?)0+$/, "$1")
        .replace(/\.$/, "")
    );
  return sign + size.toExponential(1);
}

export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  let value = count;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    ++unit;
  }
  return `${unit === 0 || value >= 99.5 ? Math.round(value) : value.toFixed(1)}${space}${units[unit]}`;
}

// How long: 0.4 s, 45 s, 12 min, 2 h 05 min, 3 d 4 h.
export function duration(seconds: number): string {
  const s = Math.max(0, seconds);
  if (s < 0.0995) return s === 0 ? `0${space}s` : `${(s * 1000).toPrecision(2)}${space}ms`;
  if (s < 9.95) return `${s.toFixed(1)}${space}s`;
  if (s < 59.5) return `${Math.round(s)}${space}s`;
  if (s < 600) return `${Math.floor(s / 60)}${space}min ${two(Math.floor(s % 60))}${space}s`;
  if (s < 3570) return `${Math.round(s / 60)}${space}min`;
  const minutes = Math.round(s / 60);
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)}${space}h ${two(minutes % 60)}${space}min`;
  const hours = Math.round(s / 3600);
  return `${Math.floor(hours / 24)}${space}d ${hours % 24}${space}h`;
}

// How long, in one unit, for columns.
export function rough(seconds: number): string {
  return seconds < 60 ? duration(Math.round(seconds)) : age(seconds);
}

// How old, in one unit: people compare these down a column.
export function age(seconds: number): string {
  const s = Math.max(0, seconds);
  if (s < 10) return "now";
  if (s < 60) return `${Math.floor(s / 10) * 10}${space}s`;
  if (s < 3600) return `${Math.floor(s / 60)}${space}min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)}${space}h`;
  return `${Math.floor(s / 86400)}${space}d`;
}

export function relative(at: number, now: number): string {
  const ago = now - at;
  if (ago > -10 && ago < 10) return "now";
  return ago < 0 ? `in ${age(-ago)}` : `${age(ago)} ago`;
}

export function absolute(at: number): string {
  const date = new Date(at * 1000);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clock(at)}`;
}

export function clock(at: number): string {
  const date = new Date(at * 1000);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 1) return `<${space}1${space}%`;
  return `${Math.round(value)}${space}%`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

// "2h", "1d 6h", "90m", as a job file says it.
export function secondsOf(text: string | undefined): number | null {
  if (!text) return null;
  const units: Record<string, number> = { s: 1, sec: 1, m: 60, min: 60, h: 3600, d: 86400 };
  let sum = 0;
  const rest = text.replace(/(\d+(?:\.\d+)?)\s*([a-z]+)/g, (_, number: string, unit: string) => {
    sum += Number(number) * (units[unit] ?? NaN);
    return "";
  });
  return rest.trim() === "" && sum > 0 ? sum : null;
}

function two(value: number): string {
  return value.toString().padStart(2, "0");
}
