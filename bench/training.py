#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training on two ranks of one thread each: which share of the speed without any communication is left.

The 3D GAN and the ResNet of examples/, on data that lies in memory. In each round every candidate trains once, in turn: two
processes that know nothing of each other (the bound), longship.torch, PyTorch's DistributedDataParallel over gloo, and
Horovod over Open MPI, as it comes and tuned (mpi_yield_when_idle). Ranks are bound to cores alike. The share is bound / candidate
of the same round; its mean and 95 % interval over all rounds are told.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
GOALS = {"gan3d": 0.98, "resnet": 0.96}
BATCH, SIDE, WARM_UP = 8, 32, 5


# --- what is measured: one rank


class Alone:
    """No communication at all."""

    def __init__(self):
        import torch
        self.torch = torch

    def wrapped(self, name, model):
        return model

    def optimizer(self, name, model, optimizer):
        return optimizer


class Horovodlike(Alone):
    """longship.torch and horovod.torch: the same calls."""

    def __init__(self, module):
        super().__init__()
        import importlib
        self.hvd = importlib.import_module(module)
        self.hvd.init()

    def optimizer(self, name, model, optimizer):
        named = [(f"{name}.{parameter}", value) for parameter, value in model.named_parameters()]
        self.hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        return self.hvd.DistributedOptimizer(optimizer, named_parameters=named)


class Distributed(Alone):
    """PyTorch's own."""

    def __init__(self):
        super().__init__()
        import torch.distributed
        torch.distributed.init_process_group("gloo")

    def wrapped(self, name, model):
        return self.torch.nn.parallel.DistributedDataParallel(model)


CANDIDATES = {"bound": Alone, "longship": lambda: Horovodlike("longship.torch"), "ddp": Distributed,
              "horovod": lambda: Horovodlike("horovod.torch"), "horovod-tuned": lambda: Horovodlike("horovod.torch")}


def resnet_step(candidate, torch):
    sys.path.insert(0, str(REPOSITORY / "examples" / "resnet"))
    from model import resnet
    bare = resnet(18)
    model = candidate.wrapped("resnet", bare)
    optimizer = candidate.optimizer("resnet", bare, torch.optim.SGD(bare.parameters(), lr=0.01, momentum=0.9))
    images, labels = torch.randn(BATCH, 3, SIDE, SIDE), torch.randint(0, 1000, (BATCH,))

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    return step


def gan3d_step(candidate, torch):
    """The discriminator once and the generator once, as in examples/gan3d/train.py, with losses that cost the same."""
    sys.path.insert(0, str(REPOSITORY / "examples" / "gan3d"))
    from model import LATENT, Discriminator, Generator
    bare = {"generator": Generator(), "discriminator": Discriminator()}
    models = {name: candidate.wrapped(name, model) for name, model in bare.items()}
    optimizers = {name: candidate.optimizer(name, model, torch.optim.Adam(model.parameters(), lr=1e-4))
                  for name, model in bare.items()}
    seen, energy, latent = torch.rand(BATCH, 1, 25, 25, 25), torch.rand(BATCH) * 400 + 10, torch.randn(BATCH, LATENT)

    def step():
        with torch.no_grad():
            made_up = bare["generator"](latent, energy)
        optimizers["discriminator"].zero_grad()
        # Both in one pass: DistributedDataParallel allows no more than one before the backward pass.
        real, estimate = models["discriminator"](torch.cat([seen, made_up]))
        (real[:BATCH].mean() - real[BATCH:].mean() + estimate.square().mean()).backward()
        optimizers["discriminator"].step()
        bare["discriminator"].requires_grad_(False)
        optimizers["generator"].zero_grad()
        real, estimate = bare["discriminator"](models["generator"](latent, energy))
        (real.mean() + estimate.square().mean()).backward()
        optimizers["generator"].step()
        bare["discriminator"].requires_grad_(True)
    return step


def work(candidate, model, steps, directory):
    """Leaves the seconds per step of this rank in a file."""
    import torch
    torch.manual_seed(1)
    torch.set_num_threads(1)
    step = {"gan3d": gan3d_step, "resnet": resnet_step}[model](CANDIDATES[candidate](), torch)
    for number in range(-WARM_UP, steps):
        if number == 0:
            begin = time.perf_counter()
        step()
    (Path(directory) / str(os.getpid())).write_text(json.dumps((time.perf_counter() - begin) / steps))
    sys.stdout.flush()
    os._exit(0)  # Horovod and gloo take their time to say good-bye


# --- who measures


def commands(longship, horovod):
    """How two ranks of each candidate are started."""
    ours = [str(longship), "launch", "-n", "2", "/usr/bin/python3"]
    found = {"bound": ours, "longship": ours, "ddp": ours}
    if horovod:
        mpirun = ["mpirun.openmpi", "--allow-run-as-root", "-n", "2", "--bind-to", "core"]
        found["horovod"] = [*mpirun, str(horovod)]
        found["horovod-tuned"] = [*mpirun, "--mca", "mpi_yield_when_idle", "1", str(horovod)]
    return found


def seconds_per_step(start, candidate, model, steps):
    with tempfile.TemporaryDirectory(prefix="longship-bench") as directory:
        done = subprocess.run([*start, __file__, "--work", candidate, model, str(steps), directory], capture_output=True,
                              text=True, check=False)
        told = [json.loads(file.read_text()) for file in Path(directory).iterdir()]
    if len(told) != 2:
        sys.exit(f"{candidate}, {model}: {done.stderr.strip()}")
    return statistics.fmean(told)


def measure(bench, starts, model, rounds, steps):
    from lib import interval
    times = {name: [] for name in starts}
    for number in range(rounds):
        order = list(starts)[number % len(starts):] + list(starts)[:number % len(starts)]  # nobody is always first
        for name in order:
            times[name].append(seconds_per_step(starts[name], name, model, steps))
        bench.say(f"{model}, round {number + 1} of {rounds}: "
                  + ", ".join(f"{name} {times[name][-1] * 1e3:.0f} ms" for name in starts))
    for name in starts:
        if name == "bound":
            continue
        share, low, high = interval([bound / mine for bound, mine in zip(times["bound"], times[name], strict=True)])
        ours = name == "longship"
        bench.ratio(f"{model}: {name} of the bound", statistics.median(times[name]) * 1e3, statistics.median(times["bound"]) * 1e3,
                    "ms/step", share, f">= {GOALS[model]}, 95 % in [{low:.3f}, {high:.3f}]" if ours else f"95 % in [{low:.3f}, {high:.3f}]",
                    share >= GOALS[model] if ours else None, interval=[round(low, 4), round(high, 4)])


def main():
    from lib import Bench
    from lib_peers import horovod_python, program

    def options(parser):
        parser.add_argument("--pairs", type=int, default=15, help="rounds, each with every candidate once")
        parser.add_argument("--steps", type=int, default=15, help="of training that are timed in a run")
        parser.add_argument("--model", choices=GOALS, action="append", help="only this one")
        parser.add_argument("--without-horovod", action="store_true", help="it takes minutes to build the first time")
    bench = Bench(__doc__, options)
    if bench.options.pairs < 15:
        sys.exit("--pairs: an interval of fewer than 15 says little")
    horovod = None if bench.options.without_horovod else horovod_python(bench)
    starts = commands(program(), horovod)
    for model in bench.options.model or GOALS:
        measure(bench, starts, model, bench.options.pairs, bench.options.steps)
    bench.end()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
    else:
        main()
