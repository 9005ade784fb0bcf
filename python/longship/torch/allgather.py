# SPDX-License-Identifier: Apache-2.0
"""All-gather: all ranks' tensors, joined along the first dimension, in which they may differ, to all of them."""
from __future__ import annotations

from typing import Any, Callable, List, NamedTuple, Optional, Sequence

import torch

from .. import _operation as abi
from .._library import library
from .allreduce import Average, allreduce, grouped_allreduce
from .handles import begin, begin_group, called, named, synchronize
from .process_sets import ProcessSet, global_process_set, number_of
from .tensors import plain, row_of, row_size, type_of, wants_gradient


class Gathered(NamedTuple):
    """What came from all ranks, and how many rows from each."""

    tensor: torch.Tensor
    rows: List[int]


def collect(handle: int, like: torch.Tensor, ranks: int, device: torch.device) -> Gathered:
    """The result of a finished operation whose sizes only the ranks together knew."""
    per_row = max(1, row_size(like))
    rows = [count // per_row for count in library.gathered_counts(handle, ranks)]
    tensor = torch.empty((sum(rows), *row_of(like)), dtype=like.dtype)
    library.gathered(handle, tensor.data_ptr(), tensor.numel() * tensor.element_size())
    return Gathered(tensor.to(device), rows)


def _begin(
    tensor: torch.Tensor,
    label: str,
    process_set: ProcessSet,
    finish: Callable[[Gathered], Any],
    group: Optional[str] = None,
    group_size: int = 0,
) -> int:
    working = plain(tensor)
    if working.dim() == 0:
        working = working.reshape(1)  # one row each
    ranks = len(process_set.ranks)
    return begin(
        abi.ALLGATHER,
        label,
        working,
        lambda handle: finish(collect(handle, working, ranks, tensor.device)),
        address=working.data_ptr(),
        count=working.numel(),
        element=type_of(working),
        process_set=number_of(process_set),
        group=group,
        group_size=group_size,
    )


def allgather_async(
    tensor: torch.Tensor, name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> int:
    """Begins; ``synchronize(handle)`` returns the joined tensor."""
    return _begin(tensor, named("allgather", name, process_set), process_set, lambda gathered: gathered.tensor)


def allgather(
    tensor: torch.Tensor, name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> torch.Tensor:
    """All ranks' tensors, joined; gradients flow back to each."""
    if wants_gradient(tensor):
        return _Allgather.apply(tensor, called("allgather", name, process_set), process_set)
    return synchronize(allgather_async(tensor, name, process_set))


def _own_rows(gradient: torch.Tensor, rows: Sequence[int], process_set: ProcessSet) -> torch.Tensor:
    place = process_set.rank() or 0
    return gradient.narrow(0, sum(rows[:place]), rows[place])


class _Allgather(torch.autograd.Function):
    """Each rank gets the part of the gradient that belongs to its rows, averaged over the ranks, as Horovod does."""

    @staticmethod
    def forward(context: Any, tensor: torch.Tensor, label: str, process_set: ProcessSet) -> Any:
        name = named("allgather", label, process_set)
        gathered = synchronize(_begin(tensor, name, process_set, lambda result: result))
        context.arguments = (tensor.shape, gathered.rows, label, process_set)
        return gathered.tensor

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> Any:  # type: ignore[override]
        shape, rows, label, process_set = context.arguments
        reduced = allreduce(gradient, name=f"allgather.{label}.gradient", op=Average, process_set=process_set)
        return _own_rows(reduced, rows, process_set).reshape(shape), None, None


# --- groups


def _begin_grouped(
    tensors: Sequence[torch.Tensor], label: str, process_set: ProcessSet, finish: Callable[[Gathered], Any]
) -> int:
    def part(position: int, tensor: torch.Tensor) -> Callable[[str, int], int]:
        return lambda group, count: _begin(tensor, f"{label}.{position}", process_set, finish, group, count)

    return begin_group([part(position, tensor) for position, tensor in enumerate(tensors)], label)


def grouped_allgather_async(
    tensors: Sequence[torch.Tensor], name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> int:
    """Begins to gather all of them, as one."""
    label = named("grouped_allgather", name, process_set)
    return _begin_grouped(tensors, label, process_set, lambda gathered: gathered.tensor)


def grouped_allgather(
    tensors: Sequence[torch.Tensor], name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> List[torch.Tensor]:
    """All of them gathered, as one; gradients flow back to each."""
    if any(wants_gradient(tensor) for tensor in tensors):
        label = called("grouped_allgather", name, process_set)
        return list(_GroupedAllgather.apply(label, process_set, *tensors))
    return synchronize(grouped_allgather_async(tensors, name, process_set))


class _GroupedAllgather(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, label: str, process_set: ProcessSet, *tensors: torch.Tensor) -> Any:
        name = named("grouped_allgather", label, process_set)
        gathered = synchronize(_begin_grouped(tensors, name, process_set, lambda result: result))
        shapes = [tensor.shape for tensor in tensors]
        context.arguments = (shapes, [one.rows for one in gathered], label, process_set)
        return tuple(one.tensor for one in gathered)

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> Any:  # type: ignore[override]
        shapes, rows, label, process_set = context.arguments
        reduced = grouped_allreduce(gradients, name=f"{label}.gradient", op=Average, process_set=process_set)
        own = (_own_rows(*pair, process_set) for pair in zip(reduced, rows))
        return (None, None, *(gradient.reshape(shape) for gradient, shape in zip(own, shapes)))
