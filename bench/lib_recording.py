# SPDX-License-Identifier: Apache-2.0
"""What an entry of a recording costs the script that makes it. Run as a program it measures, and prints JSON."""
import json
import os
import subprocess
import sys
import timeit

from lib import scratch_directory
from lib_peers import LIBRARY, PYTHON


def costs():
    """ns of a span and of a step's metrics, from Python."""
    with scratch_directory() as directory:
        done = subprocess.run([PYTHON, __file__], capture_output=True, text=True,
                              env=os.environ | {"LONGSHIP_RECORD": str(directory), "PYTHONPATH": str(LIBRARY / "python")})
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    import longship
    from longship import trace

    def span():
        with trace.region("synchronize", "communication"):
            pass

    def nanoseconds(function, calls):
        return min(timeit.repeat(function, number=calls, repeat=5)) / calls * 1e9
    print(json.dumps({"a span": nanoseconds(span, 20_000), "a step": nanoseconds(lambda: longship.progress(1, 2, loss=0.5), 5_000)}))


if __name__ == "__main__":
    main()
