# SPDX-License-Identifier: Apache-2.0
"""Tensors in GPUs' memory, as far as they can be tried without one: a FAKE of NCCL between processes (fake_nccl.cpp), and host
memory in the place of a GPU's. What it shows is that the right calls are made in the right stream; no GPU was ever seen here."""
import pathlib
import subprocess

import pytest
from test_training import TRAINING

# Floating point tensors are pretended to be on a GPU.
PRETENDED = (
    TRAINING
    + """
import ctypes, os, sys, warnings
from longship.torch import devices
class Stream:
    def __init__(self, number):
        self.cuda_stream, self.waited_for = number, []
    def wait_stream(self, other):
        self.waited_for.append(other.cuda_stream)
own, lane = Stream(1), Stream(7)
devices.current_stream, devices.new_stream = lambda device: own, lambda device: lane
for name, module in list(sys.modules.items()):
    if name.startswith("longship.torch") and hasattr(module, "on_gpu"):
        module.on_gpu = lambda tensor: tensor.is_floating_point()
"""
)

COUNTED = (
    PRETENDED
    + """
fake = ctypes.CDLL(os.environ["LONGSHIP_NCCL"])
fake.fake_nccl_calls.restype, fake.fake_nccl_stream.restype = ctypes.c_char_p, ctypes.c_void_p
def calls(expected):
    made = fake.fake_nccl_calls().decode()
    assert made == expected, (made, expected)
"""
)


@pytest.fixture(scope="module")
def fake_nccl(tmp_path_factory):
    library = tmp_path_factory.mktemp("nccl") / "libfake-nccl.so"
    source = pathlib.Path(__file__).parent / "fake_nccl.cpp"
    subprocess.run(["c++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-shared", "-fPIC", source, "-o", library, "-lpthread"], check=True)
    return str(library)


def test_nccl_does_what_it_can_and_main_memory_the_rest(ranks, fake_nccl):
    ranks.run(
        COUNTED
        + """
x = torch.arange(6.0).view(3, 2) + rank
total = torch.arange(6.0).view(3, 2) * 2 + 1

# all-reduce
same(hvd.allreduce(x), total / 2); calls("a")
assert fake.fake_nccl_stream() == 7 and lane.waited_for == [1] and own.waited_for == [7]
same(hvd.allreduce(x, op=hvd.Sum, name="again"), total); same(hvd.allreduce(x, op=hvd.Sum, name="again"), total); calls("aa")
for op, expected in [(hvd.Min, torch.arange(6.0)), (hvd.Max, torch.arange(6.0) + 1), (hvd.Product, torch.arange(6.0) * (torch.arange(6.0) + 1))]:
    same(hvd.allreduce(x, op=op).flatten(), expected)
calls("aaa")
y = x.clone()
assert hvd.allreduce_(y, op=hvd.Sum, prescale_factor=3.0, postscale_factor=0.5) is y
same(y, total * 1.5); calls("a")
y = x.t().clone().t()  # not contiguous
assert hvd.synchronize(hvd.allreduce_async_(y, op=hvd.Sum)) is y
same(y, total); calls("a")
pair = hvd.grouped_allreduce([x, x.double() * 2], op=hvd.Sum)
same(pair[0], total); same(pair[1], total * 2); calls("aa")
same(hvd.allreduce(torch.ones(3), op=hvd.Adasum), torch.ones(3)); calls("")  # NCCL has no such thing
same(hvd.allreduce(torch.tensor([rank])), [0.5 // 1]); calls("")  # in main memory
same(hvd.allreduce(x, compression=hvd.Compression.bf16), total / 2); calls("a")

# the others
same(hvd.broadcast(x, 1), torch.arange(6.0).view(3, 2) + 1); calls("b")
y = x.t().clone().t(); assert hvd.broadcast_(y, 0) is y; same(y, torch.arange(6.0).view(3, 2)); calls("b")
rows = torch.arange(8.0).view(4, 2) * (rank + 1)
same(hvd.reducescatter(rows, op=hvd.Sum), torch.arange(8.0).view(4, 2)[2 * rank : 2 * rank + 2] * 3); calls("r")
same(hvd.reducescatter(rows, op=hvd.Sum, prescale_factor=2.0), torch.arange(8.0).view(4, 2)[2 * rank : 2 * rank + 2] * 6); calls("r")
same(rows, torch.arange(8.0).view(4, 2) * (rank + 1))  # not changed
assert [part.shape for part in hvd.grouped_reducescatter([rows, rows])] == [(2, 2)] * 2; calls("rr")
same(hvd.reducescatter(rows[:3], op=hvd.Sum), torch.arange(8.0).view(4, 2)[:2] * 3 if rank == 0 else torch.arange(8.0).view(4, 2)[2:3] * 3); calls("")
same(hvd.alltoall(torch.arange(4.0) + 10 * rank), [0.0 + 2 * rank, 1.0 + 2 * rank, 10.0 + 2 * rank, 11.0 + 2 * rank]); calls("ss")
received, counts = hvd.alltoall(torch.arange(3.0), [1, 2]); assert counts.tolist() == [rank + 1] * 2; calls("")
same(hvd.allgather(torch.full((rank + 1,), float(rank))), [0.0, 1.0, 1.0]); calls("")

# gradients
z = torch.arange(4.0).requires_grad_()
(hvd.alltoall(z) * (rank + 1)).sum().backward(); same(z.grad, [1.0, 1.0, 2.0, 2.0]); calls("ssss")
z = torch.arange(4.0).requires_grad_()
hvd.allreduce(z, op=hvd.Sum).sum().backward(); same(z.grad, [2.0] * 4); calls("aa")

# a process set has its own meeting, and may go and come again
for _ in range(2):
    alone = hvd.add_process_set([1])
    if rank == 1:
        same(hvd.allreduce(torch.ones(2), op=hvd.Sum, process_set=alone), torch.ones(2)); calls("a")
    hvd.remove_process_set(alone)
hvd.shutdown(); hvd.init()
same(hvd.allreduce(x), total / 2); calls("a")
""",
        2,
        LONGSHIP_NCCL=fake_nccl,
    )


