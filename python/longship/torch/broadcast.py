# SPDX-License-Identifier: Apache-2.0
"""Broadcast: one rank's tensor to all."""
from __future__ import annotations

from typing import Any, Optional

import torch

from .. import _operation as abi
from .allreduce import Average, allreduce
from .basics import rank
from .devices import begin_on_device, by_nccl
from .handles import begin, called, named, synchronize
from .process_sets import ProcessSet, global_process_set, number_of
from .tensors import copied, plain, put_back, type_of, wants_gradient


def broadcast_async_(
    tensor: torch.Tensor,
    root_rank: int,
    name: Optional[str] = None,
    process_set: ProcessSet = global_process_set,
) -> int:
    """Begins to overwrite the tensor with the one of ``root_rank``: a rank of the world, also in a process set."""
    label = named("broadcast", name, process_set)
    if by_nccl(tensor, process_set):
        return begin_on_device(abi.BROADCAST, label, tensor, process_set, root=root_rank)
    working = plain(tensor)
    return begin(
        abi.BROADCAST,
        label,
        working,
        lambda _: put_back(working, tensor),
        address=working.data_ptr(),
        count=working.numel(),
        element=type_of(working),
        root=root_rank,
        process_set=number_of(process_set),
    )


def broadcast_async(
    tensor: torch.Tensor,
    root_rank: int,
    name: Optional[str] = None,
    process_set: ProcessSet = global_process_set,
) -> int:
    """Begins to receive the tensor of ``root_rank`` as a new one."""
    return broadcast_async_(copied(tensor), root_rank, name, process_set)


def broadcast_(
    tensor: torch.Tensor,
    root_rank: int,
    name: Optional[str] = None,
    process_set: ProcessSet = global_process_set,
) -> torch.Tensor:
    """Overwrites the tensor with the one of ``root_rank``."""
    return synchronize(broadcast_async_(tensor, root_rank, name, process_set))


def broadcast(
    tensor: torch.Tensor,
    root_rank: int,
    name: Optional[str] = None,
    process_set: ProcessSet = global_process_set,
) -> torch.Tensor:
    """The tensor of ``root_rank``, as a new one; gradients flow back to it."""
    if wants_gradient(tensor):
        return _Broadcast.apply(tensor, root_rank, called("broadcast", name, process_set), process_set)
    return synchronize(broadcast_async(tensor, root_rank, name, process_set))


class _Broadcast(torch.autograd.Function):
    """What the others did with the root's tensor counts for the root, and for nobody else; averaged, as Horovod does."""

    @staticmethod
    def forward(context: Any, tensor: torch.Tensor, root_rank: int, label: str, process_set: ProcessSet) -> Any:
        context.arguments = (root_rank, label, process_set)
        return synchronize(broadcast_async(tensor, root_rank, label, process_set))

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> Any:  # type: ignore[override]
        root_rank, label, process_set = context.arguments
        reduced = allreduce(gradient, name=f"broadcast.{label}.gradient", op=Average, process_set=process_set)
        return reduced if rank() == root_rank else torch.zeros_like(reduced), None, None, None
