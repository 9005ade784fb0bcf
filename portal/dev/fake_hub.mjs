// SPDX-License-Identifier: Apache-2.0
// A fake hub, for drawing the portal without one: the same API with made-up, deterministic jobs, some of which go on
// while one watches. Nothing of it is in the program. Tests drive the real hub; this is for working on pages.
//
//   node dev/fake_hub.mjs [--port 8471] [--jobs 10000] [--empty] [--dist DIR]
//
// POST /fake/down?seconds=5 breaks all connections and refuses new ones for a while.
import { createServer } from "node:http";
import { readFileSync, existsSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const words = process.argv.slice(2);
const option = (name, otherwise) => (words.includes(name) ? words[words.indexOf(name) + 1] : otherwise);
const port = Number(option("--port", "8471"));
const count = words.includes("--empty") ? 0 : Number(option("--jobs", "10000"));
const dist = option("--dist", join(dirname(fileURLToPath(import.meta.url)), "..", "dist"));
const token = "fake";
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

let seed = 7;
const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
const pick = (list) => list[Math.floor(random() * list.length)];
const now = () => Date.now() / 1000;

// --- jobs ---

const kinds = [
  { name: "digits", image: "debian-torch", ranks: 2, nodes: 1, steps: 30 },
  { name: "gan3d", image: "hpc-torch", ranks: 16, nodes: 4, steps: 4000 },
  { name: "calorimeter-resnet", image: "hpc-torch:mpich", ranks: 384, nodes: 8, steps: 12500 },
  { name: "tagger", image: "hpc-tf", ranks: 8, nodes: 2, steps: 900 },
];
const owners = ["anna", "björn", "chiara", "dmitri"];
const reasons = [
  "supermuc general: needs 4 nodes, and all 792 are busy; 3 jobs are before it",
  "no site has an image hpc-torch for aarch64 with MPI of the MPICH family; remedy: longship image build -t hpc-torch --for juwels",
  "juwels has been silent since 02:14; here: needs 90 GiB of memory per node, the node has 16 GiB",
];
const jobs = [];
const details = new Map();

function addJob(index, at) {
  const kind = kinds[index % kinds.length];
  const number = jobs.filter((job) => job.name === kind.name).length + 1;
  const draw = random();
  const recent = index >= count - 40;
  const state = recent
    ? pick(["waiting", "held", "assigned", "running", "running", "running", "finished", "failed", "cancelled"])
    : draw < 0.8
      ? "finished"
      : draw < 0.93
        ? "failed"
        : "cancelled";
  const began = !["waiting", "held"].includes(state);
  const started = began && state !== "assigned" ? at + 30 + 300 * random() : null;
  const over = ["finished", "failed", "cancelled"].includes(state);
  const step = state === "finished" ? kind.steps : Math.floor(kind.steps * (0.15 + 0.7 * random()));
  const job = {
    id: `${kind.name}-${number}`,
    name: kind.name,
    number,
    state,
    reason:
      {
        waiting: pick(reasons),
        held: "held by anna",
        assigned: "supermuc: queued: Priority",
        failed: "rank 3 on i01r07 was killed by signal 9: it used more than its 90 GiB of memory",
        cancelled: "cancelled by its owner",
      }[state] ?? "",
    owner: owners[(index % 7) % 4],
    team: index % 3 ? "clic" : "ml4hep",
    site: began ? (kind.name === "digits" ? "here" : "supermuc") : "",
    queue: began ? (kind.name === "digits" ? "now" : "general") : "",
    image: kind.image,
    nodes: kind.nodes,
    ranks: kind.ranks,
    submitted: at,
    started,
    ended: over && started ? started + 200 + 3000 * random() : null,
    attempt: began ? (state === "failed" ? 3 : 1) : 0,
    exit_code: state === "finished" ? 0 : state === "failed" ? 137 : null,
    progress: started
      ? {
          step,
          steps: kind.steps,
          values: { loss: loss(step, kind.steps, number), "samples/s": 4180 + 40 * Math.sin(number) },
        }
      : null,
    expected_start: state === "assigned" ? now() + 1500 : null,
  };
  jobs.push(job);
  return job;
}

const loss = (step, steps, number) => 0.18 + 2.1 * Math.exp((-5 * step) / steps) + 0.03 * Math.sin(step * 1.7 + number);

function detailsOf(job) {
  if (details.has(job.id)) return { ...job, ...details.get(job.id) };
  const attempts = [];
  const events = [{ at: job.submitted, what: `submitted by ${job.owner}`, attempt: 0 }];
  for (let number = 1; number <= job.attempt; ++number) {
    const last = number === job.attempt;
    const created = job.submitted + (number - 1) * 90 + 2;
    const started = last ? job.started : created + 20;
    const ended = last ? job.ended : created + 80;
    const outcome = last ? (job.ended ? job.state : null) : number === 1 ? "lost" : "failed";
    const nodes = Array.from({ length: job.nodes }, (_, i) =>
      job.site === "here" ? "localhost" : `i01r0${number}c0${i + 1}`,
    );
    attempts.push({
      number,
      site: job.site,
      queue: job.queue,
      state: started ? "running" : "queued",
      outcome,
      reason: last ? job.reason : "the node was lost",
      pilot: "p0123456789ab",
      batch_job: String(880120 + number),
      nodes,
      ranks: job.ranks,
      created,
      started,
      ended,
      exit_code: last ? job.exit_code : null,
      outputs:
        outcome === "finished"
          ? [
              { name: "model.pt", size: 763_211_004 },
              { name: "metrics.jsonl", size: 48_213 },
            ]
          : [],
    });
    events.push({ at: created, what: `given to ${job.site}, queue ${job.queue}`, attempt: number });
    events.push({ at: created + 1, what: "image and code are being brought", attempt: number });
    events.push({ at: created + 4, what: `waits in the batch system as job ${880120 + number}`, attempt: number });
    if (started)
      events.push({ at: started, what: `started on ${nodes.length} nodes, ${job.ranks} ranks`, attempt: number });
    if (ended)
      events.push({
        at: ended,
        what:
          outcome === "finished"
            ? "finished: exit code 0, 2 files kept"
            : outcome === "lost"
              ? "lost: node i01r01c02 does not answer; a new attempt follows"
              : job.reason || "failed with exit code 1",
        attempt: number,
      });
  }
  const found = {
    code: { digest: "sha256:" + "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", size: 184_220 },
    spec: {
      version: 1,
      name: job.name,
      image: job.image,
      command: ["python3", "train.py", "--epochs", "3"],
      code: "/home/anna/gan3d",
      launch: "ranks",
      account: "ml4hep",
      env: { OMP_PROC_BIND: "close" },
      needs: {
        nodes: job.nodes,
        ranks_per_node: job.ranks / job.nodes,
        threads_per_rank: 12,
        gpus_per_rank: 0,
        memory_per_node: 96636764160,
        walltime: "2h",
      },
      data: [{ dataset: "clic/calorimeter@v2", at: "/data/calorimeter", stage: "node" }],
      checkpoint: { every: "10m", keep: 3 },
      outputs: { keep: ["model.pt", "metrics.jsonl"] },
      retry: { crashes: 3 },
    },
    attempts,
    events,
  };
  return { ...job, ...found };
}

const sites = words.includes("--empty")
  ? []
  : [
      {
        name: "here",
        state: "up",
        since: now() - 86400 * 3,
        condition: "",
        batch: "local",
        arch: "x86_64",
        cores: 8,
        memory: 16_600_000_000,
        gpus: 0,
        version: "0.1.0",
        queues: [{ name: "now", max_nodes: 1, max_walltime: null, waiting: 0, running: 2 }],
      },
      {
        name: "supermuc",
        state: "up",
        since: now() - 7400,
        condition: "",
        batch: "slurm",
        arch: "x86_64",
        cores: 48,
        memory: 96_000_000_000,
        gpus: 0,
        version: "0.1.0",
        queues: [
          { name: "general", max_nodes: 792, max_walltime: 172800, waiting: 5, running: 9 },
          { name: "micro", max_nodes: 16, max_walltime: 172800, waiting: 0, running: 1 },
        ],
      },
      {
        name: "juwels",
        state: "silent",
        since: now() - 5200,
        condition: "slurmctld does not answer",
        batch: "slurm",
        arch: "x86_64",
        cores: 96,
        memory: 512_000_000_000,
        gpus: 4,
        version: "0.1.0",
        queues: [{ name: "booster", max_nodes: 384, max_walltime: 86400, waiting: 2, running: 0 }],
      },
      {
        name: "deep",
        state: "never",
        since: null,
        condition: "",
        batch: "",
        arch: "",
        cores: 0,
        memory: 0,
        gpus: 0,
        version: "",
        queues: [],
      },
    ];
const begin = now();
for (let i = 0; i < count; ++i) addJob(i, begin - (count - i) * 47);

// --- what goes on ---

let lastEvent = 1000;
const streams = new Set();
function tell(kind, value) {
  const text = `id: ${++lastEvent}\nevent: ${kind}\ndata: ${JSON.stringify(value)}\n\n`;
  for (const stream of streams) stream.write(text);
}
setInterval(() => {
  for (const job of jobs.slice(-40)) {
    if (job.state !== "running" || !job.progress) continue;
    const { progress } = job;
    progress.step = Math.min(progress.steps, progress.step + Math.max(1, Math.floor(progress.steps / 600)));
    progress.values = {
      loss: loss(progress.step, progress.steps, job.number),
      "samples/s": 4180 + 60 * Math.sin(progress.step),
    };
    if (progress.step === progress.steps) Object.assign(job, { state: "finished", ended: now(), exit_code: 0 });
    tell("job", job);
  }
}, 1000).unref();
setInterval(() => {
  for (const stream of streams) stream.write(": here\n\n");
}, 15000).unref();

// --- answers ---

function list(query) {
  const has = (name) => query.get(name) ?? "";
  const text = has("text").toLowerCase();
  const counts = {};
  const found = [];
  for (let i = jobs.length - 1; i >= 0; --i) {
    const job = jobs[i];
    if (["name", "owner", "site", "team"].some((name) => has(name) && has(name) !== job[name])) continue;
    if (text && ![job.id, job.owner, job.site, job.image, job.reason].some((one) => one.toLowerCase().includes(text)))
      continue;
    counts[job.state] = (counts[job.state] ?? 0) + 1;
    if (!has("state") || has("state") === job.state) found.push(job);
  }
  const from = has("before") ? found.findIndex((job) => job.id === has("before")) + 1 : 0;
  return { jobs: found.slice(from, from + Number(has("limit") || 100)), total: found.length, counts };
}

function why(job) {
  return {
    job: job.id,
    state: job.state,
    reason: job.reason,
    places: [
      {
        site: "here",
        queue: "now",
        fits: job.nodes <= 1,
        reason: job.nodes <= 1 ? "" : `needs ${job.nodes} nodes, the queue has 1`,
      },
      {
        site: "supermuc",
        queue: "general",
        fits: job.nodes > 4,
        reason: job.nodes > 4 ? "all nodes are busy; expected to start in 25 min" : "accepts only nodes >= 17",
      },
      { site: "supermuc", queue: "micro", fits: true, reason: "3 jobs are before it" },
      { site: "juwels", queue: "booster", fits: false, reason: "the site has been silent since 02:14" },
    ],
  };
}

function metrics(job, points) {
  const { step, steps } = job.progress;
  const every = Math.max(1, Math.ceil(step / points));
  const at = [];
  for (let s = 1; s <= step; s += every) at.push(s);
  const seconds = (s) => Number((s * 0.9).toFixed(2));
  return {
    steps,
    series: [
      { name: "loss", points: at.map((s) => [s, seconds(s), Number(loss(s, steps, job.number).toFixed(4))]) },
      {
        name: "samples/s",
        points: at.map((s) => [s, seconds(s), Math.round(4180 + 90 * Math.sin(s / 9) - (s % 97 === 0 ? 900 : 0))]),
      },
    ],
  };
}

function report(job) {
  const by_rank = Array.from({ length: job.ranks }, (_, rank) => {
    const slow = rank === Math.min(5, job.ranks - 1) ? 8 : 0;
    const compute = 150 + 3 * Math.sin(rank) + slow;
    const communication = 12 + Math.cos(rank);
    const input = 4 + (rank % 3);
    return {
      rank,
      node: `i01r01c${1 + Math.floor(rank / 48)}`,
      seconds: {
        compute,
        communication,
        waiting: 180 - compute - communication - input,
        input,
        checkpoint: 0,
        other: 0,
      },
      arrived_last: slow ? 590 : 3,
      others_waited_seconds: slow ? 96.4 : 0.4,
    };
  });
  const seconds = {};
  for (const rank of by_rank)
    for (const [name, value] of Object.entries(rank.seconds)) seconds[name] = (seconds[name] ?? 0) + value;
  return {
    version: 1,
    ranks: job.ranks,
    interval_seconds: 180,
    steps: job.progress.step,
    seconds,
    collectives: { count: 812, median_bytes: 26214400, moving_seconds: 40, hidden_seconds: 31 },
    metrics: job.progress.values,
    by_rank,
    advice: ["rank 5 computes 5 % longer than the others: look at its node i01r01c1, or give it less to do"],
    problems: [],
  };
}

function logText(job, rank, stream) {
  if (stream === "err")
    return Buffer.from(rank === 0 ? "warning: the learning rate is large for this batch size\n" : "");
  let text = `rank ${rank} of ${job.ranks} on ${job.site}\n`;
  const step = job.progress?.step ?? 0;
  for (let s = 1; s <= step; ++s)
    text += `step ${s}/${job.progress.steps} loss ${loss(s, job.progress.steps, job.number).toFixed(4)} lr 3.0e-03${s % 100 ? "" : "  checkpoint written"}\n`;
  return Buffer.from(text);
}

const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};
let downUntil = 0;