def test_training_on_pretended_gpus(ranks, fake_nccl):
    ranks.run(
        COUNTED
        + """
close(together()[0])
assert set(fake.fake_nccl_calls().decode()) == {"a", "b"}
close(together(passes=2, gradient_predivide_factor=2.0)[0])
close(together(num_groups=2)[0])
close(together(compression=hvd.Compression.bf16)[0], 5e-2)
close(together(compression=hvd.TopK(1.0))[0])
close(together(compression=hvd.PowerSGD(rank=8))[0])
equal_on_all(together(op=hvd.Adasum)[0])

table = torch.nn.Embedding(10, 4, sparse=True)
hvd.broadcast_parameters(table.state_dict(), root_rank=0)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(table.parameters(), lr=0.5), table.named_parameters())
for step in range(3):
    optimizer.zero_grad(); table(torch.tensor([rank, rank + step])).sum().backward(); optimizer.step()
equal_on_all(table)

norm = hvd.SyncBatchNorm(3)
norm(torch.randn(4, 3)).sum().backward()
assert torch.isfinite(norm.weight.grad).all()
""",
        2,
        LONGSHIP_NCCL=fake_nccl,
    )


def test_without_nccl_all_goes_through_main_memory_and_is_said_once(ranks):
    ranks.run(
        PRETENDED
        + """
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    same(hvd.allreduce(torch.tensor([1.0 + rank]), op=hvd.Sum), [3.0])
    same(hvd.broadcast(torch.tensor([1.0 + rank]), 1), [2.0])
    same(hvd.reducescatter(torch.arange(4.0)), [0.0, 1.0] if rank == 0 else [2.0, 3.0])
(warning,) = said
assert "tensors on GPUs go by way of main memory" in str(warning.message) and "/nowhere/libnccl.so" in str(warning.message)
close(together()[0])
""",
        2,
        LONGSHIP_NCCL="/nowhere/libnccl.so",
    )
