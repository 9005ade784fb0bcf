# SPDX-License-Identifier: Apache-2.0
"""Gradients side by side in one piece of memory that the ranks of a node share, so that many are reduced as one, and
nothing is copied for it.

Each gradient is a view of its bucket. The backward pass adds to it there; or, after ``zero_grad(set_to_none=True)``, makes
a new tensor that is moved in while it is still in the cache: either way ``parameter.grad`` ends as the view.
"""
from __future__ import annotations

import os
from typing import Callable, Dict, List, Optional, Sequence, Set, Tuple

import torch

from .memory import shared_tensor

DEFAULT_BYTES = 4 << 20
_ALIGNMENT = 64  # bytes; a vector instruction's, and a cache line's


def sizes_to_try() -> List[int]:
    """In bytes, the usual one first; only ``LONGSHIP_BUCKET``, if it is set."""
    text = os.environ.get("LONGSHIP_BUCKET")
    if not text:
        return [DEFAULT_BYTES, DEFAULT_BYTES // 4, DEFAULT_BYTES * 4]
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"LONGSHIP_BUCKET={text}: not a number of bytes")
    return [int(text)]


def plan(
    parameters: Sequence[torch.Tensor],
    limit: int,
    alone: Callable[[torch.Tensor], bool],
    groups: Sequence[Sequence[torch.Tensor]] = (),
) -> List[List[torch.Tensor]]:
    """Which parameters share a bucket: those of a group; the others in the order given, up to ``limit`` bytes. Only
    parameters of one type and device share one."""
    group_of = {parameter: number for number, group in enumerate(groups) for parameter in group}
    planned: List[List[torch.Tensor]] = []
    open_buckets: Dict[Tuple[Optional[int], torch.dtype, torch.device], List[torch.Tensor]] = {}
    for parameter in parameters:
        if alone(parameter):
            planned.append([parameter])
            continue
        key = (group_of.get(parameter), parameter.dtype, parameter.device)
        bucket = open_buckets.get(key)
        full = bucket is not None and key[0] is None and _bytes(bucket) + _bytes([parameter]) > limit
        if bucket is None or full:
            bucket = open_buckets[key] = []
            planned.append(bucket)
        bucket.append(parameter)
    return planned


def _bytes(parameters: Sequence[torch.Tensor]) -> int:
    return sum(parameter.numel() * parameter.element_size() for parameter in parameters)


class Bucket:
    """The gradients of some parameters of one type and device."""

    def __init__(self, name: str, parameters: Sequence[torch.Tensor], in_shape: bool) -> None:
        self.name = name
        self.parameters = list(parameters)
        dtype = parameters[0].dtype
        step = _ALIGNMENT // parameters[0].element_size()
        offsets: List[int] = []
        end = 0
        for parameter in parameters:
            offsets.append(end)
            end += -(-parameter.numel() // step) * step
        memory = shared_tensor(end, dtype, parameters[0].device)
        self._flat = memory
        self._views = {
            parameter: memory[offset : offset + parameter.numel()].view(parameter.shape)
            for parameter, offset in zip(parameters, offsets)
        }
        # What is reduced: all of it, or for one that is alone its gradient in its shape.
        self.tensor = self._views[parameters[0]] if in_shape else memory
        self._missing: Set[torch.Tensor] = set(parameters)

    def move_in(self, parameter: torch.Tensor) -> None:
        """Makes the parameter's gradient a view of the bucket, with the values it has."""
        if self.holds(parameter):
            return
        view, gradient = self._views[parameter], parameter.grad
        with torch.no_grad():
            if gradient is None:
                view.zero_()
            else:
                view.copy_(gradient.to_dense() if gradient.is_sparse else gradient)
        parameter.grad = view

    def leave_out(self, parameter: torch.Tensor) -> None:
        """Its gradient goes another way this time."""
        self._views[parameter].zero_()

    def arrived(self, parameter: torch.Tensor) -> bool:
        """Whether that was the last one missing."""
        self._missing.discard(parameter)
        return not self._missing

    def begin_again(self) -> None:
        self._missing = set(self.parameters)

    def zero(self) -> None:
        """All gradients at once."""
        self._flat.zero_()

    def holds(self, parameter: torch.Tensor) -> bool:
        gradient = parameter.grad
        if gradient is None or gradient.is_sparse:
            return False
        return gradient.data_ptr() == self._views[parameter].data_ptr()
