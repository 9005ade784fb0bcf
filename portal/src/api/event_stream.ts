// SPDX-License-Identifier: Apache-2.0
// Server-sent events from text as it arrives, in whatever pieces: the browser's own EventSource cannot send a token.

export interface ServerEvent {
  kind: string;
  id: string;
  data: string;
}

export class EventSplitter {
  private pending = "";
  private kind = "";
  private data: string[] = [];
  lastId = "";

  add(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    this.pending += text;
    // A return at the very end may be the first half of a line's end.
    const whole = this.pending.endsWith("\r") ? this.pending.length - 1 : this.pending.length;
    let at = 0;
    for (;;) {
      const end = this.lineEnd(at, whole);
      if (end < 0) break;
      this.line(this.pending.slice(at, end), events);
      at = end + (this.pending.startsWith("\r\n", end) ? 2 : 1);
    }
    this.pending = this.pending.slice(at);
    return events;
  }

  private lineEnd(from: number, whole: number): number {
    for (let at = from; at < whole; ++at) {
      const code = this.pending.charCodeAt(at);
      if (code === 10 || code === 13) return at;
    }
    return -1;
  }

  private line(line: string, events: ServerEvent[]): void {
    if (line === "") {
      if (this.kind !== "" || this.data.length > 0)
        events.push({ kind: this.kind || "message", id: this.lastId, data: this.data.join("\n") });
      this.kind = "";
      this.data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment: the hub shows that it is there
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (field === "event") this.kind = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id") this.lastId = value;
  }
}
