# SPDX-License-Identifier: Apache-2.0
"""longship.torch on real ranks: shared memory within a node, TCP between them."""
import signal

import pytest
from ranks import PATIENCE

SPREADS = [(1, 1), (2, 1), (3, 1), (2, 2), (3, 2)]
HEADER = """
import torch
import longship.torch as hvd
hvd.init()
rank, size = hvd.rank(), hvd.size()
"""


@pytest.mark.parametrize("size,nodes", SPREADS)
def test_operations(ranks, size, nodes):
    ranks.run(
        HEADER
        + """
x = torch.arange(5.0) + rank
total = sum(torch.arange(5.0) + r for r in range(size))
assert torch.allclose(hvd.allreduce(x, op=hvd.Sum), total)
assert torch.allclose(hvd.allreduce(x), total / size)
assert torch.allclose(hvd.allreduce(x, average=False), total)
assert torch.equal(x, torch.arange(5.0) + rank), "allreduce makes a new tensor"
assert torch.equal(hvd.allreduce(torch.tensor([rank]), op=hvd.Max), torch.tensor([size - 1]))
assert torch.equal(hvd.allreduce(torch.tensor([rank]), op=hvd.Min), torch.tensor([0]))
assert torch.allclose(hvd.allreduce(x, compression=hvd.Compression.fp16), total / size)
assert hvd.allreduce(x, compression=hvd.Compression.fp16).dtype == torch.float32

handle = hvd.allreduce_async_(x, op=hvd.Sum, name="x")
while not hvd.poll(handle):
    pass
assert hvd.synchronize(handle) is x and torch.allclose(x, total)

transposed = torch.ones(3, 4).t()
hvd.allreduce_(transposed, op=hvd.Sum)
assert torch.equal(transposed, torch.full((4, 3), float(size))), "also what is not contiguous"

gathered = hvd.allgather(torch.full((rank, 2), rank))
assert gathered.tolist() == [[r, r] for r in range(size) for _ in range(r)]

root = size - 1
assert hvd.broadcast(torch.tensor([rank]), root).item() == root
assert hvd.broadcast_object({"from": rank}, root) == {"from": root}
assert hvd.allgather_object((rank, "x" * rank)) == [(r, "x" * r) for r in range(size)]
hvd.barrier()
""",
        size,
        nodes=nodes,
    )


@pytest.mark.parametrize("name", ["uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64"])
def test_types(ranks, name):
    ranks.run(HEADER + f"\nassert hvd.allreduce(torch.ones(9, dtype=torch.{name}), op=hvd.Sum).sum() == 18\n", 2)


def test_a_type_that_cannot_be_sent_is_named(ranks):
    ranks.run(
        HEADER
        + """
try:
    hvd.allreduce(torch.ones(1, dtype=torch.complex64))
except hvd.LongshipError as error:
    assert "complex64" in str(error)
else:
    raise AssertionError
""",
        1,
    )


TRAINING = (
    HEADER
    + """
torch.manual_seed(rank)  # different starts, made equal by the broadcast
model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), {options})
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
data = torch.randn(24, 6, generator=torch.Generator().manual_seed(7))
target = torch.randn(24, 3, generator=torch.Generator().manual_seed(8))
for step in range(5):
    optimizer.zero_grad()
    for part in range({passes}):
        mine = slice(rank * {passes} + part, None, size * {passes})
        (torch.nn.functional.mse_loss(model(data[mine]), target[mine]) / {passes}).backward()
    optimizer.step()
flat = torch.cat([p.detach().flatten() for p in model.parameters()])
every = hvd.allgather(flat.unsqueeze(0))
assert all(torch.equal(row, every[0]) for row in every), "all ranks have the same model"
if rank == 0:
    print(*flat.tolist())
"""
)


def trained(make_ranks, size, options="", passes=1, **kwargs):
    script = TRAINING.replace("{options}", options).replace("{passes}", str(passes))
    output = make_ranks.run(script, size, **kwargs)[0]
    make_ranks.processes.clear()
    return [float(number) for number in output.split()]


def test_training_gives_the_same_model_on_any_number_of_ranks(ranks):
    alone = trained(ranks, 1)
    for size, nodes in [(2, 1), (3, 1), (2, 2)]:
        assert trained(ranks, size, nodes=nodes) == pytest.approx(alone, abs=1e-5)
    assert trained(ranks, 2, "compression=hvd.Compression.fp16") == pytest.approx(alone, abs=1e-2)


def test_several_backward_passes_per_step_are_one_larger_batch(ranks):
    alone = trained(ranks, 1)
    assert trained(ranks, 2, "backward_passes_per_step=2", passes=2) == pytest.approx(alone, abs=1e-5)


def test_parameters_without_a_gradient_are_no_obstacle(ranks):
    ranks.run(
        HEADER
        + """
used, unused = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
parameters = list(used.named_parameters(prefix="used")) + list(unused.named_parameters(prefix="unused"))
optimizer = hvd.DistributedOptimizer(torch.optim.SGD([p for _, p in parameters], lr=0.1), named_parameters=parameters)
layer = used if rank == 0 else unused  # ranks may even differ
layer(torch.ones(1, 2)).sum().backward()
optimizer.step()
assert torch.allclose(used.weight.grad, torch.full((2, 2), 0.5))
""",
        2,
    )


