# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors: every rank has other rows, so they are gathered instead of reduced."""
from __future__ import annotations

from typing import Callable

import torch

from .allgather import allgather_async
from .allreduce import Average
from .handles import synchronize
from .process_sets import ProcessSet, global_process_set


def sparse_allreduce_async(
    tensor: torch.Tensor, name: str, op: int, process_set: ProcessSet = global_process_set
) -> Callable[[], torch.Tensor]:
    """Begins; the function that is returned waits, and gives the sum or average as a sparse tensor."""
    mine = tensor.coalesce()
    # Along the first dimension they are joined, so an index has to be a row.
    indices = allgather_async(mine.indices().t().contiguous(), f"{name}.indices", process_set)
    values = allgather_async(mine.values(), f"{name}.values", process_set)

    def finish() -> torch.Tensor:
        all_values, all_indices = synchronize(values), synchronize(indices)
        if op == Average:
            all_values = all_values / len(process_set.ranks)
        return torch.sparse_coo_tensor(all_indices.t(), all_values, tensor.shape, dtype=tensor.dtype)

    return finish
