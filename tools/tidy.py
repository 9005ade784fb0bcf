#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tidy.py BUILD [FILTER]: clang-tidy over the sources that BUILD compiles from src/, as many at once as there are cores.

A source that was clean, and neither it nor a header of ours nor the configuration changed since, is not looked at again:
BUILD/tidy.json remembers. At the end: how many files, which checks found how much.
"""

import collections
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FINDING = re.compile(r"^(/\S+?):(\d+):\d+: (?:warning|error): (.*) \[([\w.,-]+)\]$")


def sources(build, wanted):
    """With the command that compiles each: a change of options is a reason to look again."""
    compiled = json.loads((build / "compile_commands.json").read_text())
    found = {entry["file"]: entry["command"] for entry in compiled}
    inside = str(ROOT / "src") + "/"
    return {file: command for file, command in sorted(found.items()) if file.startswith(inside) and wanted in file}


def common_state():
    """What every source depends on; headers are few and change seldom, so all of them count for all."""
    state = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for header in sorted((ROOT / "src").rglob("*.h")):
        state.update(header.read_bytes())
    return state


def key_of(file, command, common):
    state = common.copy()
    state.update(command.encode() + Path(file).read_bytes())
    return state.hexdigest()


def look(build, file):
    done = subprocess.run(["clang-tidy", "-p", build, "--quiet", file], capture_output=True, text=True)
    findings = [match.groups() for line in done.stdout.splitlines() if (match := FINDING.match(line))]
    if done.returncode != 0 and not findings:
        findings = [(file, "1", (done.stdout + done.stderr).strip()[-500:], "clang-tidy")]
    return findings, done.stdout


def main():
    build = Path(sys.argv[1])
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    memory = build / "tidy.json"
    clean = json.loads(memory.read_text()) if memory.exists() else {}
    common = common_state()
    files = sources(build, wanted)
    keys = {file: key_of(file, command, common) for file, command in files.items()}
    todo = [file for file in files if clean.get(file) != keys[file]]
    start, all_findings = time.monotonic(), set()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, (findings, text) in zip(todo, pool.map(lambda one: look(build, one), todo)):
            if not findings:
                clean[file] = keys[file]
                continue
            if not set(findings) <= all_findings:  # a header's are found by everyone who includes it
                print(text.strip(), flush=True)
            all_findings |= set(findings)
    memory.write_text(json.dumps(clean, indent=1))
    print(f"clang-tidy: {len(files)} files, {len(todo)} looked at in {time.monotonic() - start:.0f} s, "
          f"{len(all_findings)} findings")
    for check, count in collections.Counter(check for *_, check in all_findings).most_common():
        print(f"  {count:4d} {check}")
    return 1 if all_findings else 0


if __name__ == "__main__":
    sys.exit(main())
