# SPDX-License-Identifier: Apache-2.0
"""DistributedOptimizer with each of its options, and what sends less: against one process that has all the data. Few runs
with many checks: starting torch is what takes the time."""
import pytest
from test_operations import HEADER

TRAINING = (
    HEADER
    + """
import copy
torch.set_num_threads(1)
F = torch.nn.functional
data = torch.randn(12 * size, 6, generator=torch.Generator().manual_seed(7))
target = torch.randn(12 * size, 3, generator=torch.Generator().manual_seed(8))

def new_model(seed=1):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))

def alone(steps=5):
    model = new_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        F.mse_loss(model(data), target).backward()
        optimizer.step()
    return model

def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])

def equal_on_all(model):
    every = hvd.allgather(flat(model).unsqueeze(0))
    assert all(torch.equal(row, every[0]) for row in every), "ranks differ"

def together(make=None, steps=5, zero=None, passes=1, **options):
    model = new_model(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    if make is None:
        optimizer = hvd.DistributedOptimizer(optimizer, model.named_parameters(), backward_passes_per_step=passes, **options)
    else:
        optimizer = make(optimizer)
    model.load_state_dict(new_model(1 if rank == 0 else 2).state_dict())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    for _ in range(steps):
        optimizer.zero_grad(*([] if zero is None else [zero]))
        for part in range(passes):
            mine = slice(rank * passes + part, None, size * passes)
            (F.mse_loss(model(data[mine]), target[mine]) / passes).backward()
        optimizer.step()
    return model, optimizer

expected = flat(alone())
def close(model, atol=1e-5):
    assert torch.allclose(flat(model), expected, atol=atol), (flat(model) - expected).abs().max()
    equal_on_all(model)
"""
)


@pytest.mark.parametrize("size,nodes", [(2, 1), (3, 3)])
def test_options_of_the_optimizer(ranks, size, nodes):
    ranks.run(
        TRAINING
        + """
close(together()[0])
close(together(zero=False)[0]); close(together(zero=True)[0])
close(together(passes=2)[0])
close(together(num_groups=2)[0])
close(together(gradient_predivide_factor=2.0)[0])
close(together(compression=hvd.Compression.fp16)[0], 1e-2)
close(together(compression=hvd.Compression.bf16)[0], 5e-2)
close(together(compression=hvd.TopK(1.0))[0])
close(together(compression=hvd.PowerSGD(rank=8))[0])
class Halved(hvd.Compressor):  # somebody's own
    compress = staticmethod(lambda tensor: (tensor / 2, tensor.shape))
    @staticmethod
    def decompress(tensor, context):
        assert tensor.shape == context
        return tensor * 2
close(together(compression=Halved)[0])

# Parameters in groups of one's own
model = new_model()
parameters = list(model.parameters())
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(parameters, lr=0.1), model.named_parameters(), groups=[parameters[:2], parameters[2:]])
F.mse_loss(model(data[rank::size]), target[rank::size]).backward()
optimizer.step()
equal_on_all(model)
raises(lambda: hvd.DistributedOptimizer(torch.optim.SGD(parameters, lr=0.1), groups=[parameters, parameters]), "twice")
raises(lambda: hvd.DistributedOptimizer(torch.optim.SGD(parameters, lr=0.1), backward_passes_per_step=0), "at least one")
raises(lambda: hvd.DistributedOptimizer(torch.optim.SGD(parameters, lr=0.1), op=hvd.Sum, gradient_predivide_factor=2.0), "op=Average")

# Less on the wire: not the same model, but one that learns, and the same everywhere
loss = lambda model: F.mse_loss(model(data), target).item()
for compression in (hvd.TopK(0.1), hvd.PowerSGD(rank=1)):
    model, _ = together(compression=compression, steps=30)
    equal_on_all(model)
    assert loss(model) < 0.95 * loss(new_model()), (compression, loss(model), loss(new_model()))
model, optimizer = together(op=hvd.Adasum)
equal_on_all(model)
assert loss(model) < loss(new_model())
raises(lambda: hvd.TopK(0), "more than 0"); raises(lambda: hvd.PowerSGD(0), "at least 1")

# Local SGD: with one step between averages of plain SGD it is the same as averaging gradients
plain = new_model()
sgd = torch.optim.SGD(plain.parameters(), lr=0.1)
for _ in range(4):
    sgd.zero_grad(); F.mse_loss(plain(data), target).backward(); sgd.step()
for every, after in [(1, 0), (4, 4)]:
    model = new_model()
    optimizer = hvd.LocalSGD(torch.optim.SGD(model.parameters(), lr=0.1), every=every, after=after)
    for _ in range(4):
        optimizer.zero_grad(); F.mse_loss(model(data[rank::size]), target[rank::size]).backward(); optimizer.step()
    assert torch.allclose(flat(model), flat(plain), atol=1e-5)
model = new_model()
optimizer = hvd.LocalSGD(torch.optim.SGD(model.parameters(), lr=0.1), every=2)
for step in range(4):
    F.mse_loss(model(data[rank::size]), target[rank::size]).backward(); optimizer.step()
    rows = hvd.allgather(flat(model)[None])
    assert torch.equal(rows[0], rows[-1]) == (step % 2 == 1), "apart in between"
raises(lambda: hvd.LocalSGD(optimizer, every=0), "at least 1")
""",
        size,
        nodes=nodes,
    )


