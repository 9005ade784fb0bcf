# SPDX-License-Identifier: Apache-2.0
"""The newest torch from Python's package index, beside Debian's: an environment in .tools, made when it is first asked for.

    tests/lab/newest_torch.py        makes it now
"""
import shutil
import subprocess
import sys
from pathlib import Path

ENVIRONMENT = Path(__file__).resolve().parents[2] / ".tools" / "newest-torch"
ROOM = 12 << 30  # bytes: the wheels for machines with GPUs, and what they are unpacked to


def newest_torch():
    """Its interpreter. RuntimeError says why there is none."""
    done = ENVIRONMENT / ".done"
    if not done.exists():
        ENVIRONMENT.parent.mkdir(exist_ok=True)
        free = shutil.disk_usage(ENVIRONMENT.parent).free
        if free < ROOM:
            raise RuntimeError(f"{ENVIRONMENT} needs {ROOM >> 30} GiB, and {free >> 30} are free")
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        _run("/usr/bin/python3", "-m", "venv", ENVIRONMENT)
        _run(ENVIRONMENT / "bin" / "pip", "install", "--quiet", "--no-cache-dir", "--disable-pip-version-check", "torch", "numpy")
        done.touch()
    return ENVIRONMENT / "bin" / "python"


def _run(*words):
    ended = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if ended.returncode != 0:
        raise RuntimeError(f"{words[0]}: {ended.stderr.strip()}")


if __name__ == "__main__":
    try:
        print(newest_torch())
    except RuntimeError as why:
        sys.exit(str(why))
