// SPDX-License-Identifier: Apache-2.0
// Bundles *_test.ts with the portal's own esbuild, and runs them with node's own runner: node unit/run.mjs
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const portal = join(here, "..", "..", "..", "portal");
const { buildSync } = createRequire(join(portal, "package.json"))("esbuild");
const out = mkdtempSync(join(tmpdir(), "longship-portal-"));
try {
  const tests = readdirSync(here)
    .filter((name) => name.endsWith("_test.ts"))
    .map((name) => join(here, name));
  if (tests.length === 0) throw new Error("there are no tests here");
  buildSync({
    entryPoints: tests,
    outdir: out,
    bundle: true,
    platform: "node",
    format: "esm",
    outExtension: { ".js": ".mjs" },
    jsx: "automatic",
    jsxImportSource: "preact",
    nodePaths: [join(portal, "node_modules")],
    banner: {
      js: "globalThis.window ??= globalThis; globalThis.addEventListener ??= () => {}; globalThis.location ??= { pathname: '/', search: '', hash: '' };",
    },
  });
  const files = readdirSync(out).map((name) => join(out, name));
  process.exitCode = spawnSync("node", ["--test", ...files], { stdio: "inherit" }).status;
} finally {
  rmSync(out, { recursive: true });
}
