# SPDX-License-Identifier: Apache-2.0
"""Time to equal loss on four nodes with a slow network, with what each library has to send less.

    lib_training_network.py CANDIDATE      one rank; rank 0 prints how long it took, as JSON

A ResNet-18 with images of ten classes that are made up as in examples/resnet. All start from the same parameters and see the same
images; a training is done when the mean loss of all ranks over the last steps is below the goal. The clock stands still while
ranks ask each other for it.
"""
import json
import os
import secrets
import statistics
import sys
import time

from lib_peers import LIBRARY, PYTHON, REPOSITORY, launched, output

NODES, GIGABITS, PORT = 4, 1, 47100
BATCH, SIDE, CLASSES = 8, 32, 10
GOAL, LAST, MOST_STEPS = 1.0, 5, 80
RATE = 0.02


# --- what is measured: one rank


class Longship:
    def __init__(self, **how):
        import longship.torch as hvd
        hvd.init()
        self.hvd, self.how = hvd, how
        self.rank = hvd.rank()

    def prepared(self, model, optimizer):
        compression = self.how.get("compression", lambda hvd: hvd.Compression.none)(self.hvd)
        return model, self.hvd.DistributedOptimizer(optimizer, model.named_parameters(), compression=compression)

    def mean(self, value):
        return self.hvd.allreduce(value, name="loss")

    def part(self):
        self.hvd.shutdown()


class LocalSgd(Longship):
    def prepared(self, model, optimizer):
        return model, self.hvd.LocalSGD(optimizer, **self.how)


class Refused(Exception):
    """In the words of the library."""


class Ddp:
    def __init__(self, hook=None):
        import torch.distributed as dist
        dist.init_process_group("gloo")
        self.dist, self.hook, self.rank = dist, hook, dist.get_rank()

    def prepared(self, model, optimizer):
        from torch.nn.parallel import DistributedDataParallel
        model = DistributedDataParallel(model)
        if self.hook:
            try:
                model.register_comm_hook(*self.hook())
            except TypeError as error:
                raise Refused(error) from error
        return model, optimizer

    def mean(self, value):
        self.dist.all_reduce(value)
        return value / self.dist.get_world_size()

    def part(self):
        os._exit(0)  # gloo's threads would end the process with an error, or not at all


def fp16_hook():
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    return None, default_hooks.fp16_compress_hook


def bf16_hook():
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
    return None, default_hooks.bf16_compress_hook


def power_sgd_hook():
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
    state = powerSGD_hook.PowerSGDState(process_group=None, matrix_approximation_rank=2, start_powerSGD_iter=2)

    # It begins its second and third all-reduce when the one before is done, in a thread of gloo's: with several buckets on
    # their way their order differs between ranks, and gloo ends the process ("op.preamble.length <= op.nbytes").
    def one_bucket_at_a_time(state, bucket):
        reduced = powerSGD_hook.powerSGD_hook(state, bucket)
        reduced.wait()
        return reduced
    return state, one_bucket_at_a_time


CANDIDATES = {
    "longship f32": Longship,
    "longship bf16": lambda: Longship(compression=lambda hvd: hvd.Compression.bf16),
    "longship PowerSGD": lambda: Longship(compression=lambda hvd: hvd.PowerSGD(rank=2)),
    "longship local SGD": lambda: LocalSgd(every=4),
    "DDP f32": Ddp,
    "DDP fp16": lambda: Ddp(fp16_hook),
    "DDP bf16": lambda: Ddp(bf16_hook),  # known to refuse gloo: then the bench says so, in its words
    "DDP PowerSGD": lambda: Ddp(power_sgd_hook),
}


def images(torch, step, rank, patterns):
    """A batch that follows from step and rank."""
    generator = torch.Generator().manual_seed(step * 1000 + rank)
    labels = torch.randint(0, CLASSES, (BATCH,), generator=generator)
    return patterns[labels] / 2 + torch.randn(BATCH, 3, SIDE, SIDE, generator=generator), labels


