# SPDX-License-Identifier: Apache-2.0
"""Unusual numbers of things: very many tensors, empty ones, numbers that are none, and many beginnings and ends."""
import multiprocessing
import os

import pytest
from test_operations import HEADER


def test_nan_is_passed_on_to_all_ranks_and_counted(ranks):
    processes = ranks.start(
        HEADER
        + """
assert hvd.nan_count() == 0
x = torch.ones(100)
if rank == 1:
    x[7] = float("nan")
for turn in range(3):
    y = hvd.allreduce(x, name="x")
    assert torch.isnan(y).nonzero().tolist() == [[7]]
same(hvd.allreduce(torch.ones(3), name="fine"), [1.0] * 3)
assert hvd.nan_count() == 3, hvd.nan_count()
""",
        2,
    )
    said = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    for rank, words in enumerate(said):
        assert words.count("NaN") == 1 and f"rank {rank}: the result of allreduce.x holds a NaN" in words


@pytest.mark.parametrize("nodes", [1, 2])
def test_ten_thousand_tensors_at_once_some_of_them_empty(ranks, nodes):
    ranks.run(
        HEADER
        + """
tensors = [torch.full((number % 3,), float(number)) for number in range(10_000)]
order = torch.randperm(len(tensors), generator=torch.Generator().manual_seed(rank)).tolist()  # another on each rank
handles = {number: hvd.allreduce_async_(tensors[number], name=f"tensor.{number}", op=hvd.Sum) for number in order}
for number, handle in handles.items():
    hvd.synchronize(handle)
assert all(torch.equal(tensor, torch.full((number % 3,), 2.0 * number)) for number, tensor in enumerate(tensors))

empty = torch.empty(0, 5)
assert hvd.allreduce(empty).shape == (0, 5) and hvd.broadcast(empty, 1).shape == (0, 5)
assert hvd.allgather(empty).shape == (0, 5)
assert hvd.allgather(torch.ones(rank, 2)).shape == (1, 2)  # nothing from rank 0
assert hvd.reducescatter(empty).shape == (0, 5) and hvd.alltoall(empty).shape == (0, 5)
received, splits = hvd.alltoall(torch.ones(2 * rank, 3), [rank, rank])
assert received.shape == (1, 3) and splits.tolist() == [0, 1]
""",
        2,
        nodes=nodes,
    )


def spin():
    while True:
        pass


def test_two_hundred_worlds_one_after_the_other_on_a_busy_machine(ranks):
    """As Horovod over gloo dies of: an exception in a thread of its own, when a machine is too slow to answer."""
    busy = [multiprocessing.Process(target=spin, daemon=True) for _ in range(os.cpu_count() or 1)]
    for process in busy:
        process.start()
    try:
        said = ranks.run(
            HEADER
            + """
opened = lambda: len(__import__("os").listdir("/proc/self/fd"))
hvd.allreduce(torch.ones(1))
hvd.shutdown()
before = opened()
for turn in range(200):
    hvd.init()
    assert hvd.allreduce(torch.tensor([float(turn)]), op=hvd.Sum, name="x").item() == 2 * turn
    hvd.shutdown()
assert opened() == before, (before, opened())
print("done")
""",
            2,
        )
    finally:
        for process in busy:
            process.kill()
            process.join()
    assert said == ["done\n"] * 2
