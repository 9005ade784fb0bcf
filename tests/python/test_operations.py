# SPDX-License-Identifier: Apache-2.0
"""All operations of longship.torch in all their forms, and their gradients. Few runs with many checks: starting torch is
what takes the time."""
import pytest
from ranks import PATIENCE

HEADER = """
import torch
import longship.torch as hvd
hvd.init()
rank, size = hvd.rank(), hvd.size()
ranks = range(size)
def same(a, b):
    assert torch.allclose(a.float(), b.float() if torch.is_tensor(b) else torch.tensor(b).float(), atol=1e-5), (a, b)
def raises(work, *words):
    try:
        work()
    except (hvd.LongshipError, ValueError) as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError(f"no error with {words}")
"""


@pytest.mark.parametrize("size,nodes", [(1, 1), (2, 1), (3, 2)])
def test_every_operation_in_every_form(ranks, size, nodes):
    ranks.run(
        HEADER
        + """
x = torch.arange(6.0).view(3, 2) + rank
total = sum(torch.arange(6.0).view(3, 2) + r for r in ranks)

# all-reduce
same(hvd.allreduce(x, op=hvd.Sum, prescale_factor=2.0, postscale_factor=0.5), total)
same(hvd.allreduce(x, op=hvd.Sum, prescale_factor=3.0), total * 3)
same(hvd.allreduce(torch.tensor([float(rank + 1)]), op=hvd.Product), [float(torch.tensor([r + 1.0 for r in ranks]).prod())])
same(hvd.synchronize(hvd.allreduce_async(x)), total / size)
same(hvd.allreduce(x, compression=hvd.Compression.bf16), (total / size).bfloat16())
bools = torch.tensor([rank == 0, True, False])
assert hvd.allreduce(bools, op=hvd.Max).tolist() == [True, True, False]
assert hvd.allreduce(bools, op=hvd.Min).tolist() == [size == 1, True, False]
same(hvd.allreduce(torch.empty(0)), torch.empty(0))
one = hvd.grouped_allreduce([x, x[:1] * 2], op=hvd.Sum)
same(one[0], total); same(one[1], total[:1] * 2)
pair = [x.clone(), torch.ones(4, dtype=torch.float64)]
handle = hvd.grouped_allreduce_async_(pair, op=hvd.Sum, name="pair")
while not hvd.poll(handle):
    pass
assert hvd.synchronize(handle)[0] is pair[0]
same(pair[0], total); same(pair[1], torch.full((4,), float(size)))
same(hvd.grouped_allreduce_([x.clone()], average=False)[0], total)
same(hvd.synchronize(hvd.grouped_allreduce_async([x]))[0], total / size)
if size > 1:
    a, b = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
    same(hvd.allreduce(torch.tensor([1.0, 1.0]), op=hvd.Adasum), [1.0, 1.0])  # of equals it is the average

# broadcast
root = size - 1
same(hvd.broadcast(x, root), torch.arange(6.0).view(3, 2) + root)
y = x.clone(); assert hvd.broadcast_(y, root) is y; same(y, torch.arange(6.0).view(3, 2) + root)
y = x.clone(); hvd.synchronize(hvd.broadcast_async_(y, root)); same(y, torch.arange(6.0).view(3, 2) + root)
same(hvd.synchronize(hvd.broadcast_async(x, root)), y)
assert hvd.broadcast(torch.tensor([rank == root]), root).item() is True

# all-gather
same(hvd.allgather(torch.tensor(rank)), list(ranks))
same(hvd.synchronize(hvd.allgather_async(torch.full((rank + 1,), rank))), [r for r in ranks for _ in range(r + 1)])
first, second = hvd.grouped_allgather([torch.full((rank, 2), float(rank)), torch.tensor([rank])])
assert first.shape == (sum(ranks), 2) and second.tolist() == list(ranks)
assert len(hvd.synchronize(hvd.grouped_allgather_async([x, x]))) == 2

# all-to-all
same(hvd.alltoall(torch.arange(size) + 10 * rank), [10 * r + rank for r in ranks])
rows = torch.cat([torch.full((to + 1, 2), float(10 * rank + to)) for to in ranks])
splits = torch.tensor([to + 1 for to in ranks])
received, counts = hvd.alltoall(rows, splits)
assert counts.tolist() == [rank + 1] * size and counts.dtype == torch.int32
same(received, torch.cat([torch.full((rank + 1, 2), float(10 * r + rank)) for r in ranks]))
received, counts = hvd.synchronize(hvd.alltoall_async(rows, splits))
assert counts.tolist() == [rank + 1] * size
received, counts = hvd.synchronize(hvd.alltoall_async(torch.arange(size)))  # a pair also without splits, as in Horovod
assert received.tolist() == [rank] * size and counts.tolist() == [1] * size
if size > 1:
    raises(lambda: hvd.alltoall(torch.ones(size + 1)), "cannot be split equally", "give splits")
raises(lambda: hvd.alltoall(torch.ones(2), [1]), "splits [1] do not divide 2 rows")
raises(lambda: hvd.alltoall(torch.tensor(1.0)), "has no rows")

# reduce-scatter: the first ranks have one row more
rows = torch.arange(2.0 * (2 * size + 1)).view(-1, 2)
part = hvd.reducescatter(rows * (rank + 1), op=hvd.Sum)
mine = rows * sum(r + 1 for r in ranks)
start = 2 * rank + min(rank, 1)
same(part, mine[start : start + (3 if rank == 0 else 2)])
same(hvd.synchronize(hvd.reducescatter_async(rows)), rows[start : start + (3 if rank == 0 else 2)])
parts = hvd.grouped_reducescatter([rows, rows * 2], op=hvd.Average)
same(parts[1], parts[0] * 2)
assert len(hvd.synchronize(hvd.grouped_reducescatter_async([rows, rows]))) == 2
raises(lambda: hvd.reducescatter(torch.tensor(1.0)), "has no rows")

# sparse
indices = torch.tensor([[0, rank + 1]])
sparse = torch.sparse_coo_tensor(indices, torch.ones(2, 3), (size + 1, 3))
whole = hvd.sparse_allreduce_async(sparse, name="sparse", op=hvd.Average)().to_dense()
same(whole[0], torch.ones(3)); same(whole[1:], torch.full((size, 3), 1 / size))

raises(lambda: hvd.allreduce(sparse), "sparse")
raises(lambda: hvd.synchronize(123456), "no operation with handle 123456")
raises(lambda: hvd.allreduce(x, average=True, op=hvd.Sum), "not both")
hvd.barrier()
assert hvd.cross_size() * hvd.local_size() >= size // 2 and 0 <= hvd.cross_rank() < hvd.cross_size()
assert hvd.is_homogeneous() in (True, False) and hvd.mpi_threads_supported() and hvd.gloo_enabled() and not hvd.mpi_built()
""",
        size,
        nodes=nodes,
    )


