# SPDX-License-Identifier: Apache-2.0
"""PowerSGD: a gradient travels as the product of two thin matrices; what they miss is added to the next one.

Vogels, Karimireddy, Jaggi: PowerSGD, practical low-rank gradient compression for distributed optimization, 2019.
One power iteration per step, started from the last step's.
"""
from __future__ import annotations

import zlib
from typing import Dict

import torch

from .allreduce import Average, Sum, allreduce_async_
from .reducers import How, Reducer, Rounds


class PowerSGD(Reducer):
    """``DistributedOptimizer(…, compression=PowerSGD(rank=2))``. Vectors, and matrices that would not become smaller,
    travel whole."""

    def __init__(self, rank: int = 2) -> None:
        if rank < 1:
            raise ValueError(f"PowerSGD({rank}): the rank is at least 1")
        self._rank = rank
        self._right: Dict[str, torch.Tensor] = {}  # from the last step
        self._left_over: Dict[str, torch.Tensor] = {}

    def alone(self, parameter: torch.Tensor) -> bool:
        if parameter.dim() < 2:
            return False
        rows, columns = parameter.shape[0], parameter[0].numel()
        return self._rank * (rows + columns) < rows * columns

    def reduce(self, name: str, tensor: torch.Tensor, how: How) -> Rounds:
        if how.op not in (Sum, Average):
            raise ValueError("PowerSGD can only sum or average")
        if not self.alone(tensor):
            yield allreduce_async_(tensor, name=name, op=how.op, process_set=how.process_set)
            return
        matrix = tensor.view(tensor.shape[0], -1)
        if name in self._left_over:
            matrix.add_(self._left_over[name])
        right = self._right.get(name)
        if right is None:
            right = _same_everywhere(name, matrix.shape[1], self._rank, matrix)
        left = yield self._average(f"{name}.left", matrix @ right, how)
        left, _ = torch.linalg.qr(left)
        right = yield self._average(f"{name}.right", matrix.t() @ left, how)
        self._right[name] = right
        product = left @ right.t()
        self._left_over[name] = matrix - product
        matrix.copy_(product if how.op == Average else product * len(how.process_set.ranks))

    @staticmethod
    def _average(name: str, tensor: torch.Tensor, how: How) -> int:
        return allreduce_async_(tensor, name=name, op=Average, process_set=how.process_set)


def _same_everywhere(name: str, rows: int, columns: int, like: torch.Tensor) -> torch.Tensor:
    """A random matrix that is the same on all ranks, because they know its name."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    return torch.randn(rows, columns, generator=generator).to(like)
