// SPDX-License-Identifier: Apache-2.0
// The exact command to repeat a job: its file, as it was understood, and what to do with it.
import type { JobDetails } from "../api/types";
import { Copyable } from "../parts/copyable";
import { toToml } from "./toml";

export function Repeat({ job }: { job: JobDetails }) {
  const file = toToml(job.spec);
  const command = `cat > ${job.id}.toml <<'END'\n${file}END\nlongship submit ${job.id}.toml`;
  return (
    <section class="panel" aria-labelledby="repeat">
      <h2 id="repeat">Repeat it</h2>
      <Copyable text={command} />
      <p class="muted">
        <code>longship run</code> instead of <code>longship submit</code> runs it where you are, without the hub.
        {job.code?.digest && (
          <>
            {" "}
            The code was <code class="digest">{job.code.digest}</code>; another digest is another job.
          </>
        )}
      </p>
    </section>
  );
}