def test_gradients_flow_through_the_operations(ranks):
    ranks.run(
        HEADER
        + """
def gradient(work, start=None):
    x = (torch.arange(4.0) if start is None else start).requires_grad_()
    y = work(x)
    (y * (1 + torch.arange(float(y.numel())).view(y.shape))).sum().backward()
    return x.grad

weights = 1 + torch.arange(4.0)
same(gradient(lambda x: hvd.allreduce(x, op=hvd.Sum)), weights * size)
same(gradient(lambda x: hvd.allreduce(x)), weights)
same(gradient(lambda x: hvd.allreduce(x, compression=hvd.Compression.fp16)), weights)
same(gradient(lambda x: hvd.grouped_allreduce([x, x], op=hvd.Sum)[0]), weights * size)
same(gradient(lambda x: hvd.broadcast(x, 0)), weights if rank == 0 else torch.zeros(4))
every = 1 + torch.arange(4.0 * size)
same(gradient(lambda x: hvd.allgather(x)), every[4 * rank : 4 * rank + 4])
same(gradient(lambda x: hvd.grouped_allgather([x])[0]), every[4 * rank : 4 * rank + 4])
# What went to the other rank comes back from it: its rows are numbered from one there.
same(gradient(lambda x: hvd.alltoall(x)), [1 + 2 * rank, 2 + 2 * rank] * size)
same(gradient(lambda x: hvd.alltoall(x, [2, 2])[0]), [1 + 2 * rank, 2 + 2 * rank] * size)
same(gradient(lambda x: hvd.reducescatter(x, op=hvd.Average)), [1, 2] * size)
same(gradient(lambda x: hvd.reducescatter(x, op=hvd.Sum)), [size, 2 * size] * size)
same(gradient(lambda x: hvd.grouped_reducescatter([x], op=hvd.Average)[0]), [1, 2] * size)
""",
        2,
    )


