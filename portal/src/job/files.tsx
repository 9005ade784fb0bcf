// SPDX-License-Identifier: Apache-2.0
// What the job kept. A link could not carry the token, so the bytes come through the page.
import { useState } from "preact/hooks";
import { api } from "../api/client";
import type { Attempt, JobDetails } from "../api/types";
import { bytes, percent } from "../format";
import { saveAs } from "../parts/download";
import { Icon } from "../parts/icon";
import { Problem } from "../parts/notice";

export function Files({ job, attempt }: { job: JobDetails; attempt: Attempt | undefined }) {
  const [busy, setBusy] = useState<Record<string, number>>({});
  const [error, setError] = useState<unknown>(null);
  const fetchFile = async (name: string, size: number) => {
    setError(null);
    try {
      const response = await api.file(job.id, attempt!.number, name);
      const parts: Uint8Array<ArrayBuffer>[] = [];
      let got = 0;
      const reader = response.body!.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        parts.push(value);
        got += value.length;
        setBusy((before) => ({ ...before, [name]: size ? got / size : 0 }));
      }
      saveAs(name.split("/").at(-1)!, new Blob(parts));
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(({ [name]: _, ...others }) => others);
    }
  };
  const outputs = attempt?.outputs ?? [];
  const named = (job.spec.outputs as { keep?: string[] } | undefined)?.keep ?? [];
  return (
    <section class="panel" aria-labelledby="files">
      <h2 id="files">Files kept</h2>
      {error ? <Problem error={error} /> : null}
      {outputs.length > 0 && (
        <ul class="files">
          {outputs.map(({ name, size }) => (
            <li key={name}>
              <button class="quiet file" onClick={() => fetchFile(name, size)} disabled={name in busy}>
                <Icon name="download" />
                <span class="sr">Download</span>
                <code>{name}</code>
                <span class="muted number">{name in busy ? percent(busy[name]!) : bytes(size)}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {outputs.length === 0 && named.length > 0 && (
        <p class="muted">
          Nothing yet. When the job ends it keeps{" "}
          {named.map((name, i) => (
            <span key={name}>
              {i > 0 && ", "}
              <code>{name}</code>
            </span>
          ))}
          .
        </p>
      )}
      {outputs.length === 0 && named.length === 0 && (
        <p class="muted">
          This job keeps no files. In a job file, <code>[outputs]</code> with <code>keep = ["model.pt"]</code> names
          those to keep.
        </p>
      )}
    </section>
  );
}
