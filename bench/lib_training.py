# SPDX-License-Identifier: Apache-2.0
"""One rank of a training: the models of examples/ on data in memory, with each library that makes one training of many.

    lib_training.py CANDIDATE MODEL SOCKET       trains when it is asked to (lib_turns.py)
"""
import os
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
BATCH, SIDE = 8, 32


class Alone:
    """No communication at all."""

    def __init__(self):
        import torch
        self.torch = torch

    def wrapped(self, name, model):
        return model

    def optimizer(self, name, model, optimizer):
        return optimizer

    def step_done(self, number):
        pass


class Keeping(Alone):
    """The same in a process that keeps the memory that it frees, as longship.torch lets it."""

    def __init__(self):
        from longship.torch.freed_memory import keep_freed_memory
        super().__init__()
        keep_freed_memory(os.environ)


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


class Meeting(Horovodlike):
    """Each rank for itself, but none begins a step before the others: what is lost by waiting for who is slower just then."""

    def __init__(self):
        super().__init__("longship.torch")

    def optimizer(self, name, model, optimizer):
        step, one = optimizer.step, self.torch.zeros(1)

        def meet_and_step():
            self.hvd.allreduce_(one, name=name)
            return step()
        optimizer.step = meet_and_step
        return optimizer


class Recorded(Horovodlike):
    """With all that `longship report` wants to know."""

    def __init__(self):
        os.environ["LONGSHIP_RECORD"] = os.environ["LONGSHIP_BENCH_RECORD"]
        super().__init__("longship.torch")

    def step_done(self, number):
        import longship
        longship.progress(number, 0, loss=0.5)


class Distributed(Alone):
    """PyTorch's own."""

    def __init__(self):
        super().__init__()
        import torch.distributed
        torch.distributed.init_process_group("gloo")

    def wrapped(self, name, model):
        return self.torch.nn.parallel.DistributedDataParallel(model)


CANDIDATES = {"bound": Alone, "keeping": Keeping, "meeting": Meeting, "longship": lambda: Horovodlike("longship.torch"), "recorded": Recorded, "ddp": Distributed,
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


def work(name, model, path):
    import torch
    from lib_turns import take_turns
    torch.manual_seed(1)
    torch.set_num_threads(1)
    candidate = CANDIDATES[name]()
    step = {"gan3d": gan3d_step, "resnet": resnet_step}[model](candidate, torch)

    def seconds_per_step(steps):
        begin = time.perf_counter()
        for number in range(steps):
            step()
            candidate.step_done(number + 1)
        return (time.perf_counter() - begin) / steps
    take_turns(path, seconds_per_step)


if __name__ == "__main__":
    work(*sys.argv[1:])
