// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job, JobDetails, Report } from "../../../portal/src/api/types";
import { expectedEnd } from "../../../portal/src/job/header";
import { slowestRank } from "../../../portal/src/job/rank_times";
import { mainMetric } from "../../../portal/src/jobs/metric";
import { matches, merge } from "../../../portal/src/jobs/pages";
import { visibleRows } from "../../../portal/src/parts/virtual";
import { onePerName } from "../../../portal/src/sites/places";

function job(number: number, changes: Partial<Job> = {}): Job {
  return {
    id: `digits-${number}`,
    name: "digits",
    number,
    state: "waiting",
    reason: "",
    owner: "anna",
    team: "clic",
    site: "",
    queue: "",
    image: "debian-torch",
    nodes: 1,
    ranks: 2,
    submitted: 1000 + number,
    started: null,
    ended: null,
    attempt: 0,
    exit_code: null,
    progress: null,
    expected_start: null,
    ...changes,
  };
}
const ids = (jobs: Job[]) => jobs.map((one) => one.number);

test("a job that changed stays in its place", () => {
  const { jobs, added } = merge([job(3), job(2), job(1)], [job(2, { state: "running" })], {}, 3);
  assert.deepEqual(ids(jobs), [3, 2, 1]);
  assert.equal(jobs[1]!.state, "running");
  assert.equal(added, 0);
});

test("a job that no longer matches the filter goes", () => {
  const { jobs, added } = merge([job(3), job(2)], [job(2, { state: "running" })], { state: "waiting" }, 2);
  assert.deepEqual(ids(jobs), [3]);
  assert.equal(added, -1);
});

test("a new job comes first", () => {
  const { jobs, added } = merge([job(2), job(1)], [job(4), job(3)], {}, 2);
  assert.deepEqual(ids(jobs), [4, 3, 2, 1]);
  assert.equal(added, 2);
});

test("a job further down than anybody has looked is not put in", () => {
  const { jobs, added } = merge([job(90), job(89)], [job(3, { state: "running" })], {}, 90);
  assert.deepEqual(ids(jobs), [90, 89]);
  assert.equal(added, 0);
});

test("jobs submitted in one second are ordered by their numbers", () => {
  const { jobs } = merge([job(1, { submitted: 5 })], [job(2, { submitted: 5 }), job(3, { submitted: 5 })], {}, 1);
  assert.deepEqual(ids(jobs), [3, 2, 1]);
});

test("filters are all to match", () => {
  assert.ok(matches(job(1), { state: "waiting", owner: "anna", text: "digits-1" }));
  assert.ok(!matches(job(1), { state: "waiting", owner: "björn" }));
  assert.ok(!matches(job(1), { text: "gan3d" }));
});

test("loss is the main metric, a rate only if there is nothing else", () => {
  assert.equal(mainMetric({ "samples/s": 1, accuracy: 1, loss: 1 }), "loss");
  assert.equal(mainMetric({ "samples/s": 1, val_loss: 1 }), "val_loss");
  assert.equal(mainMetric({ "samples/s": 1, accuracy: 1 }), "accuracy");
  assert.equal(mainMetric({ "samples/s": 1 }), "samples/s");
  assert.equal(mainMetric({}), null);
});

test("only rows in sight are drawn, with some to spare", () => {
  assert.deepEqual(visibleRows(0, 360, 36, 10_000, 5), { first: 0, end: 15 });
  assert.deepEqual(visibleRows(36_000, 360, 36, 10_000, 5), { first: 995, end: 1015 });
  assert.deepEqual(visibleRows(359_640, 360, 36, 10_000, 5), { first: 9985, end: 10_000 });
  assert.deepEqual(visibleRows(-500, 860, 36, 3, 5), { first: 0, end: 3 });
  assert.deepEqual(visibleRows(0, 360, 36, 0, 5), { first: 0, end: 0 });
});

test("the expected end goes on as it began", () => {
  const running = {
    ...job(1, { state: "running", started: 100, progress: { step: 25, steps: 100, values: {} } }),
  } as JobDetails;
  assert.equal(expectedEnd(running, 200), 500);
  assert.equal(expectedEnd({ ...running, state: "finished" }, 200), null);
  assert.equal(expectedEnd({ ...running, progress: { step: 25, steps: 0, values: {} } }, 200), null);
});

test("the slowest rank is the one the others waited for", () => {
  const rank = (number: number, waited: number) => ({
    rank: number,
    node: "n",
    seconds: {},
    arrived_last: 0,
    others_waited_seconds: waited,
  });
  const report = (...waits: number[]) => ({ by_rank: waits.map((waited, i) => rank(i, waited)) }) as Report;
  assert.equal(slowestRank(report(0.1, 5, 0.2))?.rank, 1);
  assert.equal(slowestRank(report(0, 0)), null);
  assert.equal(slowestRank(report(3)), null);
});

test("one job of each name is asked about", () => {
  assert.deepEqual(
    onePerName([job(3), job(2), job(1, { name: "gan3d" })]).map((one) => one.name),
    ["digits", "gan3d"],
  );
});
