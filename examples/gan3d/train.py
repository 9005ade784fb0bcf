# SPDX-License-Identifier: Apache-2.0
"""The 3D GAN of the CLIC calorimeter on any number of ranks: it learns to make showers, so that nobody has to simulate them.

The batch is that of all ranks together, and everything random about it follows from the step: 1 rank and 4 compute the same,
but for the order in which floats are added. Rank 0 writes model.pt, metrics.jsonl and physics.json into the working directory,
and plots.svg where matplotlib is installed.
"""
import argparse
import json
import time

import longship
import longship.torch as hvd
import numpy as np
import physics
import torch
from longship import checkpoint, trace
from model import LATENT, Discriminator, Generator, energy_seen, to_network
from showers import energy_of, shower
from torch.nn.functional import binary_cross_entropy_with_logits

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--showers", type=int, default=2000, help="to train on")
parser.add_argument("--epochs", type=int, default=8)
parser.add_argument("--batch", type=int, default=16, help="over all ranks together")
parser.add_argument("--judged", type=int, default=256, help="showers, real and generated, that are compared in the end")
parser.add_argument("--seed", type=int, default=1)
options = parser.parse_args()

# How much the generator cares for the estimated energy and for the energy sum, beside being taken for real.
ESTIMATE, SUM = 0.1, 2.0
HELD_OUT = 10_000_000  # showers from this number on are never trained on

hvd.init()
if options.batch % hvd.size() != 0:
    parser.error(f"--batch {options.batch} cannot be shared by {hvd.size()} ranks evenly")
torch.manual_seed(options.seed)
torch.set_num_threads(1)


def batches(epoch):
    """This rank's part of each batch: showers and energies. Made when they are needed first, then kept."""
    order = np.random.default_rng((options.seed, epoch)).permutation(options.showers)
    for start in range(0, len(order) - options.batch + 1, options.batch):
        mine = order[start : start + options.batch][hvd.rank() :: hvd.size()]
        for number in mine:
            if number not in made:
                made[number] = torch.from_numpy(shower(number))
        seen = to_network(torch.stack([made[number] for number in mine]).unsqueeze(1))
        yield seen, torch.tensor([energy_of(number) for number in mine], dtype=torch.float32)


def noise(step):
    """This rank's part of the noise of the step, which is one for all ranks."""
    generator = torch.Generator().manual_seed(options.seed * 1_000_003 + step)
    return torch.randn(2, options.batch, LATENT, generator=generator)[:, hvd.rank() :: hvd.size()]


def judged(seen, energy, is_real):
    """The discriminator's loss: is it taken for what it is, and is its energy estimated well?"""
    real, estimate = discriminator(seen)
    wanted = torch.full_like(real, 0.9 if is_real else 0.0)  # a little doubt keeps it from being too sure
    return binary_cross_entropy_with_logits(real, wanted) + ESTIMATE * ((estimate * 100 - energy) / energy).abs().mean()


def train_discriminator(seen, energy, latent):
    with torch.no_grad():
        made_up = generator(latent, energy)
    optimizers["discriminator"].zero_grad()
    loss = judged(seen, energy, True) + judged(made_up, energy, False)
    loss.backward()
    optimizers["discriminator"].step()
    return loss


def train_generator(seen, energy, latent):
    discriminator.requires_grad_(False)  # its gradients are not wanted here
    optimizers["generator"].zero_grad()
    made_up = generator(latent, energy)
    real, estimate = discriminator(made_up)
    wanted = energy_seen(seen)
    loss = (
        binary_cross_entropy_with_logits(real, torch.ones_like(real))
        + ESTIMATE * ((estimate * 100 - energy) / energy).abs().mean()
        + SUM * ((energy_seen(made_up) - wanted) / wanted).abs().mean()
    )
    loss.backward()
    optimizers["generator"].step()
    discriminator.requires_grad_(True)
    return loss


made = {}
generator, discriminator = Generator(), Discriminator()
models = {"generator": generator, "discriminator": discriminator}
optimizers = {}
for name, model in models.items():
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-4, betas=(0.5, 0.99))
    named = [(f"{name}.{parameter}", value) for parameter, value in model.named_parameters()]
    optimizers[name] = hvd.DistributedOptimizer(optimizer, named_parameters=named)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)

checkpoints = checkpoint.Checkpoint()
done, metrics = 0, []
found = checkpoints.load()
if found is not None:
    done, state = found
    for name, model in models.items():
        model.load_state_dict(state[name])
        optimizers[name].load_state_dict(state[f"{name} optimizer"])
    metrics = state["metrics"]

steps_per_epoch = options.showers // options.batch
for epoch in range(done + 1, options.epochs + 1):
    begun, losses = time.monotonic(), torch.zeros(2)
    for number, (seen, energy) in enumerate(trace.batches(batches(epoch)), 1):
        step = (epoch - 1) * steps_per_epoch + number
        latent = noise(step)
        losses += torch.stack([train_discriminator(seen, energy, latent[0]), train_generator(seen, energy, latent[1])]).detach()
        rate = number * options.batch / (time.monotonic() - begun)
        longship.progress(step, options.epochs * steps_per_epoch, **{"loss": losses[1].item() / number, "showers/s": rate})
    mean = hvd.allreduce(losses / steps_per_epoch, name="losses")
    metrics.append({"epoch": epoch, "discriminator": mean[0].item(), "generator": mean[1].item()})
    if checkpoints.due():
        state = {"metrics": metrics}
        for name, model in models.items():
            state |= {name: model.state_dict(), f"{name} optimizer": optimizers[name].state_dict()}
        checkpoints.save(epoch, state)

if hvd.rank() == 0:
    numbers = range(HELD_OUT, HELD_OUT + options.judged)
    verdict = physics.compare(generator, numbers, options.seed)
    torch.save({name: model.state_dict() for name, model in models.items()}, "model.pt")
    with open("metrics.jsonl", "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in metrics)
    with open("physics.json", "w") as file:
        json.dump(verdict, file)
    physics.plot(verdict, "plots.svg")
    print(physics.in_words(verdict), flush=True)
