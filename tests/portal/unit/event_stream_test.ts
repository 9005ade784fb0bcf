// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { EventSplitter, type ServerEvent } from "../../../portal/src/api/event_stream";

const text =
  ': hello\n\nid: 7\nevent: job\ndata: {"id":"digits-7"}\n\n: still here\n\nid: 8\r\nevent: site\r\ndata: a\r\ndata: b\r\n\r\nevent: reset\ndata\n\n';
const events: ServerEvent[] = [
  { kind: "job", id: "7", data: '{"id":"digits-7"}' },
  { kind: "site", id: "8", data: "a\nb" },
  { kind: "reset", id: "8", data: "" },
];

test("events are the same however the bytes are cut", () => {
  for (let size = 1; size <= text.length; ++size) {
    const splitter = new EventSplitter();
    const found: ServerEvent[] = [];
    for (let at = 0; at < text.length; at += size) found.push(...splitter.add(text.slice(at, at + size)));
    assert.deepEqual(found, events, `pieces of ${size}`);
    assert.equal(splitter.lastId, "8");
  }
});

test("a comment is no event", () => {
  assert.deepEqual(new EventSplitter().add(": hello\n\n: again\n\n"), []);
});

test("an event without its empty line is not told yet", () => {
  const splitter = new EventSplitter();
  assert.deepEqual(splitter.add("event: job\ndata: 1\n"), []);
  assert.deepEqual(splitter.add("\n"), [{ kind: "job", id: "", data: "1" }]);
});
