#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a rank costs that waits: processor time of two ranks that have trained and now sleep, beside Horovod's.

All threads of a process count, from its own clock; the share of a core is the larger one of the two ranks.
"""
import json
import sys
import time

import lib_peers as peers
from lib import Bench
from lib_allreduce import KINDS

RANKS = 2


def worker(kind, seconds):
    """One rank: some work, then nothing; prints the share of a core at each rank."""
    import torch
    torch.set_num_threads(1)
    library = KINDS[kind]()
    data = torch.ones(1 << 20)
    for _ in range(10):
        library.allreduce(data)
    time.sleep(0.5)  # until the threads have noticed
    before, begin = time.process_time(), time.perf_counter()
    time.sleep(seconds)
    share = (time.process_time() - before) / (time.perf_counter() - begin)
    print(f" {json.dumps(share)}\n", end="", flush=True)  # in one write, and apart even if a launcher mixes lines
    library.barrier()
    library.stop()


def options(parser):
    parser.add_argument("--seconds", type=float, default=4, help="how long they are idle")
    parser.add_argument("--no-horovod", action="store_true", help="without Horovod, which has to be built")


def main():
    bench = Bench(__doc__, options)
    words = [__file__, "--worker"]
    seconds = bench.options.seconds

    def share(command):
        return max(float(word) for word in peers.output(command).split())

    runs = {"ours": lambda: share(peers.launched(RANKS, peers.PYTHON, *words, "private", seconds))}
    horovod = None if bench.options.no_horovod else peers.horovod_python(bench.say)
    if horovod:
        runs["horovod"] = lambda: share(peers.mpirun("openmpi", RANKS, horovod, *words, "horovod", seconds))
    medians = bench.interleave(runs)
    bench.absolute("an idle rank", medians["ours"] * 100, "% of a core", at_most=0.5)
    if horovod:
        bench.figure("an idle rank: ours / Horovod", medians["ours"] * 100, medians["horovod"] * 100, "% of a core")
    bench.end()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], float(sys.argv[3]))
    else:
        main()
