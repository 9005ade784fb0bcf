# SPDX-License-Identifier: Apache-2.0
"""All-to-all: each rank sends some rows of its tensor to each rank."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple, Union

import torch

from .. import _operation as abi
from .allgather import collect
from .devices import begin_on_device, by_nccl
from .handles import begin, called, named, synchronize
from .process_sets import ProcessSet, global_process_set, number_of
from .tensors import plain, row_size, type_of, wants_gradient

Splits = Union[None, torch.Tensor, Sequence[int]]


def _checked_splits(tensor: torch.Tensor, splits: Splits, ranks: int) -> List[int]:
    """How many rows go to each rank."""
    if tensor.dim() == 0:
        raise ValueError("alltoall: a tensor without dimensions has no rows to be sent")
    if splits is None:
        if tensor.shape[0] % ranks != 0:
            raise ValueError(f"alltoall: {tensor.shape[0]} rows cannot be split equally between {ranks} ranks: give splits")
        return [tensor.shape[0] // ranks] * ranks
    rows = [int(count) for count in splits]
    if len(rows) != ranks or sum(rows) != tensor.shape[0] or min(rows) < 0:
        raise ValueError(f"alltoall: splits {rows} do not divide {tensor.shape[0]} rows between {ranks} ranks")
    return rows


def _begin(tensor: torch.Tensor, splits: Splits, label: str, process_set: ProcessSet) -> int:
    ranks = len(process_set.ranks)
    rows = _checked_splits(tensor, splits, ranks)
    if splits is None and by_nccl(tensor, process_set):
        output = torch.empty_like(tensor, memory_format=torch.contiguous_format)
        return begin_on_device(
            abi.ALLTOALL, label, tensor, process_set, output=output, finish=lambda received: _pair(received, rows)
        )
    working = plain(tensor)
    return begin(
        abi.ALLTOALL,
        label,
        working,
        lambda handle: _pair(*collect(handle, working, ranks, tensor.device)),
        address=working.data_ptr(),
        count=working.numel(),
        element=type_of(working),
        splits=[count * row_size(working) for count in rows],
        process_set=number_of(process_set),
    )


def _pair(received: torch.Tensor, rows: Sequence[int]) -> Tuple[torch.Tensor, torch.Tensor]:
    return received, torch.tensor(rows, dtype=torch.int32)


def alltoall_async(
    tensor: torch.Tensor,
    splits: Splits = None,
    name: Optional[str] = None,
    process_set: ProcessSet = global_process_set,
) -> int:
    """Begins; ``synchronize(handle)`` returns the rows and, also without ``splits``, how many came from each rank."""
    return _begin(tensor, splits, named("alltoall", name, process_set), process_set)


def alltoall(
    tensor: torch.Tensor,
    splits: Splits = None,
    name: Optional[str] = None,
    process_set: ProcessSet = global_process_set,
) -> Any:
    """The rows that all ranks sent to this one, in the order of ranks; gradients flow back the way they came.

    ``splits`` says how many rows go to each rank (equal parts if not given); with it, the number of rows from each rank
    is returned as well.
    """
    label = called("alltoall", name, process_set)
    if wants_gradient(tensor):
        received, rows = _Alltoall.apply(tensor, splits, label, process_set)
    else:
        received, rows = synchronize(alltoall_async(tensor, splits, label, process_set))
    return received if splits is None else (received, rows)


class _Alltoall(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, tensor: torch.Tensor, splits: Splits, label: str, process_set: ProcessSet) -> Any:
        received, rows = synchronize(alltoall_async(tensor, splits, label, process_set))
        context.arguments = (None if splits is None else rows.tolist(), label, process_set)
        context.mark_non_differentiable(rows)
        return received, rows

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor, *_: Any) -> Any:  # type: ignore[override]
        rows, label, process_set = context.arguments
        returned = alltoall(gradient, rows, f"{label}.gradient", process_set)
        return returned if rows is None else returned[0], None, None, None
