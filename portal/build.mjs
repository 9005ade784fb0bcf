// SPDX-License-Identifier: Apache-2.0
// Makes the portal, and the C++ file that carries it: node build.mjs DIRECTORY FILE.cpp
//
// cmake/portal.cmake calls this beneath a lock, since several build directories share node_modules. Packages are
// installed when package-lock.json is another one than last time; everything here is deterministic.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, extname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const [directory, file] = process.argv.slice(2);
const javascriptLimit = 60_000; // bytes, compressed: the whole portal's

const types = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");

function fail(sentence) {
  console.error(`portal: ${sentence}`);
  process.exit(1);
}

function run(program, words) {
  const { status, error, stdout, stderr } = spawnSync(program, words, { cwd: here, encoding: "utf8" });
  if (error) fail(`cannot run ${program}: ${error.message}; ./dev setup installs what is missing`);
  if (status !== 0) fail(`${program} ${words.join(" ")} failed:\n${stdout}${stderr}`);
}

function install() {
  const wanted = digest(readFileSync(join(here, "package-lock.json")));
  const stamp = join(here, "node_modules", ".longship-lock");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  run("npm", ["ci", "--no-audit", "--no-fund"]);
  writeFileSync(stamp, wanted);
}

function filesBeneath(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBeneath(path) : [path];
  });
}

function packed(root) {
  return filesBeneath(root)
    .map((path) => {
      const type = types[extname(path)] ?? fail(`${path}: build.mjs knows no type for its ending`);
      const bytes = readFileSync(path);
      const gzip = gzipSync(bytes, { level: 9 });
      gzip[9] = 255; // which system compressed it is nobody's business
      return { path: `/${relative(root, path)}`, type, etag: `"${digest(bytes).slice(0, 32)}"`, gzip };
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function source(files) {
  const lines = [
    "// Made by portal/build.mjs.",
    '#include "hub/portal_files.h"',
    "",
    "#include <array>",
    "",
    "namespace longship::hub {",
    "namespace {",
    "",
  ];
  files.forEach(({ gzip }, i) => {
    lines.push(`constexpr unsigned char file_${i}[] = {`);
    for (let at = 0; at < gzip.length; at += 32) lines.push(`${[...gzip.subarray(at, at + 32)].join(",")},`);
    lines.push("};");
  });
  lines.push("", `constexpr std::array<PortalFile, ${files.length}> files{{`);
  files.forEach(({ path, type, etag }, i) =>
    lines.push(`    {${[path, type, etag].map((text) => JSON.stringify(text)).join(", ")}, file_${i}},`),
  );
  lines.push(
    "}};",
    "",
    "}  // namespace",
    "",
    "std::span<const PortalFile> portal_files() {",
    "  return files;",
    "}",
    "",
    "}  // namespace longship::hub",
    "",
  );
  return lines.join("\n");
}

if (!directory || !file) fail("two arguments are needed: where to build, and the C++ file to write");
install();
run("node", [
  join("node_modules", "vite", "bin", "vite.js"),
  "build",
  "--outDir",
  directory,
  "--emptyOutDir",
  "--logLevel",
  "warn",
]);
const files = packed(directory);
const javascript = files.filter(({ path }) => path.endsWith(".js")).reduce((sum, { gzip }) => sum + gzip.length, 0);
if (javascript > javascriptLimit) fail(`${javascript} bytes of compressed JavaScript: the limit is ${javascriptLimit}`);
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, source(files));