const server = createServer((request, response) => {
  const url = new URL(request.url, "http://fake");
  const send = (status, body, type = "application/json", headers = {}) => {
    response.writeHead(status, { "Content-Type": type, ...headers });
    response.end(typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body));
  };
  const fail = (status, error) => send(status, { error });
  if (url.pathname === "/fake/down") {
    downUntil = now() + Number(url.searchParams.get("seconds") ?? 5);
    send(200, {});
    for (const stream of streams) stream.destroy();
    return;
  }
  if (!url.pathname.startsWith("/v1/")) {
    const file = join(dist, url.pathname);
    const found = extname(file) && existsSync(file) ? file : join(dist, "index.html");
    return send(200, readFileSync(found), types[extname(found)] ?? "application/octet-stream", {
      "Content-Security-Policy": policy,
    });
  }
  if (now() < downUntil) return request.destroy();
  if (request.headers.authorization !== `Bearer ${token}`)
    return fail(401, "the hub does not know this token; longship up prints the address with the right one");
  if (url.pathname === "/v1/events") {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    response.write(": here\n\n");
    streams.add(response);
    return response.on("close", () => streams.delete(response));
  }
  if (url.pathname === "/v1/sites") return send(200, { sites });
  if (url.pathname === "/v1/jobs") return send(200, list(url.searchParams));
  const [, , , id, what, name] = url.pathname.split("/").map(decodeURIComponent);
  const job = jobs.find((one) => one.id === id);
  if (!job) return fail(404, `there is no job ${id}; longship jobs lists them`);
  if (request.method === "POST") {
    const state = { cancel: "cancelled", hold: "held", release: "waiting", retry: "waiting" }[what];
    Object.assign(job, {
      state,
      reason: state === "waiting" ? "the next site that fits takes it" : `${state} by its owner`,
      ended: what === "cancel" ? now() : null,
    });
    tell("job", job);
    return send(200, job);
  }
  if (what === undefined) return send(200, detailsOf(job));
  if (what === "why") return send(200, why(job));
  if (!job.progress) return fail(404, `${id} has not started yet`);
  if (what === "metrics") return send(200, metrics(job, Number(url.searchParams.get("points") ?? 500)));
  if (what === "report") return send(200, report(job));
  if (what === "files") return send(200, `the bytes of ${name}\n`, "application/octet-stream");
  if (what === "log") {
    const all = logText(job, Number(url.searchParams.get("rank") ?? 0), url.searchParams.get("stream") ?? "out");
    const asked = Number(url.searchParams.get("from") ?? 0);
    const from = asked < 0 ? Math.max(0, all.length + asked) : Math.min(asked, all.length);
    const part = all.subarray(from, from + Number(url.searchParams.get("length") ?? 65536));
    return send(200, part, "application/octet-stream", {
      "X-Longship-From": String(from),
      "X-Longship-Size": String(all.length),
    });
  }
  fail(404, `there is nothing at ${url.pathname}`);
});
server.on("connection", (socket) => {
  if (now() < downUntil) socket.destroy();
});
server.listen(port, "127.0.0.1", () => console.log(`a fake hub: http://127.0.0.1:${port}/#token=${token}`));
