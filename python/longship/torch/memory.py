# SPDX-License-Identifier: Apache-2.0
"""Tensors in memory that the ranks of a node share: reducing what lies there copies nothing."""
from __future__ import annotations

import ctypes
import weakref

import torch

from .._library import library


def shared_tensor(count: int, dtype: torch.dtype) -> torch.Tensor:
    """Zeros. In private memory if there is no room for more that is shared: slower, but right."""
    size = count * torch.empty(0, dtype=dtype).element_size()
    if size == 0 or library.size() == 1 or not library.has("longship_memory_new"):
        return torch.zeros(count, dtype=dtype)
    address = library.memory_new(size)
    if address is None:
        return torch.zeros(count, dtype=dtype)
    buffer = (ctypes.c_char * size).from_address(address)
    weakref.finalize(buffer, _give_back, address)
    return torch.frombuffer(buffer, dtype=dtype).zero_()


def _give_back(address: int) -> None:
    if library.is_initialized():  # the memory of an ended session went with it
        library.memory_free(address)
