# SPDX-License-Identifier: Apache-2.0
"""Gradients side by side in one piece of memory that the ranks of a node share, so that many are reduced as one, and
nothing is copied for it.

Each gradient is a view of its bucket. The backward pass adds to it there; or, after ``zero_grad(set_to_none=True)``, makes
a new tensor that is moved in while it is still in the cache: either way ``parameter.grad`` ends as the view.
"""
from __future__ import annotations

import ctypes
import os
from typing import Callable, Dict, List, Optional, Sequence, Tuple

import torch

from .memory import shared_tensor

DEFAULT_BYTES = 4 << 20
ON_A_SHARED_CORE = 4  # times as large
_ALIGNMENT = 64  # bytes; a vector instruction's, and a cache line's


def sizes_to_try(shares_core: bool) -> List[int]:
    """In bytes, the usual one first; only ``LONGSHIP_BUCKET``, if it is set. Where the library has no core beside that of
    the training, little is reduced before somebody waits for it, and each bucket costs the training a change of context."""
    text = os.environ.get("LONGSHIP_BUCKET")
    if not text:
        usual = DEFAULT_BYTES * (ON_A_SHARED_CORE if shares_core else 1)
        return [usual, usual // 4, usual * 4]
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


class Gradient:
    """One parameter's gradient: where it should lie, and what is still to come for it in this step.

    All of it in one object, because the hook of a parameter runs once per parameter and step in the thread that trains:
    dictionaries of tensors, which are hashed by Python code, took ten times as long.
    """

    __slots__ = ("parameter", "name", "passes_left", "bucket", "view", "address")

    def __init__(self, parameter: torch.Tensor, name: str) -> None:
        self.parameter = parameter
        self.name = name
        self.passes_left = 0
        self.bucket: Optional[Bucket] = None  # none for what is gathered instead
        self.view = parameter  # in its bucket
        self.address = 0

    def lies_in(self, bucket: "Bucket", view: torch.Tensor) -> None:
        self.bucket, self.view, self.address = bucket, view, view.data_ptr()

    def is_in_place(self) -> bool:
        now = self.parameter.grad
        return now is not None and not now.is_sparse and now.data_ptr() == self.address

    def move_in(self) -> None:
        """Makes the parameter's gradient a view of the bucket, with the values it has."""
        if self.is_in_place():
            return
        view, now = self.view, self.parameter.grad
        with torch.no_grad():
            if now is None:
                view.zero_()
            else:
                view.copy_(now.to_dense() if now.is_sparse else now)
        self.parameter.grad = view

    def leave_out(self) -> None:
        """It goes another way this time."""
        self.view.zero_()


class Bucket:
    """The gradients of some parameters of one type and device, in the order given, in memory that is long enough."""

    def __init__(self, name: str, gradients: Sequence[Gradient], in_shape: bool, memory: torch.Tensor) -> None:
        self.name = name
        self.gradients = list(gradients)
        self.missing = len(self.gradients)  # of this step; whoever watches them counts
        offset = 0
        for gradient in self.gradients:
            count = gradient.parameter.numel()
            gradient.lies_in(self, memory[offset : offset + count].view(gradient.parameter.shape))
            offset += _padded(gradient.parameter)
        # What is reduced: all of it, or for one that is alone its gradient in its shape.
        self.tensor = self.gradients[0].view if in_shape else memory

    def begin_again(self) -> None:
        self.missing = len(self.gradients)


def _padded(parameter: torch.Tensor) -> int:
    """Elements, so that the next gradient begins at a cache line."""
    step = _ALIGNMENT // parameter.element_size()
    return -(-parameter.numel() // step) * step


class Buckets:
    """All of them, side by side in one block of memory per type and device."""

    def __init__(self, planned: Sequence[Tuple[str, Sequence[Gradient], bool]]) -> None:
        """``planned``: of each bucket its name, its gradients, and whether its one gradient is reduced in its shape."""
        self.all: List[Bucket] = []
        lengths = [sum(_padded(gradient.parameter) for gradient in gradients) for _, gradients, _ in planned]
        totals: Dict[Tuple[torch.dtype, torch.device], int] = {}
        for (_, gradients, _), length in zip(planned, lengths):
            kind = _kind(gradients)
            totals[kind] = totals.get(kind, 0) + length
        self._blocks = {kind: shared_tensor(total, *kind) for kind, total in totals.items()}
        begins = dict.fromkeys(totals, 0)
        for (name, gradients, in_shape), length in zip(planned, lengths):
            kind = _kind(gradients)
            begin = begins[kind]
            self.all.append(Bucket(name, gradients, in_shape, self._blocks[kind][begin : begin + length]))
            begins[kind] = begin + length

    def zero(self) -> None:
        """All gradients at once. The C library takes what is longer than the caches past them: a third of the time."""
        for block in self._blocks.values():
            if block.device.type != "cpu":
                block.zero_()
                continue
            ctypes.memset(block.data_ptr(), 0, block.numel() * block.element_size())
            block[:0].zero_()  # so that autograd knows of it


def _kind(gradients: Sequence[Gradient]) -> Tuple[torch.dtype, torch.device]:
    return gradients[0].parameter.dtype, gradients[0].parameter.device
