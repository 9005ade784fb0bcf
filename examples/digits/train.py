# SPDX-License-Identifier: Apache-2.0
"""Handwritten digits on any number of ranks: the same script for one process and for many.

Each rank trains on its own part of the data; the optimiser averages the gradients over all ranks. Rank 0 writes
model.pt and metrics.jsonl into the working directory, and checkpoints from which a job that was stopped goes on.
"""
import argparse
import json
import time

import longship
import longship.torch as hvd
import torch
from longship import checkpoint, trace
from sklearn.datasets import load_digits

BATCH = 128  # over all ranks together

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--epochs", type=int, default=30)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--width", type=int, default=16, help="channels of the first layer")
arguments = parser.parse_args()
EPOCHS, WIDTH = arguments.epochs, arguments.width

hvd.init()
torch.manual_seed(1)
torch.set_num_threads(1)


def batches(images, labels, epoch):
    """This rank's share of each global batch: the same shuffle on all ranks, each takes every size()-th image."""
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(epoch))
    for start in range(0, len(order) - BATCH + 1, BATCH):
        mine = order[start : start + BATCH][hvd.rank() :: hvd.size()]
        yield images[mine], labels[mine]


# 1,797 images of 8 x 8 pixels, one in five kept to test on.
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
labels = torch.tensor(digits.target)
shuffled = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
held_out, training = shuffled[: len(images) // 5], shuffled[len(images) // 5 :]

model = torch.nn.Sequential(
    torch.nn.Conv2d(1, WIDTH, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.Conv2d(WIDTH, 2 * WIDTH, 3, padding=1),
    torch.nn.ReLU(),
    torch.nn.MaxPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(2 * WIDTH * 4 * 4, 10),
)
optimizer = torch.optim.Adam(model.parameters(), lr=arguments.lr)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)

# Where an earlier attempt at this job got to; nothing at the first.
checkpoints = checkpoint.Checkpoint()
done, metrics = 0, []
found = checkpoints.load()
if found is not None:
    done, state = found
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["random"])
    metrics = state["metrics"]
    if hvd.rank() == 0:
        print(f"going on after epoch {done}", flush=True)

for epoch in range(done + 1, EPOCHS + 1):
    begun = time.monotonic()
    for x, y in trace.batches(batches(images[training], labels[training], epoch)):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    mean = hvd.allreduce(loss.detach(), name="loss").item()
    rate = len(training) // BATCH * BATCH / (time.monotonic() - begun)
    longship.progress(epoch, EPOCHS, **{"loss": mean, "samples/s": rate})
    metrics.append({"epoch": epoch, "loss": mean})
    if checkpoints.due():
        checkpoints.save(
            epoch,
            {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "random": torch.get_rng_state(),
                "metrics": metrics,
            },
        )

if hvd.rank() == 0:
    with torch.no_grad():
        accuracy = (model(images[held_out]).argmax(1) == labels[held_out]).float().mean().item()
    metrics.append({"accuracy": accuracy})
    torch.save(model.state_dict(), "model.pt")
    with open("metrics.jsonl", "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in metrics)
    print(f"accuracy {accuracy:.3f}", flush=True)
