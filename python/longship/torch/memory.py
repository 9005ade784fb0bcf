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
    if size == 0 or library.size() == 1:
        return torch.zeros(count, dtype=dtype)
    address = library.memory_new(size)
    if address is None:
        return torch.zeros(count, dtype=dtype)
    buffer = (ctypes.c_char * size).from_address(address)
    # When the last view is gone, also after a shutdown; but not at the end of the process, where views still are.
    weakref.finalize(buffer, library.memory_free, address).atexit = False
    return torch.frombuffer(buffer, dtype=dtype)
