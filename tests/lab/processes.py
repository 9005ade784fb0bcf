# SPDX-License-Identifier: Apache-2.0
"""The processes that a test started, and what they started: found by a mark in their environment."""

import os
import signal
from pathlib import Path


def marked_processes(mark):
    """Processes with this text in their environment: a mark set for one test finds all its descendants."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
                if state != "Z":
                    found.append(f"{entry.name} {command}")
        except OSError:
            pass  # it ended meanwhile, or is somebody else's
    return found


def kill(processes):
    """By lines of marked_processes()."""
    for line in processes:
        try:
            os.kill(int(line.split()[0]), signal.SIGKILL)
        except ProcessLookupError:
            pass  # it died with the one before
