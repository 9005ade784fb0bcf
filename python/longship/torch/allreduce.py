# SPDX-License-Identifier: Apache-2.0
"""All-reduce: the sum, average, … of all ranks' tensors, to all of them."""
from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence, Tuple

import torch

from .. import _operation as abi
from .._library import library
from ..trace import region
from . import quick
from .compression import Compression
from .devices import begin_on_device, reduced_by_nccl
from .handles import begin, begin_group, called, named, synchronize
from .process_sets import ProcessSet, global_process_set, number_of
from .tensors import copied, number_of_type, on_gpu, plain, put_back, type_of, wants_gradient

_STRIDED = torch.strided

# As the library numbers them.
Sum, Average, Min, Max, Product, Adasum = abi.SUM, abi.AVERAGE, abi.MIN, abi.MAX, abi.PRODUCT, abi.ADASUM


def op_of(average: Optional[bool], op: Optional[int]) -> int:
    """Horovod's two ways to say it; the default is the average."""
    if average is not None and op is not None:
        raise ValueError("give either op or average, not both")
    if op is None:
        return Sum if average is False else Average
    if not isinstance(op, int) or not Sum <= op <= Adasum:
        raise ValueError(f"op={op!r}: one of Sum, Average, Min, Max, Product, Adasum")
    return op


def _begin(
    tensor: torch.Tensor,
    label: str,
    op: int,
    scales: Tuple[float, float],
    process_set: ProcessSet,
    group: Optional[str] = None,
    group_size: int = 0,
    wire: int = 0,
) -> int:
    if on_gpu(tensor) and reduced_by_nccl(tensor, op, scales, process_set):
        members = {"group": group, "group_size": group_size}
        return begin_on_device(abi.ALLREDUCE, label, tensor, process_set, scales, op=op, **members)
    working = plain(tensor)
    return begin(
        abi.ALLREDUCE,
        label,
        working,
        lambda _: put_back(working, tensor),
        address=working.data_ptr(),
        count=working.numel(),
        element=type_of(working),
        op=op,
        process_set=number_of(process_set),
        group=group,
        group_size=group_size,
        prescale=scales[0],
        postscale=scales[1],
        wire=wire,
    )


