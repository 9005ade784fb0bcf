#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduce of fp32 in place on one node, beside Open MPI, MPICH, gloo, Horovod, and what memory allows at best.

Each is timed at rank 0: fill, barrier, timed call; the median of many calls, and of several rounds in which all take
turns. A ratio is the median of those of the rounds: how far two virtual cores are from each other changes within
seconds, by a factor of three, and what runs within one of them compares. Small sizes therefore have rounds of their own,
which are short, and more of them. C is measured from C: Open MPI (as it comes, and with mpi_yield_when_idle), MPICH, and the floor, a program that
has its tensors in shared memory and does nothing but add. Python is measured from Python, on torch's tensors: gloo, and
Horovod over MPI with mpi_yield_when_idle. Ours has its tensors in longship's memory ("ours") or anywhere ("private").
"""
import json
import os
import statistics

import lib_peers as peers
from lib import Bench
from lib_allreduce import calls

KIB, MIB = 1 << 10, 1 << 20
SIZES = [KIB, 16 * KIB, 64 * KIB, MIB, 16 * MIB, 64 * MIB, 256 * MIB]
QUICK_SIZES = [KIB, 64 * KIB, MIB, 64 * MIB]
LARGE = 64 * MIB
SMALL = 16 * KIB
SHORT, MORE_ROUNDS = MIB, 5  # up to this size, so many times as many


def named(size):
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"


def with_calls(sizes):
    return [str(word) for size in sizes for word in (size, calls(size))]


class Parties:
    """Who is measured: each runs once through some sizes and returns {size: seconds}."""

    def __init__(self, bench):
        self.first = ["chrt", "-f", "10"] if bench.options.realtime else []
        self.ours = peers.our_program("allreduce_call.c")
        self.floor = peers.compiled("allreduce_floor.c", "allreduce_floor", "cc", "-O3", "-march=native")
        self.mpi = peers.mpi_programs("allreduce_call.c")
        self.horovod = None if bench.options.no_horovod else peers.horovod_python(bench.say)
        for flavour in {"openmpi", "mpich"} - set(self.mpi):
            bench.say(f"{flavour} is not installed: not compared")

    def c(self, sizes, *words, **variables):
        said = peers.output([*self.first, *words, *with_calls(sizes)], **variables)
        return {int(size): float(seconds) for size, seconds in (line.split() for line in said.splitlines())}

    def python(self, sizes, *words, kind, **variables):
        said = peers.output([*self.first, *words, peers.REPOSITORY / "bench" / "lib_allreduce.py", kind, *sizes], **variables)
        return {int(size): seconds for size, seconds in json.loads(said.splitlines()[-1]).items()}

    def of_c(self, ranks, sizes):
        runs = {
            "ours": lambda: self.c(sizes, *peers.launched(ranks, self.ours)),
            "private": lambda: self.c(sizes, *peers.launched(ranks, self.ours), LONGSHIP_BENCH_MEMORY="private"),
            "floor": lambda: self.c(sizes, self.floor, ranks),
        }
        if "openmpi" in self.mpi:
            runs["Open MPI"] = lambda: self.c(sizes, *peers.mpirun("openmpi", ranks, self.mpi["openmpi"], tuned=False))
            runs["Open MPI tuned"] = lambda: self.c(sizes, *peers.mpirun("openmpi", ranks, self.mpi["openmpi"]))
        # Before all others it would never let its own ranks run, where they share a core.
        if "mpich" in self.mpi and not (self.first and ranks > len(os.sched_getaffinity(0))):
            runs["MPICH"] = lambda: self.c(sizes, *peers.mpirun("mpich", ranks, self.mpi["mpich"]))
        return runs

    def of_python(self, ranks, sizes):
        runs = {kind: lambda kind=kind: self.python(sizes, *peers.launched(ranks, peers.PYTHON), kind=kind)
                for kind in ("shared", "private", "gloo")}
        if self.horovod:
            runs["horovod"] = lambda: self.python(sizes, *peers.mpirun("openmpi", ranks, self.horovod), kind="horovod")
        return runs


def goals_in_c(size, ranks, peer):
    """The bounds on ours / peer: of what lies in our memory, of what is private."""
    if peer == "floor":
        return 1.3, None
    if not peer.startswith("Open MPI"):
        return None, None
    if ranks > 2:
        return (1 / 6, 1 / 3.5) if size == LARGE else (1.0, None)
    return (1 / 2, 1 / 1.5) if size >= LARGE else (1.0, None)


def goals_in_python(size, ranks, peer):
    if size <= SMALL and ranks == 2:
        return 1 / 50, None
    if size < LARGE:
        return None, None
    if ranks > 2:
        return 1 / 6, 1 / 3.5
    return (1 / 1.9, 1 / 1.5) if peer == "horovod" else (1 / 3, None)


def report(bench, language, ranks, rounds, ours, goals):
    """Ours in our memory and ours in private memory beside each of the others, size by size."""
    for size in rounds[ours][0]:
        times = {party: [each[size] for each in measured] for party, measured in rounds.items()}
        for peer in times:
            if peer in (ours, "private"):
                continue
            for where, bound in zip((ours, "private"), goals(size, ranks, peer)):
                ratio = statistics.median(mine / other for mine, other in zip(times[where], times[peer]))
                bench.ratio(f"{language}, {ranks} ranks, {named(size)}: {'ours' if where == ours else where} / {peer}",
                            statistics.median(times[where]) * 1e6, statistics.median(times[peer]) * 1e6, "us", ratio,
                            None if bound is None else f"<= {bound:.3g} x", None if bound is None else ratio <= bound)


def options(parser):
    parser.add_argument("--quick", action="store_true", help="few sizes")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--only", choices=["C", "Python"], help="measured from one language")
    parser.add_argument("--no-horovod", action="store_true", help="without Horovod, which has to be built")
    parser.add_argument("--realtime", action="store_true", help="all parties before other processes (chrt): on a busy machine")


def main():
    bench = Bench(__doc__, options)
    sizes = QUICK_SIZES if bench.options.quick else SIZES
    short, long = [size for size in sizes if size <= SHORT], [size for size in sizes if size > SHORT]
    parties = Parties(bench)
    for ranks in bench.options.ranks:
        if bench.options.only != "Python":
            for some, rounds in ((short, MORE_ROUNDS * bench.options.rounds), (long, bench.options.rounds)):
                report(bench, "C", ranks, bench.interleave_rounds(parties.of_c(ranks, some), rounds), "ours", goals_in_c)
        if bench.options.only != "C":  # a process that imports torch takes longer than all sizes
            report(bench, "Python", ranks, bench.interleave_rounds(parties.of_python(ranks, sizes)), "shared", goals_in_python)
    bench.end()


if __name__ == "__main__":
    main()