def work(name):
    import torch
    sys.path.insert(0, str(REPOSITORY / "examples" / "resnet"))
    from model import resnet
    candidate = CANDIDATES[name]()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    patterns = torch.randn(CLASSES, 3, SIDE, SIDE)
    bare = resnet(18, CLASSES)
    try:
        model, optimizer = candidate.prepared(bare, torch.optim.SGD(bare.parameters(), lr=RATE, momentum=0.9))
    except Refused as why:
        candidate.mean(torch.zeros(1))  # none leaves before the others have come so far
        print(json.dumps({"refused": str(why)}), flush=True)
        return candidate.part()

    def train(step):
        x, y = images(torch, step, candidate.rank, patterns)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses, seconds = [], 0.0
    while len(losses) < MOST_STEPS and (len(losses) < LAST or statistics.fmean(losses[-LAST:]) > GOAL):
        candidate.mean(torch.zeros(1))  # all begin at once
        begin = time.perf_counter()
        loss = train(len(losses))
        seconds += time.perf_counter() - begin
        losses.append(candidate.mean(loss.view(1)).item())
    if candidate.rank == 0:
        print(json.dumps({"steps": len(losses), "seconds": seconds, "loss": statistics.fmean(losses[-LAST:])}), flush=True)
    candidate.part()


# --- who measures


def on_nodes(network, name, round_number):
    from network import on_every_node
    secret = secrets.token_hex(16)

    def words(node):
        return network.command(node, PYTHON, __file__, name, RANK=node, WORLD_SIZE=NODES, LOCAL_RANK=0, LOCAL_WORLD_SIZE=1,
                               OMP_NUM_THREADS=1, PYTHONPATH=LIBRARY / "python", LONGSHIP_NODE=f"node{node}", LONGSHIP_SECRET=secret,
                               LONGSHIP_RENDEZVOUS=f"{network.address(0)}:{PORT + round_number}",
                               MASTER_ADDR=network.address(0), MASTER_PORT=PORT + 50 + round_number, GLOO_SOCKET_IFNAME="eth0")
    return json.loads(on_every_node(network, words).splitlines()[-1])


def on_one_node():
    return json.loads(output(launched(NODES, PYTHON, __file__, "longship f32")).splitlines()[-1])


def measure(bench):
    from network import Network
    results = {"free network": on_one_node()}
    with Network(NODES, GIGABITS) as network:
        for number, name in enumerate(CANDIDATES):
            try:
                result = on_nodes(network, name, number)
            except SystemExit as ended:  # with an error; a peer's is told, and the others are measured all the same
                if name.startswith("longship"):
                    raise
                result = {"refused": ended}
            if "refused" in result:
                bench.say(f"{name}: not compared: {result['refused']}")
                continue
            results[name] = result
            bench.say(f"{name}: loss {results[name]['loss']:.3f} after {results[name]['steps']} steps, {results[name]['seconds']:.1f} s")
    reached = {name: result["seconds"] for name, result in results.items() if result["loss"] <= GOAL}
    for name in results.keys() - reached.keys():
        bench.say(f"{name}: did not come down to a loss of {GOAL} within {MOST_STEPS} steps")
    peers = {name: seconds for name, seconds in reached.items() if name.startswith("DDP")}
    best = min(peers, key=peers.get, default=None)
    for name, seconds in reached.items():
        if best and name.startswith("longship"):
            bench.figure(f"{NODES} nodes, {GIGABITS} Gb/s, to a loss of {GOAL}: {name} / {best}", seconds, peers[best], "s")
    for name, seconds in reached.items():
        if "free network" in reached and name != "free network":
            bench.figure(f"{NODES} nodes, {GIGABITS} Gb/s, to a loss of {GOAL}: {name} / a free network", seconds, reached["free network"], "s")


if __name__ == "__main__":
    work(sys.argv[1])