def test_gradients_live_in_buckets_that_follow_the_backward_pass(ranks):
    ranks.run(
        TRAINING
        + """
model, optimizer = together()
reduction = optimizer._reduction
def in_buckets():
    return all(gradient.is_in_place() for bucket in reduction._buckets.all for gradient in bucket.gradients)
assert in_buckets()
names = {p: n for n, p in model.named_parameters()}
order = [names[gradient.parameter] for bucket in reduction._buckets.all for gradient in bucket.gradients]
assert order[-1].startswith("0.") and order[0].startswith("4."), order  # the last layer's come first
where = {p: p.grad.data_ptr() for p in model.parameters()}
def mapping_of(address):
    for line in open("/proc/self/maps"):
        begin, end = (int(part, 16) for part in line.split()[0].split("-"))
        if begin <= address < end:
            return line
assert all("memfd" in mapping_of(address) for address in where.values()), "not in memory that ranks share"
plain = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
plain.param_groups[0]["params"][0].grad = torch.ones(1)
plain.zero_grad()
usual = plain.param_groups[0]["params"][0].grad is None  # since torch 2.0
version = next(model.parameters()).grad._version
optimizer.zero_grad(set_to_none=False)
assert next(model.parameters()).grad._version > version, "what autograd has kept of it would be wrong, and nobody told"
for zero in (True, False, None):
    optimizer.zero_grad(**({} if zero is None else {"set_to_none": zero}))
    if usual if zero is None else zero:
        assert all(p.grad is None for p in model.parameters())
    else:
        assert all(p.grad.abs().sum() == 0 for p in model.parameters()) and in_buckets()
    F.mse_loss(model(data[rank::size]), target[rank::size]).backward()
    optimizer.step()
    assert {p: p.grad.data_ptr() for p in model.parameters()} == where
kept = [p.grad for p in model.parameters()]
hvd.shutdown()
assert all(torch.isfinite(gradient).all() for gradient in kept), "memory stays after the ranks have parted"
""",
        2,
        LONGSHIP_BUCKET="300",
    )


def test_buckets_of_several_sizes_are_tried_and_one_is_kept_by_all(ranks):
    told = ranks.run(
        TRAINING
        + """
import sys
sys.stderr = sys.stdout
from longship.torch import bucket_tuner, buckets
buckets.DEFAULT_BYTES = 400
steps = 1 + 3 * (bucket_tuner.STEPS + 1)
expected = flat(alone(steps))
model, optimizer = together(steps=steps - 1)
assert optimizer._reduction._tuner is not None
model, optimizer = together(steps=steps, compression=hvd.Compression.none)
close(model)
assert optimizer._reduction._tuner is None
sizes = {bucket.name.split(".")[2] for bucket in optimizer._reduction._buckets.all}
assert len(sizes) == 1 and sizes <= {"100", "400", "1600"}, sizes
kept = hvd.allgather_object(sizes)
assert kept == [sizes] * size, kept
remembering = together(compression=hvd.TopK(0.5))[1]
assert remembering._reduction._tuner is None
""",
        3,
        LONGSHIP_LOG="tune",
    )
    assert [words.count("longship: buckets of ") for words in told] == [1, 0, 0], told


def test_ranks_that_share_their_core_with_the_library_train_alike(ranks):
    """Nothing is reduced before somebody waits; buckets are larger, if this is so on all ranks."""
    ranks.run(
        """
import os
os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
"""
        + TRAINING
        + """
from longship.torch import bucket_tuner, buckets
assert buckets.sizes_to_try(True) == [16 << 20, 4 << 20, 64 << 20]
assert buckets.sizes_to_try(False) == [4 << 20, 1 << 20, 16 << 20]
buckets.DEFAULT_BYTES = 40
steps = 1 + 3 * (bucket_tuner.STEPS + 1)
expected = flat(alone(steps))
model, optimizer = together(steps=steps)
close(model)
sizes = {bucket.name.split(".")[2] for bucket in optimizer._reduction._buckets.all}
assert len(sizes) == 1 and sizes <= {"160", "640", "40"}, sizes
if rank == 1:
    os.sched_setaffinity(0, range(os.cpu_count()))
model, optimizer = together(steps=2)
sizes = {bucket.name.split(".")[2] for bucket in optimizer._reduction._buckets.all}
assert sizes == {"40"}, sizes
""",
        2,
    )


def test_bucket_sizes_are_judged_by_what_they_bring(ranks):
    ranks.run(
        """
from longship.torch.bucket_tuner import STEPS, BucketTuner

def kept(*seconds):
    tuner = BucketTuner([4, 1, 16])
    for one in seconds:
        assert tuner.measured(99.0) is False, "the first step, in which ranks meet new names, ends nothing"
        assert [tuner.measured(one) for _ in range(STEPS)] == [False] * (STEPS - 1) + [True]
        following = tuner.next_size()
    assert following is None
    return tuner.best(tuner.medians())

assert kept(1.0, 0.8, 0.9) == 1
assert kept(1.0, 0.9, 0.8) == 16
assert kept(1.0, 0.98, 0.99) == 4, "the usual one stays unless another is clearly better"
""",
        1,
    )


