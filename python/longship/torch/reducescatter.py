# SPDX-License-Identifier: Apache-2.0
"""Reduce-scatter: the sum or average of all ranks' tensors, of which each rank gets its part of the rows."""
from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence, Tuple

import torch

from .. import _operation as abi
from .._library import library
from .allgather import allgather, grouped_allgather
from .allreduce import Average, Sum
from .compression import Compression
from .devices import begin_on_device, reduced_by_nccl
from .handles import begin, begin_group, called, named, synchronize
from .process_sets import ProcessSet, global_process_set, number_of
from .tensors import on_gpu, plain, row_of, row_size, type_of, wants_gradient

Scales = Tuple[float, float]


def _own_part(handle: int, like: torch.Tensor, process_set: ProcessSet, device: torch.device) -> torch.Tensor:
    counts = library.gathered_counts(handle, len(process_set.ranks))
    rows = counts[process_set.rank() or 0] // max(1, row_size(like))
    part = torch.empty((rows, *row_of(like)), dtype=like.dtype)
    library.gathered(handle, part.data_ptr(), part.numel() * part.element_size())
    return part.to(device)


def _begin(
    tensor: torch.Tensor,
    label: str,
    op: int,
    process_set: ProcessSet,
    scales: Scales,
    group: Optional[str] = None,
    group_size: int = 0,
) -> int:
    if tensor.dim() == 0:
        raise ValueError("reducescatter: a tensor without dimensions has no rows to be shared")
    ranks = len(process_set.ranks)
    fields = {"op": op, "row": max(1, row_size(tensor)), "group": group, "group_size": group_size}
    # The rows of all ranks are the same there, or it is an error.
    if on_gpu(tensor) and tensor.shape[0] % ranks == 0 and reduced_by_nccl(tensor, op, scales, process_set):
        part = tensor.new_empty((tensor.shape[0] // ranks, *row_of(tensor)))
        return begin_on_device(abi.REDUCESCATTER, label, tensor, process_set, scales, part, **fields)
    working = plain(tensor)
    return begin(
        abi.REDUCESCATTER,
        label,
        working,
        lambda handle: _own_part(handle, working, process_set, tensor.device),
        address=working.data_ptr(),
        count=working.numel(),
        element=type_of(working),
        process_set=number_of(process_set),
        prescale=scales[0],
        postscale=scales[1],
        **fields,
    )


def reducescatter_async(
    tensor: torch.Tensor,
    name: Optional[str] = None,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> int:
    """Begins; ``synchronize(handle)`` returns this rank's rows."""
    label = named("reducescatter", name, process_set)
    return _begin(tensor, label, op, process_set, (prescale_factor, postscale_factor))


def reducescatter(
    tensor: torch.Tensor,
    name: Optional[str] = None,
    compression: Any = Compression.none,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> torch.Tensor:
    """This rank's rows of the reduced tensor; where they cannot be shared equally the first ranks have one more."""
    compressed, context = compression.compress(tensor)
    label = called("reducescatter", name, process_set)
    scales = (prescale_factor, postscale_factor)
    if wants_gradient(compressed):
        part = _Reducescatter.apply(compressed, label, op, process_set, scales)
    else:
        part = synchronize(reducescatter_async(compressed, label, op, process_set, *scales))
    return compression.decompress(part, context)


def _scaled(gradient: torch.Tensor, op: int, process_set: ProcessSet, scales: Scales) -> torch.Tensor:
    """Horovod's convention: of a sum the gradient is the sum as well."""
    factor = scales[0] * scales[1] * (len(process_set.ranks) if op == Sum else 1)
    return gradient if factor == 1 else gradient * factor


class _Reducescatter(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any, tensor: torch.Tensor, label: str, op: int, process_set: ProcessSet, scales: Scales
    ) -> Any:
        context.arguments = (label, op, process_set, scales)
        return synchronize(reducescatter_async(tensor, label, op, process_set, *scales))

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> Any:  # type: ignore[override]
        label, op, process_set, scales = context.arguments
        scaled = _scaled(gradient, op, process_set, scales)
        return allgather(scaled, f"reducescatter.{label}.gradient", process_set), None, None, None, None


# --- groups


def grouped_reducescatter_async(
    tensors: Sequence[torch.Tensor],
    name: Optional[str] = None,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> int:
    """Begins with all of them, as one."""
    label = named("grouped_reducescatter", name, process_set)
    scales = (prescale_factor, postscale_factor)

    def part(position: int, tensor: torch.Tensor) -> Callable[[str, int], int]:
        return lambda group, count: _begin(tensor, f"{label}.{position}", op, process_set, scales, group, count)

    return begin_group([part(position, tensor) for position, tensor in enumerate(tensors)], label)


def grouped_reducescatter(
    tensors: Sequence[torch.Tensor],
    name: Optional[str] = None,
    compression: Any = Compression.none,
    op: int = Average,
    process_set: ProcessSet = global_process_set,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
) -> List[torch.Tensor]:
    """This rank's rows of each, reduced as one."""
    compressed, contexts = zip(*(compression.compress(tensor) for tensor in tensors))
    label = called("grouped_reducescatter", name, process_set)
    scales = (prescale_factor, postscale_factor)
    if any(wants_gradient(tensor) for tensor in compressed):
        parts = _GroupedReducescatter.apply(label, op, process_set, scales, *compressed)
    else:
        parts = synchronize(grouped_reducescatter_async(compressed, label, op, process_set, *scales))
    return [compression.decompress(part, context) for part, context in zip(parts, contexts)]


class _GroupedReducescatter(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any, label: str, op: int, process_set: ProcessSet, scales: Scales, *tensors: torch.Tensor
    ) -> Any:
        context.arguments = (label, op, process_set, scales)
        return tuple(synchronize(grouped_reducescatter_async(tensors, label, op, process_set, *scales)))

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> Any:  # type: ignore[override]
        label, op, process_set, scales = context.arguments
        scaled = [_scaled(gradient, op, process_set, scales) for gradient in gradients]
        return (None, None, None, None, *grouped_allgather(scaled, f"{label}.gradient", process_set))
