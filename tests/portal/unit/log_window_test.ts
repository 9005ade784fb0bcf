// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest } from "../../../portal/src/job/log_search";
import { cleaned, LogWindow } from "../../../portal/src/job/log_window";

const encoder = new TextEncoder();
const lines = Array.from({ length: 300 }, (_, i) => `Schritt ${i}: größer – ${"x".repeat(i % 17)}`);
const file = encoder.encode(lines.join("\n") + "\n");
const texts = (window: LogWindow) => window.lines.map((line) => line.text);

test("a log that grows is read the same however it is cut, also within a character", () => {
  for (const size of [1, 2, 3, 7, 64, 1000, file.length]) {
    const window = new LogWindow();
    window.reset(0, file.slice(0, 5), file.length);
    for (let at = 5; at < file.length; at += size) window.append(file.slice(at, at + size), file.length);
    assert.deepEqual(texts(window), lines, `pieces of ${size}`);
  }
});

test("a log read backwards from its end has the same lines", () => {
  for (const size of [3, 10, 64, 1000]) {
    const window = new LogWindow();
    const start = file.length - 100;
    window.reset(start, file.slice(start), file.length);
    while (window.start > 0) {
      const before = window.lines.length;
      const length = Math.min(size, window.start);
      const added = window.prepend(file.slice(window.start - length, window.start));
      assert.equal(window.lines.length, before + added);
    }
    assert.deepEqual(texts(window), lines, `pieces of ${size}`);
  }
});

test("every line knows its place in the file", () => {
  const window = new LogWindow();
  window.reset(1000, file.slice(1000, 3000), file.length);
  for (const line of window.lines.slice(0, -1))
    assert.ok(new TextDecoder().decode(file.slice(line.at)).startsWith(line.text + "\n"));
});

test("the rest of a line whose beginning is missing is not shown", () => {
  const window = new LogWindow();
  window.reset(3, encoder.encode("st\nwhole\n"), 12);
  assert.deepEqual(texts(window), ["whole"]);
});

test("a window forgets at the other end, and says how far its top moved", () => {
  const window = new LogWindow(500);
  window.reset(0, file.slice(0, 400), file.length);
  const gone = window.append(file.slice(400, 900), file.length);
  assert.ok(gone > 0);
  assert.ok(window.end - window.start <= 500 + 64);
  assert.equal(window.lines[0]!.text, lines[gone]);
  window.prepend(file.slice(0, window.start));
  assert.equal(window.lines[0]!.text, lines[0]);
  assert.ok(window.end < 900);
});

test("an empty log has no lines, and gets some", () => {
  const window = new LogWindow();
  window.reset(0, new Uint8Array(0), 0);
  assert.deepEqual(window.lines, []);
  window.append(encoder.encode("first"), 5);
  window.append(encoder.encode(" line\n"), 11);
  assert.deepEqual(texts(window), ["first line"]);
});

test("a line is what a terminal would have left of it", () => {
  assert.equal(cleaned("10 %\r50 %\r100 %\r"), "100 %");
  assert.equal(cleaned("\x1b[1;31mred\x1b[0m and \x07bell"), "red and bell");
  assert.equal(cleaned("a\tb"), "a    b");
  assert.ok(cleaned("y".repeat(10_000)).endsWith("(the line goes on)"));
});

test("search finds the nearest line in either direction, and not the one it stands on", () => {
  const found = [
    { at: 0, text: "Loss 1" },
    { at: 10, text: "other" },
    { at: 20, text: "loss 2" },
    { at: 30, text: "loss 3" },
  ];
  assert.equal(nearest(found, "LOSS", 20, 1)?.at, 30);
  assert.equal(nearest(found, "loss", 20, -1)?.at, 0);
  assert.equal(nearest(found, "loss", 30, 1), undefined);
  assert.equal(nearest(found, "loss", Infinity, -1)?.at, 30);
});