def test_process_sets(ranks):
    ranks.run(
        HEADER
        + """
ends = hvd.ProcessSet([2, 0])
assert ends.size() is None and ends.rank() is None
raises(lambda: hvd.allreduce(torch.ones(1), process_set=ends), "was not added")
hvd.add_process_set(ends)
middle = hvd.add_process_set([1])
assert ends.ranks == [0, 2] and ends.size() == 2 and hvd.global_process_set.size() == 3
if rank in (0, 2):
    assert ends.included() and ends.rank() == rank // 2 and not middle.included()
    same(hvd.allreduce(torch.tensor([float(rank)]), op=hvd.Sum, process_set=ends), [2.0])
    same(hvd.allreduce(torch.tensor([float(rank)]), process_set=ends), [1.0])
    same(hvd.broadcast(torch.tensor([rank]), 2, process_set=ends), [2])
    same(hvd.allgather(torch.tensor([rank]), process_set=ends), [0, 2])
    same(hvd.alltoall(torch.tensor([rank, rank]), process_set=ends), [0, 2])
    same(hvd.reducescatter(torch.arange(4.0), process_set=ends), [0.0, 1.0] if rank == 0 else [2.0, 3.0])
    assert hvd.broadcast_object({"rank": rank}, 2, process_set=ends) == {"rank": 2}
    hvd.barrier(process_set=ends)
else:
    raises(ends.rank, "rank 1 is not in")
    raises(lambda: hvd.allreduce(torch.ones(1), process_set=ends))
    same(hvd.allreduce(torch.tensor([7.0]), process_set=middle), [7.0])
same(hvd.allreduce(torch.tensor([float(rank)]), op=hvd.Sum), [3.0])

model = torch.nn.Linear(2, 1)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters(), process_set=ends)
model(torch.full((1, 2), float(rank))).sum().backward()
optimizer.step()
same(model.weight.grad, torch.full((1, 2), 1.0))  # of 0 and 2; and rank 1's own

assert hvd.remove_process_set(ends) and not hvd.remove_process_set(ends)
assert not hvd.remove_process_set(hvd.global_process_set)
hvd.shutdown()
hvd.init(process_sets=[ends])
assert ends.size() == 2
""",
        3,
    )


def test_ranks_with_less_data_join(ranks):
    ranks.run(
        HEADER
        + """
for step in range(3 + rank):
    value = hvd.allreduce(torch.ones(2), op=hvd.Sum, name=f"step{step}")
    same(value, torch.full((2,), float(size - max(0, step - 2))))
last = hvd.join()
assert last == size - 1, last
same(hvd.allreduce(torch.ones(1), op=hvd.Sum), [float(size)])
""",
        3,
    )


def test_who_is_waited_for_long_is_named_and_a_timeline_shows_it(ranks, tmp_path):
    started = ranks.start(
        HEADER
        + """
import json, time
hvd.start_timeline("timeline.json")
if rank == 1:
    time.sleep(0.8)
hvd.allreduce(torch.ones(1), name="slow")
hvd.stop_timeline()
if rank == 0:
    (event,) = [one for one in json.load(open("timeline.json"))["traceEvents"] if one["name"] == "allreduce.slow"]
    assert event["dur"] > 1000 and event["cat"] == "communication"
""",
        2,
        LONGSHIP_STALL_WARNING="0.2",
    )
    errors = [process.communicate(timeout=PATIENCE)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0], errors
    assert '"allreduce.slow" has waited' in errors[0] and "for rank 1, announced by rank 0" in errors[0], errors


def test_threads_are_shared_by_ranks_that_share_the_cores():
    import importlib.util
    import pathlib

    path = pathlib.Path(__file__).resolve().parents[2] / "python" / "longship" / "torch" / "threads.py"
    spec = importlib.util.spec_from_file_location("threads", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for now, usable, cores, local_size, environment, expected in [
        (64, 64, 64, 4, {}, 16),  # all may use all
        (64, 64, 64, 1, {}, 64),
        (16, 16, 64, 4, {}, 16),  # bound by the launcher
        (64, 16, 64, 4, {}, 16),  # bound after torch had counted
        (2, 2, 2, 4, {}, 1),  # more ranks than cores
        (12, 64, 64, 4, {"OMP_NUM_THREADS": "12"}, 12),  # said by the user
        (1, 64, 64, 4, {}, 1),  # never more than torch would take
    ]:
        assert module.threads_for(now, usable, cores, local_size, environment) == expected
    assert module.shares_core(1, 2, 2)
    assert not module.shares_core(2, 2, 2)
    assert not module.shares_core(1, 1, 2)  # the network is slower than the core
