#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What communication leaves of a training's speed. Some 15 minutes on two free cores.

node       The 3D GAN and the ResNet of examples/ on two ranks of one thread each. In each round every candidate trains some
           steps, in turn, while the others are stopped: two processes that know nothing of each other (the bound), two
           such that keep the memory they free, as longship.torch lets a process do (a harder bound: what is lost against
           it is lost by communicating), two that have nothing to tell each other but meet before each step (what synchrony
           costs on a machine whose cores are not always equally fast, whoever communicates), longship.torch, PyTorch's
           DistributedDataParallel over gloo, and Horovod over Open MPI, as it comes and tuned (mpi_yield_when_idle).
           Ranks are bound to cores alike. The share is bound / candidate of the same round; its mean and 95 % interval
           over all rounds are told.
recording  The same for what `longship report` needs: without it / with it, and what one entry costs.
network    A ResNet on four nodes (network namespaces, links of 1 Gb/s): the time until the loss has come down, with what
           each library has to send less. The bound is a network that costs nothing: the four ranks on one node. Needs root.
"""
import os
import statistics
import sys

from lib import Bench, interval, scratch_directory
from lib_peers import MPI_ENVIRONMENT, PYTHON, REPOSITORY, TUNED, horovod_python, launched
from lib_turns import Turns

GOALS = {"gan3d": 0.98, "resnet": 0.96}
RECORDED_GOAL = 0.99
WARM_UP = 24  # steps: in these longship.torch finds the size of its buckets
ROUNDS_OF_A_START = 3
RANK = REPOSITORY / "bench" / "lib_training.py"


def commands(horovod):
    """How two ranks of each candidate are started."""
    os.environ.update(MPI_ENVIRONMENT)
    ours = launched(2, PYTHON)
    found = {"bound": ours, "keeping": ours, "meeting": ours, "longship": ours, "ddp": ours}
    if horovod:
        mpirun = ["mpirun.openmpi", "-n", "2", "--bind-to", "core"]
        found["horovod"] = [*mpirun, horovod]
        found["horovod-tuned"] = [*mpirun, *TUNED, horovod]
    return found


def times_of(bench, starts, model):
    """Seconds per step of each candidate in each round; nobody is always first. Where a process's memory happens to lie is
    worth some percent of its speed for as long as it lives, so all are started anew now and then."""
    times = {name: [] for name in starts}
    names = list(starts)
    for first in range(0, bench.options.pairs, ROUNDS_OF_A_START):
        with scratch_directory() as directory, Turns(directory) as turns:
            for name, words in starts.items():
                turns.start(name, [*words, RANK, name, model], ranks=2)
                turns.run(name, WARM_UP)
            for number in range(first, min(first + ROUNDS_OF_A_START, bench.options.pairs)):
                at = number % len(names)
                for name in names[at:] + names[:at]:
                    times[name].append(statistics.fmean(turns.run(name, bench.options.steps)))
                bench.say(f"{model}, round {number + 1} of {bench.options.pairs}: "
                          + ", ".join(f"{name} {times[name][-1] * 1e3:.0f} ms" for name in names))
    return times


def tell(bench, title, times, name, reference, goal):
    share, low, high = interval([one / mine for one, mine in zip(times[reference], times[name], strict=True)])
    words = f"95 % in [{low:.3f}, {high:.3f}]"
    bench.ratio(title, statistics.median(times[name]) * 1e3, statistics.median(times[reference]) * 1e3, "ms/step", share,
                words if goal is None else f">= {goal}, {words}", None if goal is None else share >= goal,
                interval=[round(low, 4), round(high, 4)])


def on_a_node(bench):
    horovod = None if bench.options.without_horovod else horovod_python(bench.say)
    starts = commands(horovod)
    for model in bench.options.model or GOALS:
        times = times_of(bench, starts, model)
        for name in starts:
            if name != "bound":
                tell(bench, f"{model}: {name} of the bound", times, name, "bound", GOALS[model] if name == "longship" else None)
        for name in ("meeting", "longship"):
            tell(bench, f"{model}: {name} of the bound that keeps its memory", times, name, "keeping",
                 GOALS[model] if name == "longship" else None)


def recording(bench):
    ours = launched(2, PYTHON)
    with scratch_directory() as directory:
        os.environ["LONGSHIP_BENCH_RECORD"] = str(directory)
        times = times_of(bench, {"longship": ours, "recorded": ours}, "resnet")
    tell(bench, "resnet: recorded / not recorded", times, "recorded", "longship", RECORDED_GOAL)
    from lib_recording import costs
    for what, nanoseconds in costs().items():
        bench.absolute(f"recording: {what}", nanoseconds * 1e-3, "us", at_most=5)


def between_nodes(bench):
    if os.geteuid() != 0:
        bench.say("network namespaces need root: nothing is measured between nodes")
        return
    from lib_training_network import measure
    measure(bench)


PARTS = {"node": on_a_node, "recording": recording, "network": between_nodes}


def options(parser):
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS), help="parts of it")
    parser.add_argument("--pairs", type=int, default=15, help="rounds, each with every candidate once")
    parser.add_argument("--steps", type=int, default=10, help="of training in a turn")
    parser.add_argument("--model", choices=GOALS, action="append", help="node: only this one")
    parser.add_argument("--without-horovod", action="store_true", help="it takes minutes to build the first time")


def main():
    bench = Bench(__doc__, options)
    if bench.options.pairs < 15:
        sys.exit("--pairs: an interval of fewer than 15 says little")
    for part in bench.options.only:
        PARTS[part](bench)
    bench.end()


if __name__ == "__main__":
    main()
