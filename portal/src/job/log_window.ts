// SPDX-License-Identifier: Apache-2.0
// A window on a file of any size: some consecutive bytes of it, as lines. It grows at either end, and forgets at the
// other what nobody looks at.

export interface Line {
  at: number; // offset of its first byte in the file: what identifies it
  text: string;
}

const newline = 10;
const longest = 4000; // characters of a line that are shown

export class LogWindow {
  start = 0; // of the bytes that are here
  size = 0; // of the whole file, as far as known
  lines: Line[] = [];
  private data = new Uint8Array(0);
  private decoder = new TextDecoder();

  constructor(private readonly limit = 1 << 20) {}

  get end(): number {
    return this.start + this.data.length;
  }

  reset(from: number, bytes: Uint8Array, size: number): void {
    this.start = from;
    this.data = bytes.slice();
    this.size = Math.max(size, this.end);
    this.lines = this.split(0);
  }

  // Bytes that follow; returns how many lines went at the top.
  append(bytes: Uint8Array, size: number): number {
    this.size = Math.max(size, this.end + bytes.length);
    if (bytes.length === 0) return 0;
    const last = this.lines.at(-1);
    const open = last && this.data.at(-1) !== newline ? this.lines.pop()!.at - this.start : this.data.length;
    const from = this.lines.length || last ? open : 0;
    this.data = joined(this.data, bytes);
    for (const line of this.split(from)) this.lines.push(line);
    return this.forgetTop();
  }

  // Bytes that precede; returns how many lines came at the top.
  prepend(bytes: Uint8Array): number {
    if (bytes.length === 0) return 0;
    const before = this.lines.length;
    this.start -= bytes.length;
    this.data = joined(bytes, this.data);
    this.lines = this.split(0);
    const added = this.lines.length - before;
    this.forgetBottom();
    return added;
  }

  private forgetTop(): number {
    if (this.data.length <= this.limit) return 0;
    const cut = this.data.length - this.limit;
    const kept = this.lines.findIndex((line) => line.at - this.start >= cut);
    if (kept <= 0) return 0;
    const offset = this.lines[kept]!.at - this.start;
    this.data = this.data.slice(offset);
    this.start += offset;
    this.lines = this.lines.slice(kept);
    return kept;
  }

  private forgetBottom(): void {
    if (this.data.length <= this.limit) return;
    const kept = this.lines.findIndex((line) => line.at - this.start > this.limit);
    if (kept <= 0) return;
    this.data = this.data.slice(0, this.lines[kept]!.at - this.start);
    this.lines = this.lines.slice(0, kept);
  }

  // Lines of the bytes from `from` on, which is where a line begins; but what precedes the window is unknown, and the
  // rest of a line whose beginning is missing is not shown.
  private split(from: number): Line[] {
    const lines: Line[] = [];
    let at = from;
    if (from === 0 && this.start > 0) {
      const first = this.data.indexOf(newline);
      if (first >= 0 && first < this.data.length - 1) at = first + 1;
    }
    while (at < this.data.length) {
      const found = this.data.indexOf(newline, at);
      const end = found < 0 ? this.data.length : found;
      lines.push({ at: this.start + at, text: this.readable(this.data.subarray(at, end)) });
      at = end + 1;
    }
    return lines;
  }

  private readable(bytes: Uint8Array): string {
    const cut = bytes.length > 4 * longest ? bytes.subarray(0, 4 * longest) : bytes;
    return cleaned(this.decoder.decode(cut), bytes.length > cut.length);
  }
}

// As a terminal would leave it: the last version of a progress bar, no colours, no bells.
export function cleaned(text: string, wasCut = false): string {
  let line = text
    .replace(/\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]/g, "")
    .replace(/\r+$/, "");
  const back = line.lastIndexOf("\r");
  if (back >= 0) line = line.slice(back + 1);
  line = line.replace(/\t/g, "    ").replace(/[\x00-\x08\x0b-\x1f\x7f]/g, "");
  return line.length > longest || wasCut ? `${line.slice(0, longest)} … (the line goes on)` : line;
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
