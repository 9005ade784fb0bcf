# SPDX-License-Identifier: Apache-2.0
"""How DistributedOptimizer makes the gradients of all ranks one: the interface, and the way that reduces them whole.

A reducer is a generator per bucket: it begins operations, yields a handle to be waited for, is sent its result, and may
begin more; when it ends, the tensor is the reduced one. So buckets are on their way side by side, however many rounds each
one takes.
"""
from __future__ import annotations

from typing import Any, Dict, Generator, NamedTuple

import torch

from .allreduce import Average, allreduce_async_
from .compression import NoneCompressor, narrow_type
from .memory import shared_tensor
from .process_sets import ProcessSet, global_process_set

Rounds = Generator[int, Any, None]


class How(NamedTuple):
    """What the optimiser was told."""

    op: int = Average
    prescale: float = 1.0
    postscale: float = 1.0
    process_set: ProcessSet = global_process_set

    def divisor(self) -> int:
        """What a sum has to be divided by."""
        return len(self.process_set.ranks) if self.op == Average else 1


class Reducer:
    """Given to DistributedOptimizer as ``compression``."""

    def alone(self, parameter: torch.Tensor) -> bool:
        """Whether this parameter's gradient has to come by itself, in its own shape, and not in a bucket with others."""
        return False

    def reduce(self, name: str, tensor: torch.Tensor, how: How) -> Rounds:
        raise NotImplementedError


class Whole(Reducer):
    """All of it, as it is or as a :class:`Compressor` has it travel."""

    def __init__(self, compression: Any) -> None:
        self._compression = compression
        self._narrow = narrow_type(compression)
        self._elementwise = compression is NoneCompressor or self._narrow is not None
        self._wires: Dict[str, torch.Tensor] = {}  # narrow copies, kept from step to step

    def alone(self, parameter: torch.Tensor) -> bool:
        return not self._elementwise  # somebody else's compression may look at the shape

    def reduce(self, name: str, tensor: torch.Tensor, how: How) -> Rounds:
        if self._compression is NoneCompressor or (self._narrow and tensor.dtype not in (torch.float32, torch.float64)):
            yield _begin(name, tensor, how)
        elif self._narrow is not None:
            wire = self._wire(name, tensor)
            wire.copy_(tensor)
            yield _begin(name, wire, how)
            tensor.copy_(wire)
        else:
            compressed, context = self._compression.compress(tensor)
            reduced = yield _begin(name, compressed, how)
            tensor.copy_(self._compression.decompress(reduced, context).view_as(tensor))

    def _wire(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        wire = self._wires.get(name)
        if wire is None or wire.shape != tensor.shape:
            assert self._narrow is not None
            wire = self._wires[name] = shared_tensor(tensor.numel(), self._narrow).view_as(tensor)
        return wire


def _begin(name: str, tensor: torch.Tensor, how: How) -> int:
    return allreduce_async_(
        tensor,
        name=name,
        op=how.op,
        prescale_factor=how.prescale,
        postscale_factor=how.postscale,
        process_set=how.process_set,
    )


def reducer_of(compression: Any) -> Reducer:
    """What DistributedOptimizer was given as ``compression``, as a reducer."""
    return compression if isinstance(compression, Reducer) else Whole(compression)
