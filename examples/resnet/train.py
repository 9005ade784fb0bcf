# SPDX-License-Identifier: Apache-2.0
"""Image classification with a ResNet on any number of ranks, as in the published scaling runs.

Each rank takes --batch images per step, so that the work of a rank stays the same as ranks are added (weak scaling), and the
learning rate grows with the number of ranks, after a warm-up (Goyal and others, "Accurate, Large Minibatch SGD"). The images
are those of --data, a directory with images.npy (uint8, N x height x width x 3) and labels.npy; without it they are made up:
ten classes that differ by a pattern under noise. Rank 0 writes model.pt and metrics.jsonl into the working directory.
"""
import argparse
import json
import time
from pathlib import Path

import longship
import longship.torch as hvd
import numpy as np
import torch
from longship import checkpoint, trace
from model import STAGES, resnet

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--depth", type=int, choices=STAGES, default=18)
parser.add_argument("--data", type=Path, help="directory with images.npy and labels.npy")
parser.add_argument("--images", type=int, default=2000, help="without --data: how many are made up")
parser.add_argument("--side", type=int, default=32, help="without --data: their height and width")
parser.add_argument("--batch", type=int, default=8, help="images per rank and step")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--rate", type=float, default=0.0125, help="learning rate for one rank with a batch of 32")
options = parser.parse_args()

WARM_UP = 1  # epochs
CLASSES = 10  # of made-up images

hvd.init()
torch.manual_seed(1)
torch.set_num_threads(1)


class MadeUp:
    """Image i of class i % 10; the same on all ranks."""

    def __init__(self, count, side):
        random = np.random.default_rng(1)
        self.patterns = random.integers(0, 256, (CLASSES, side, side, 3))
        self.count, self.classes = count, CLASSES

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        noise = np.random.default_rng((1, i)).integers(-96, 97, self.patterns[0].shape)
        return np.clip(self.patterns[i % CLASSES] // 2 + 64 + noise, 0, 255).astype(np.uint8), i % CLASSES


class Stored:
    """Images of a directory, mapped and not read as a whole."""

    def __init__(self, directory):
        self.images = np.load(directory / "images.npy", mmap_mode="r")
        self.labels = np.load(directory / "labels.npy")
        if len(self.images) != len(self.labels):
            parser.error(f"--data {directory}: {len(self.images)} images, but {len(self.labels)} labels")
        self.classes = int(self.labels.max()) + 1

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], int(self.labels[i])


def batches(data, numbers):
    for start in range(0, len(numbers) - options.batch + 1, options.batch):
        images, labels = zip(*(data[int(i)] for i in numbers[start : start + options.batch]))
        pixels = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).float()
        yield (pixels - 127.5) / 64, torch.tensor(labels)


def share(numbers):
    """This rank's part of them, as long as that of every other rank."""
    return numbers[: len(numbers) // hvd.size() * hvd.size()][hvd.rank() :: hvd.size()]


data = Stored(options.data) if options.data else MadeUp(options.images, options.side)
held_out, training = np.arange(len(data) // 10), np.arange(len(data) // 10, len(data))
steps = len(share(training)) // options.batch
if steps == 0:
    parser.error(f"{len(training)} images are not one batch of {options.batch} for each of {hvd.size()} ranks")

model = resnet(options.depth, data.classes)
optimizer = torch.optim.SGD(model.parameters(), lr=options.rate, momentum=0.9, weight_decay=1e-4)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
full = options.batch * hvd.size() / 32
schedule = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda step: full * min(1, (step + 1) / (WARM_UP * steps)) * 0.1 ** (step >= 0.75 * options.epochs * steps)
)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)

checkpoints = checkpoint.Checkpoint()
done, metrics = 0, []
found = checkpoints.load()
if found is not None:
    done, state = found
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    schedule.load_state_dict(state["schedule"])
    metrics = state["metrics"]


def correct():
    """The share of held-out images that are recognised, each looked at by one rank."""
    model.eval()
    with torch.no_grad():
        hits = sum((model(x).argmax(1) == y).sum().item() for x, y in batches(data, share(held_out)))
    model.train()
    seen = len(share(held_out)) // options.batch * options.batch
    return hvd.allreduce(torch.tensor(hits / max(seen, 1)), name="correct").item()


for epoch in range(done + 1, options.epochs + 1):
    order = share(np.random.default_rng((1, epoch)).permutation(training))
    begun, total = time.monotonic(), 0.0
    for number, (x, y) in enumerate(trace.batches(batches(data, order)), 1):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item()
        rate = number * options.batch * hvd.size() / (time.monotonic() - begun)
        longship.progress((epoch - 1) * steps + number, options.epochs * steps, **{"loss": total / number, "images/s": rate})
    metrics.append({"epoch": epoch, "loss": hvd.allreduce(torch.tensor(total / steps), name="loss").item(), "images/s": rate})
    if checkpoints.due():
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        checkpoints.save(epoch, state | {"schedule": schedule.state_dict(), "metrics": metrics})

metrics.append({"accuracy": correct(), "ranks": hvd.size()})
if hvd.rank() == 0:
    torch.save(model.state_dict(), "model.pt")
    with open("metrics.jsonl", "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in metrics)
    print(f"accuracy {metrics[-1]['accuracy']:.3f}, {metrics[-2]['images/s']:.0f} images/s on {hvd.size()} ranks", flush=True)
