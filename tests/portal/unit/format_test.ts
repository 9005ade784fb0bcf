// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import * as format from "../../../portal/src/format";

function table<T>(name: string, told: (value: T) => string, rows: [T, string][]): void {
  test(name, () => {
    for (const [value, words] of rows) assert.equal(told(value).replaceAll("\u202f", " "), words);
  });
}

table("figures have three or four digits that matter", format.figure, [
  [4180.4, "4 180"],
  [123.4, "123"],
  [12.34, "12.3"],
  [1.234, "1.23"],
  [0.2136, "0.214"],
  [0.2, "0.2"],
  [0, "0"],
  [-3.5, "−3.50"],
  [0.00001234, "1.2e-5"],
  [12_345_678, "12 345 678"],
  [Infinity, "∞"],
  [NaN, "–"],
  [null, "–"],
]);
table("sizes have a unit", format.bytes, [
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.0 kB"],
  [763_211_004, "763 MB"],
  [999_999, "1.0 MB"],
  [16_600_000_000, "16.6 GB"],
]);
table("durations are read at a glance", format.duration, [
  [0, "0 s"],
  [0.0123, "12 ms"],
  [0.4, "0.4 s"],
  [45, "45 s"],
  [65, "1 min 05 s"],
  [720, "12 min"],
  [3599, "1 h 00 min"],
  [7500, "2 h 05 min"],
  [277_000, "3 d 5 h"],
]);
table("ages have one unit", format.age, [
  [3, "now"],
  [42, "40 s"],
  [61, "1 min"],
  [7300, "2 h"],
  [200_000, "2 d"],
]);
table("shares are whole per cents", format.percent, [
  [0, "0 %"],
  [0.004, "< 1 %"],
  [0.944, "94 %"],
  [1, "100 %"],
]);

test("walltimes are understood as job files write them", () => {
  assert.equal(format.secondsOf("2h"), 7200);
  assert.equal(format.secondsOf("1h 30m"), 5400);
  assert.equal(format.secondsOf("1d"), 86_400);
  assert.equal(format.secondsOf("soon"), null);
  assert.equal(format.secondsOf(undefined), null);
});

test("times are told relative to now, before and after", () => {
  assert.equal(format.relative(1000, 1003), "now");
  assert.equal(format.relative(1000, 1300).replaceAll("\u202f", " "), "5 min ago");
  assert.equal(format.relative(1300, 1000).replaceAll("\u202f", " "), "in 5 min");
});
