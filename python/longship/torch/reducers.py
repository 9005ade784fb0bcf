# SPDX-License-Identifier: Apache-2.0
"""How DistributedOptimizer makes the gradients of all ranks one: the interface, and the way that reduces them whole.

A reducer is a generator per bucket: it begins operations, yields a handle to be waited for, is sent its result, and may
begin more; when it ends, the tensor is the reduced one. So buckets are on their way side by side, however many rounds each
one takes.
"""
from __future__ import annotations

from typing import Any, Generator, NamedTuple, Optional

import torch

from .allreduce import Average, narrow_allreduce_async_
from .compression import NoneCompressor, narrow_type
from .process_sets import ProcessSet, global_process_set
from .tensors import on_gpu

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

    remembers = True  # something of a bucket from step to step, so that it must stay as it is

    def alone(self, parameter: torch.Tensor) -> bool:
        """Whether this parameter's gradient has to come by itself, in its own shape, and not in a bucket with others."""
        return False

    def reduce(self, name: str, tensor: torch.Tensor, how: How) -> Rounds:
        raise NotImplementedError


class Whole(Reducer):
    """All of it, as it is or as a :class:`Compressor` has it travel."""

    remembers = False

    def __init__(self, compression: Any) -> None:
        self._compression = compression
        self._narrow = narrow_type(compression)
        self._elementwise = compression is NoneCompressor or self._narrow is not None

    def alone(self, parameter: torch.Tensor) -> bool:
        return not self._elementwise  # somebody else's compression may look at the shape

    def reduce(self, name: str, tensor: torch.Tensor, how: How) -> Rounds:
        # The library rounds what it sends, but not what NCCL does.
        by_library = self._narrow is not None and tensor.dtype == torch.float32 and not on_gpu(tensor)
        if self._compression is NoneCompressor or by_library:
            yield _begin(name, tensor, how, self._narrow)
        else:
            compressed, context = self._compression.compress(tensor)
            reduced = yield _begin(name, compressed, how)
            tensor.copy_(self._compression.decompress(reduced, context).view_as(tensor))


def _begin(name: str, tensor: torch.Tensor, how: How, wire: Optional[torch.dtype] = None) -> int:
    return narrow_allreduce_async_(tensor, wire, name, how.op, how.prescale, how.postscale, how.process_set)


def reducer_of(compression: Any) -> Reducer:
    """What DistributedOptimizer was given as ``compression``, as a reducer."""
    if isinstance(compression, Reducer):
        return compression
    if not (hasattr(compression, "compress") and hasattr(compression, "decompress")):
        raise TypeError(f"compression={compression!r}: one of Compression, TopK(…), PowerSGD(…), or a Compressor")
    return Whole(compression)