def test_sparse_gradients_batch_norm_and_ddp(ranks):
    ranks.run(
        TRAINING
        + """
for as_dense in (False, True):
    torch.manual_seed(3)
    table, layer = torch.nn.Embedding(10, 4, sparse=True), torch.nn.Linear(4, 1)
    reference = copy.deepcopy((table, layer))
    named = [("table", table.weight)] + list(layer.named_parameters())
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD([p for _, p in named], lr=0.5), named, sparse_as_dense=as_dense)
    plain = torch.optim.SGD([*reference[0].parameters(), *reference[1].parameters()], lr=0.5)
    for step in range(3):
        optimizer.zero_grad(); plain.zero_grad()
        words = torch.tensor([[r, r + step, 5] for r in ranks])
        layer(table(words[rank : rank + 1])).mean().backward()
        reference[1](reference[0](words)).mean().backward()
        optimizer.step(); plain.step()
        assert table.weight.grad.is_sparse != as_dense
    same(table.weight, reference[0].weight); same(layer.weight, reference[1].weight)

# Two optimisers whose gradients come from one backward pass, as in a GAN
first, second = new_model(), torch.nn.Linear(3, 1)
optimizers = [hvd.DistributedOptimizer(torch.optim.SGD(one.parameters(), lr=0.1), one.named_parameters()) for one in (first, second)]
for _ in range(3):
    second(first(data[rank::size])).sum().backward()
    for optimizer in reversed(optimizers):
        optimizer.step()
        optimizer.zero_grad()
equal_on_all(first); equal_on_all(second)

# Batch normalisation as one process does it with the whole batch
torch.manual_seed(4)
x = torch.randn(6 * size, 3, 4, dtype=torch.float64)
parts = [slice(0, 2), slice(2, 6 * size)]  # of different sizes
whole, split = torch.nn.BatchNorm1d(3).double(), hvd.SyncBatchNorm(3).double()
for module in (whole, split):
    module.weight.data = torch.tensor([1.0, 2.0, 3.0]).double()
a, b = x.clone().requires_grad_(), x[parts[rank]].clone().requires_grad_()
want, got = whole(a), split(b)
same(got, want[parts[rank]])
weights = torch.randn(want.shape, generator=torch.Generator().manual_seed(5)).double()
(want * weights).sum().backward(); (got * weights[parts[rank]]).sum().backward()
same(b.grad, a.grad[parts[rank]])
same(hvd.allreduce(split.weight.grad, op=hvd.Sum), whole.weight.grad)
same(split.running_mean, whole.running_mean); same(split.running_var, whole.running_var)
split.eval(); whole.eval()
same(split(x[:1]), whole(x[:1]))

# DistributedDataParallel with our communication
import torch.distributed as dist
store = dist.FileStore("store", size)
dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
for state in (None, hvd.Compression.bf16):
    model = new_model()
    ddp = torch.nn.parallel.DistributedDataParallel(model)
    ddp.register_comm_hook(state, hvd.ddp_hook)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1, momentum=0.9)
    for _ in range(5):
        optimizer.zero_grad()
        F.mse_loss(ddp(data[rank::size]), target[rank::size]).backward()
        optimizer.step()
    close(model, 1e-5 if state is None else 5e-2)
dist.destroy_process_group()
""",
        2,
    )


@pytest.mark.parametrize("nodes", [1, 2])
def test_sixteen_bits_travel_between_nodes_and_nothing_is_rounded_within(ranks, nodes):
    ranks.run(
        TRAINING
        + f"""
between_nodes = {nodes} > 1
model = torch.nn.Linear(40, 40, bias=False)
exact = torch.full((40, 40), 1 + 2**-20) * (1 + torch.arange(40.0) / 64)  # more bits than 16-bit floats have
for compression in (hvd.Compression.fp16, hvd.Compression.bf16):
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.0), model.named_parameters(), compression=compression)
    for _ in range(3):
        optimizer.zero_grad()
        (model.weight * exact).sum().backward()
        optimizer.step()
        assert torch.equal(model.weight.grad, exact) != between_nodes, compression
        assert torch.allclose(model.weight.grad, exact, rtol=1e-2)
        equal_on_all_ranks = hvd.allgather(model.weight.grad[None])
        assert torch.equal(equal_on_all_ranks[0], equal_on_all_ranks[-1])
    model = torch.nn.Linear(40, 40, bias=False)
doubles = torch.nn.Linear(3, 3).double()
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(doubles.parameters(), lr=0.1), doubles.named_parameters(), compression=hvd.Compression.fp16)
doubles(torch.ones(2, 3).double()).sum().backward()
optimizer.step()
same(doubles.weight.grad, torch.full((3, 3), 2.0))
""",
        2,
        nodes=nodes,
    )
