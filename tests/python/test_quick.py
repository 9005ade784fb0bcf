# SPDX-License-Identifier: Apache-2.0
"""An all-reduce that is asked for again is handed over as it was kept: never when anything about it differs."""
from test_operations import HEADER

CALLS = (
    HEADER
    + """
from longship.torch import quick

def kept(name):
    return quick.prepared.get(name)

def of(tensor, **how):
    return hvd.allreduce_(tensor, name="x", **how)
"""
)


def test_what_was_kept_is_used_for_the_same_and_for_nothing_else(ranks):
    ranks.run(
        CALLS
        + """
x = torch.full((2, 2), 1.0 + rank)
same(of(x, op=hvd.Sum), torch.full((2, 2), 3.0))
first = kept("x")
assert first is not None
for _ in range(3):
    x.fill_(1.0 + rank)
    assert of(x, op=hvd.Sum) is x
    same(x, torch.full((2, 2), 3.0))
assert kept("x") is first

x.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
same(of(x), [[1.0, 2.0], [3.0, 4.0]])  # the average, in the same memory
same(of(x, average=False), [[2.0, 4.0], [6.0, 8.0]])
same(of(x, op=hvd.Sum, prescale_factor=0.5), [[2.0, 4.0], [6.0, 8.0]])
same(of(x, op=hvd.Max), [[2.0, 4.0], [6.0, 8.0]])
turned = x.t()  # the same address and size, but not one element after the other
turned.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
assert of(turned, op=hvd.Max) is turned
same(turned, [[1.0, 2.0], [3.0, 4.0]])
integers = torch.arange(4, dtype=torch.int32)
of(integers, op=hvd.Sum); of(integers, op=hvd.Sum)
same(integers, [0, 4, 8, 12])
floats = integers.view(torch.float32)  # the same memory again
floats.fill_(1.5)
same(of(floats, op=hvd.Sum), [3.0] * 4)
part = floats[:2]
same(of(part, op=hvd.Sum), [6.0] * 2)
same(of(floats, op=hvd.Sum), [12.0, 12.0, 6.0, 6.0])
everybody = hvd.add_process_set([0, 1]); mine = hvd.add_process_set([0])
same(of(floats, op=hvd.Sum, process_set=everybody), [24.0, 24.0, 12.0, 12.0])
of(floats, op=hvd.Sum)
if rank == 0:
    same(of(floats, op=hvd.Sum, process_set=mine), [48.0, 48.0, 24.0, 24.0])
empty = torch.empty(0)
of(empty); of(empty)
raises(lambda: of(torch.eye(2).to_sparse()), "sparse")

for number in range(quick._MOST + 10):
    hvd.allreduce_(floats, name=f"new.{number}")
assert len(quick.prepared) == quick._MOST
""",
        2,
    )


def test_ranks_that_differ_in_what_they_keep_are_told(ranks):
    ranks.run(
        CALLS
        + """
x, other = torch.ones(4), torch.ones(5)
of(x); of(x)
raises(lambda: of(x if rank == 0 else other), 'ranks do not agree on "allreduce.x"')
of(x); of(x)
same(of(x, op=hvd.Sum), [2.0] * 4)
raises(lambda: (of(x, op=hvd.Sum) if rank == 0 else of(x, op=hvd.Min)), "do not agree")
""",
        2,
    )


def test_a_new_world_and_a_timeline_begin_with_nothing_kept(ranks):
    ranks.run(
        CALLS
        + """
import json
x = torch.ones(4)
of(x, op=hvd.Sum)
assert kept("x") is not None
hvd.shutdown()
assert kept("x") is None
hvd.init()
same(of(x, op=hvd.Sum), [4.0] * 4)
same(of(x, op=hvd.Sum), [8.0] * 4)
hvd.start_timeline("timeline.json")
of(x); of(x)
hvd.stop_timeline()
if rank == 0:
    assert [one["name"] for one in json.load(open("timeline.json"))["traceEvents"]] == ["allreduce.x"] * 2
""",
        2,
    )


def test_what_is_recorded_is_not_kept(ranks, tmp_path):
    ranks.run(
        CALLS
        + """
x = torch.ones(4)
of(x); of(x)
assert kept("x") is None
""",
        2,
        LONGSHIP_RECORD=str(tmp_path / "record"),
    )
