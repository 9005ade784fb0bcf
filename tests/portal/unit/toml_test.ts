// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { toToml } from "../../../portal/src/job/toml";

test("a job is written as the file it came from", () => {
  const spec = {
    version: 1,
    name: "gan3d",
    command: ["python3", "-c", 'print("a\\b")\n'],
    env: { OMP: "1", "odd key": "é" },
    needs: { nodes: 2, walltime: "2h" },
    data: [
      { dataset: "clic/x@v2", at: "/data" },
      { dataset: "/y", at: "/y" },
    ],
    checkpoint: null,
    outputs: { keep: [] },
    empty: {},
  };
  assert.equal(
    toToml(spec),
    [
      "version = 1",
      'name = "gan3d"',
      String.raw`command = ["python3", "-c", "print(\"a\\b\")\n"]`,
      "",
      "[env]",
      'OMP = "1"',
      '"odd key" = "é"',
      "",
      "[needs]",
      "nodes = 2",
      'walltime = "2h"',
      "",
      "[[data]]",
      'dataset = "clic/x@v2"',
      'at = "/data"',
      "",
      "[[data]]",
      'dataset = "/y"',
      'at = "/y"',
      "",
      "[outputs]",
      "keep = []",
      "",
    ].join("\n"),
  );
});