def allreduce_async_(
    tensor: torch.Tensor,
    average: Optional[bool] = None,
    name: Optional[str] = None,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> int:
    """Begins to reduce in place; ``synchronize(handle)`` waits for it."""
    return narrow_allreduce_async_(
        tensor, None, name, op_of(average, op), prescale_factor, postscale_factor, process_set
    )


def narrow_allreduce_async_(
    tensor: torch.Tensor,
    wire: Optional[torch.dtype],
    name: Optional[str] = None,
    op: int = Average,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> int:
    """The same; floats of 32 bits may travel between nodes as ``wire``, of 16 bits. Sums are made in 32."""
    narrow = number_of_type(wire) if wire is not None and tensor.dtype == torch.float32 else 0
    label = named("allreduce", name, process_set)
    scales = (prescale_factor, postscale_factor)
    return _begin(tensor, label, op, scales, process_set, wire=narrow)


def allreduce_async(
    tensor: torch.Tensor,
    average: Optional[bool] = None,
    name: Optional[str] = None,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> int:
    """Begins to reduce into a new tensor, which ``synchronize(handle)`` returns."""
    return allreduce_async_(copied(tensor), average, name, op, prescale_factor, postscale_factor, process_set)


def allreduce_(
    tensor: torch.Tensor,
    average: Optional[bool] = None,
    name: Optional[str] = None,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> torch.Tensor:
    """Reduces in place."""
    asked = (average, op, prescale_factor, postscale_factor, process_set)
    known = quick.prepared.get(name)  # type: ignore[arg-type]
    if (
        known is not None
        and known.asked == asked
        and tensor.layout is _STRIDED
        and tensor.data_ptr() == known.address
        and tensor.numel() == known.count
        and tensor.dtype is known.dtype
        and tensor.is_contiguous()
    ):
        code = known.run(known.operation)
        if code != 0:
            library.checked(code)
        return tensor
    plainly = prescale_factor == 1.0 and postscale_factor == 1.0 and process_set is global_process_set
    if not plainly or on_gpu(tensor):
        return synchronize(
            allreduce_async_(tensor, average, name, op, prescale_factor, postscale_factor, process_set)
        )
    # Nothing to be built, no other thread to be woken.
    working = plain(tensor)
    element, code = type_of(working), op_of(average, op)
    label = named("allreduce", name, process_set)
    with region(label, "communication"):
        library.allreduce(label, working.data_ptr(), working.numel(), element, code)
    if name is not None and working is tensor:
        quick.prepare(name, label, asked, tensor, element, code)
    return put_back(working, tensor)


def allreduce(
    tensor: torch.Tensor,
    average: Optional[bool] = None,
    name: Optional[str] = None,
    compression: Any = Compression.none,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> torch.Tensor:
    """The average (or ``op``) over all ranks, as a new tensor; gradients flow through it."""
    label = called("allreduce", name, process_set)  # the name of its gradient follows from it
    compressed, context = compression.compress(tensor)
    reduced = _differentiable(
        compressed, label, op_of(average, op), (prescale_factor, postscale_factor), process_set
    )
    return compression.decompress(reduced, context)


def _differentiable(
    tensor: torch.Tensor, label: str, op: int, scales: Tuple[float, float], process_set: ProcessSet
) -> torch.Tensor:
    if wants_gradient(tensor):
        return _Allreduce.apply(tensor, label, op, scales, process_set)
    return allreduce_(copied(tensor), None, label, op, scales[0], scales[1], process_set)


class _Allreduce(torch.autograd.Function):
    """The gradient of a reduction is the same reduction of the gradients."""

    @staticmethod
    def forward(context: Any, tensor: torch.Tensor, label: str, op: int, scales: Any, process_set: ProcessSet) -> Any:
        context.arguments = (f"{label}.gradient", op, scales, process_set)
        return _differentiable(tensor.detach(), label, op, scales, process_set)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> Any:  # type: ignore[override]
        return _differentiable(gradient, *context.arguments), None, None, None, None


# --- groups: tensors that are reduced together, when all of them are there


def grouped_allreduce_async_(
    tensors: Sequence[torch.Tensor],
    average: Optional[bool] = None,
    name: Optional[str] = None,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> int:
    """Begins to reduce all of them in place, as one."""
    label = named("grouped_allreduce", name, process_set)
    code, scales = op_of(average, op), (prescale_factor, postscale_factor)

    def part(position: int, tensor: torch.Tensor) -> Callable[[str, int], int]:
        return lambda group, count: _begin(
            tensor, f"{label}.{position}", code, scales, process_set, group, count
        )

    return begin_group([part(position, tensor) for position, tensor in enumerate(tensors)], label)


def grouped_allreduce_async(
    tensors: Sequence[torch.Tensor],
    average: Optional[bool] = None,
    name: Optional[str] = None,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> int:
    """Begins to reduce into new tensors."""
    copies = [copied(tensor) for tensor in tensors]
    return grouped_allreduce_async_(copies, average, name, op, prescale_factor, postscale_factor, process_set)


def grouped_allreduce_(
    tensors: Sequence[torch.Tensor],
    average: Optional[bool] = None,
    name: Optional[str] = None,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> List[torch.Tensor]:
    """Reduces all of them in place, as one."""
    return synchronize(
        grouped_allreduce_async_(tensors, average, name, op, prescale_factor, postscale_factor, process_set)
    )


def grouped_allreduce(
    tensors: Sequence[torch.Tensor],
    average: Optional[bool] = None,
    name: Optional[str] = None,
    compression: Any = Compression.none,
    op: Optional[int] = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    process_set: ProcessSet = global_process_set,
) -> List[torch.Tensor]:
    """New tensors, reduced as one; gradients flow through them."""
    label = called("grouped_allreduce", name, process_set)
    compressed, contexts = zip(*(compression.compress(tensor) for tensor in tensors))
    reduced = _grouped(
        compressed, label, op_of(average, op), (prescale_factor, postscale_factor), process_set
    )
    return [compression.decompress(tensor, context) for tensor, context in zip(reduced, contexts)]


def _grouped(
    tensors: Sequence[torch.Tensor], label: str, op: int, scales: Tuple[float, float], process_set: ProcessSet
) -> Sequence[torch.Tensor]:
    if any(wants_gradient(tensor) for tensor in tensors):
        return _GroupedAllreduce.apply(label, op, scales, process_set, *tensors)
    return synchronize(
        grouped_allreduce_async(tensors, None, label, op, scales[0], scales[1], process_set)
    )


class _GroupedAllreduce(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, label: str, op: int, scales: Any, process_set: ProcessSet, *tensors: torch.Tensor) -> Any:
        context.arguments = (f"{label}.gradient", op, scales, process_set)
        return tuple(_grouped([tensor.detach() for tensor in tensors], label, op, scales, process_set))

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> Any:  # type: ignore[override]
        return (None, None, None, None, *_grouped(gradients, *context.arguments))
