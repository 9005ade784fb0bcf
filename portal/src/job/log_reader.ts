// SPDX-License-Identifier: Apache-2.0
// Brings parts of a log as they are looked at: its end first, then what somebody scrolls to or searches, and what is
// written meanwhile.
import { api } from "../api/client";
import { Store } from "../api/store";
import { LogWindow } from "./log_window";

export interface Which {
  attempt: number;
  rank: number;
  stream: "out" | "err";
}

const part = 64 << 10;

export class LogReader {
  readonly window = new LogWindow();
  // Changes whenever the window did; `shift` is by how many lines its top moved: a page keeps its place with it.
  readonly version = new Store<{ shift: number }>({ shift: 0 });
  readonly error = new Store<unknown>(null);
  loaded = false;
  searching = false;
  private busy: Promise<boolean> | null = null;
  private stop = new AbortController();

  constructor(
    private readonly job: string,
    private readonly which: Which,
  ) {}

  close(): void {
    this.stop.abort();
  }

  get atStart(): boolean {
    return this.window.start === 0;
  }
  get atEnd(): boolean {
    return this.window.end >= this.window.size;
  }

  toEnd = () => this.work(async () => this.replace(await this.ask(-part, part)));
  toStart = () => this.work(async () => this.replace(await this.ask(0, part)));

  earlier = () =>
    this.work(async () => {
      const { window } = this;
      if (window.start === 0) return false;
      const length = Math.min(part, window.start);
      const { bytes } = await this.ask(window.start - length, length);
      const shift = window.prepend(bytes);
      this.version.value = { shift };
      return bytes.length > 0;
    });

  // True if there was more.
  later = () =>
    this.work(async () => {
      const { window } = this;
      const { bytes, size } = await this.ask(window.end, part);
      if (size < window.end) return this.replace(await this.ask(-part, part)); // the file was begun anew
      const shift = -window.append(bytes, size);
      if (bytes.length > 0) this.version.value = { shift };
      return bytes.length > 0;
    });

  private ask(from: number, length: number) {
    return api.log(this.job, this.which, from, length, this.stop.signal);
  }

  private replace({ bytes, from, size }: { bytes: Uint8Array; from: number; size: number }): boolean {
    this.window.reset(from, bytes, size);
    this.loaded = true;
    this.version.value = { shift: 0 };
    return true;
  }

  // One request at a time: the window has two ends and one truth.
  private async work(task: () => Promise<boolean>): Promise<boolean> {
    while (this.busy) await this.busy;
    this.busy = task().then(
      (done) => {
        this.error.value = null;
        return done;
      },
      (error) => {
        if (!this.stop.signal.aborted) this.error.value = error;
        return false;
      },
    );
    try {
      return await this.busy;
    } finally {
      this.busy = null;
    }
  }
}