def test_wrong_use_of_the_optimizer_is_explained(ranks):
    ranks.run(
        HEADER
        + """
def message(work):
    try:
        work()
    except (hvd.LongshipError, TypeError, ValueError) as error:
        return str(error)
    raise AssertionError("no error")

for give in (hvd.allreduce, hvd.allreduce_, hvd.allgather, lambda thing: hvd.broadcast(thing, 0), hvd.alltoall):
    assert "a tensor is needed, not list" in message(lambda: give([1.0, 2.0]))
assert "op='sum': one of Sum, Average" in message(lambda: hvd.allreduce(torch.ones(1), op="sum"))
layer = torch.nn.Linear(1, 1)
plain = torch.optim.SGD(layer.parameters(), lr=0.1)
twice = [("w", layer.weight), ("w", layer.bias)]
assert "twice" in message(lambda: hvd.DistributedOptimizer(plain, named_parameters=twice))
assert "pairs of a name" in message(lambda: hvd.DistributedOptimizer(plain, named_parameters=layer.state_dict()))
assert "not Linear" in message(lambda: hvd.DistributedOptimizer(layer))
assert "compression='fp16': one of" in message(lambda: hvd.DistributedOptimizer(plain, compression="fp16"))
optimizer = hvd.DistributedOptimizer(plain, named_parameters=layer.named_parameters())
assert "distributed one already" in message(lambda: hvd.DistributedOptimizer(optimizer))
layer(torch.ones(1, 1)).backward()
assert "zero_grad()" in message(optimizer.zero_grad)
assert "backward_passes_per_step" in message(lambda: layer(torch.ones(1, 1)).backward())
assert "synchronize" in message(lambda: optimizer.skip_synchronize().__enter__())
optimizer.synchronize()
with optimizer.skip_synchronize():
    optimizer.step()

other = torch.nn.Linear(1, 1)
names = [(f"of {rank}", other.weight), ("bias", other.bias)]
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(other.parameters(), lr=0.1), named_parameters=names)
other(torch.ones(1, 1)).backward()
assert message(optimizer.step) == 'rank 0 has a parameter "of 0", and rank 1 has none of that name'
""",
        2,
    )


def test_mismatch_is_an_exception_on_every_rank(ranks):
    ranks.run(
        HEADER
        + """
try:
    hvd.allreduce(torch.ones(3 + rank), name="w")
except hvd.LongshipError as error:
    assert 'ranks do not agree on "allreduce.w"' in str(error), error
else:
    raise AssertionError
assert hvd.allreduce(torch.ones(2), op=hvd.Sum).sum() == 2 * size
""",
        3,
    )


def test_init_and_shutdown_again_and_again(ranks):
    ranks.run(
        HEADER
        + """
for round in range(10):
    assert hvd.allreduce(torch.ones(10), op=hvd.Sum, name="x").sum() == 10 * size
    hvd.shutdown()
    assert not hvd.is_initialized()
    hvd.init()
""",
        2,
    )


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("victim", [0, 1, 2])
def test_a_killed_rank_is_an_error_for_the_others(ranks, nodes, victim):
    processes = ranks.start(
        HEADER
        + """
hvd.barrier()
print("ready", flush=True)
try:
    while True:
        hvd.allreduce(torch.ones(100000), name="x")
except hvd.LongshipError as error:
    assert "was lost" in str(error), error
""",
        3,
        nodes=nodes,
    )
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    processes[victim].send_signal(signal.SIGKILL)
    for rank, process in enumerate(processes):
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == (-signal.SIGKILL if rank == victim else 0), errors


def test_a_rank_that_raises_does_not_leave_the_others_waiting(ranks):
    processes = ranks.start(
        HEADER
        + """
if rank == 1:
    raise SystemExit(7)
try:
    hvd.allreduce(torch.ones(1), name="x")
except hvd.LongshipError as error:
    assert "rank 1 has left" in str(error), error
""",
        2,
    )
    for rank, process in enumerate(processes):
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == [0, 7][rank], errors


def test_without_torch_the_package_imports(ranks):
    ranks.run(
        """
import sys
sys.modules["torch"] = None
import longship
from longship import trace
longship.progress(1, 10, loss=0.5)
with trace.region("augment"):
    pass
assert list(trace.batches([1, 2])) == [1, 2]
""",
        1,
    )


def test_a_run_is_recorded(ranks, tmp_path):
    record = tmp_path / "record"
    record.mkdir()
    ranks.run(
        HEADER
        + """
import longship
from longship import trace
for step, batch in enumerate(trace.batches([1, 2, 3])):
    hvd.allreduce(torch.ones(4), name="x")
    longship.progress(step + 1, 3, loss=1.0)
""",
        2,
        LONGSHIP_RECORD=str(record),
    )
    assert sorted(path.name for path in record.iterdir()) == ["rank-00000.rec", "rank-00001.rec"]
