# SPDX-License-Identifier: Apache-2.0
"""Top-k: only the largest part of each gradient travels; the rest is added to the next one (error feedback).

Stich et al., Sparsified SGD with memory, 2018; Lin et al., Deep gradient compression, 2017.
"""
from __future__ import annotations

from typing import Dict

import torch

from .allgather import allgather_async
from .allreduce import Average, Sum
from .reducers import How, Reducer, Rounds


class TopK(Reducer):
    """``DistributedOptimizer(…, compression=TopK(0.01))``: one element in a hundred travels, and its position."""

    def __init__(self, ratio: float = 0.01) -> None:
        if not 0 < ratio <= 1:
            raise ValueError(f"TopK({ratio}): the part that travels is more than 0 and at most 1")
        self._ratio = ratio
        self._left_over: Dict[str, torch.Tensor] = {}

    def reduce(self, name: str, tensor: torch.Tensor, how: How) -> Rounds:
        if how.op not in (Sum, Average):
            raise ValueError("TopK can only sum or average")
        flat = tensor.view(-1)
        left_over = self._left_over.get(name)
        if left_over is not None and left_over.shape == flat.shape:
            flat.add_(left_over)
        count = max(1, int(flat.numel() * self._ratio))
        positions = flat.abs().topk(count, sorted=False).indices
        values = flat[positions]
        handles = [
            allgather_async(values, f"{name}.values", how.process_set),
            allgather_async(positions, f"{name}.positions", how.process_set),
        ]
        left_over = flat.clone()
        left_over[positions] = 0
        self._left_over[name] = left_over
        all_values = yield handles[0]
        all_positions = yield handles[1]
        flat.zero_().index_add_(0, all_positions, all_values.div_(how.divisor()))
