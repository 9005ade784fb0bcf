# SPDX-License-Identifier: Apache-2.0
"""The shortest way to an all-reduce in place: asked for again with the same name and tensor, it is one call of the library.

An all-reduce of a kilobyte takes less than a microsecond; to say it anew each time, from Python, takes many. So what was said
the first time is kept, ready to be handed over once more. It is only used where it is exactly right: the same arguments, the same
memory, nothing recorded. Who begins to record, or meets other ranks, calls :func:`forget_all`.
"""
from __future__ import annotations

import ctypes
from typing import Any, Callable, Dict, Tuple

import torch

from .. import _operation as abi
from .. import timeline
from .._library import library

_MOST = 4096  # names; scripts that make up new ones for ever shall not fill the memory


class Prepared:
    """One all-reduce as the library takes it, and what it was made from."""

    __slots__ = ("asked", "address", "count", "dtype", "run", "operation")

    def __init__(self, asked: Tuple[Any, ...], tensor: torch.Tensor, operation: abi.Operation) -> None:
        self.asked = asked
        self.address = tensor.data_ptr()
        self.count = tensor.numel()
        self.dtype = tensor.dtype
        self.run: Callable[[Any], int] = library.bare_run
        self.operation = ctypes.byref(operation)


prepared: Dict[str, Prepared] = {}  # by the name that the script gave


def prepare(name: str, label: str, asked: Tuple[Any, ...], tensor: torch.Tensor, element: int, op: int) -> None:
    """Keeps it, if the next call may be made without a look at anything else. The tensor is contiguous."""
    if tensor.numel() == 0 or library.recording or timeline.running() or len(prepared) >= _MOST:
        return
    operation = abi.Operation.of(
        abi.ALLREDUCE, label, address=tensor.data_ptr(), count=tensor.numel(), element=element, op=op
    )
    prepared[name] = Prepared(asked, tensor, operation)


def forget_all() -> None:
    prepared.clear()
