# SPDX-License-Identifier: Apache-2.0
"""What the ranks tell each other about a checkpoint. Before ``init()`` there is nobody else."""
from __future__ import annotations

import ctypes
import os
from typing import List

from .. import _operation as abi
from .._library import LongshipError, library


def rank() -> int:
    return library.rank() if library.is_initialized() else 0


def size() -> int:
    return library.size() if library.is_initialized() else 1


def is_first_of_launch() -> bool:
    """Whether this is rank 0, also before ``init()``."""
    return rank() == 0 and (library.is_initialized() or os.environ.get("RANK", "0") in ("", "0"))


def check_not_one_of_many(what: str) -> None:
    """A rank of several that has not met the others would do alone what all have to do together."""
    world = os.environ.get("WORLD_SIZE", "1")
    if not library.is_initialized() and world not in ("", "1"):
        raise LongshipError(f"{what}: this is one of {world} ranks, which have not met: call longship.torch.init() first")


def from_rank_0(name: str, value: bytes) -> bytes:
    """Gives all ranks what rank 0 has."""
    if size() == 1:
        return value
    length = ctypes.c_int64(len(value))
    library.broadcast(f"checkpoint.{name}.length", ctypes.addressof(length), 8, abi.U8, 0)
    buffer = ctypes.create_string_buffer(value if library.rank() == 0 else b"", max(1, length.value))
    if length.value > 0:
        library.broadcast(f"checkpoint.{name}", ctypes.addressof(buffer), length.value, abi.U8, 0)
    return buffer.raw[: length.value]


def from_all(name: str, value: bytes) -> List[bytes]:
    """Gives all ranks what each has."""
    if size() == 1:
        return [value]
    own = ctypes.create_string_buffer(value, max(1, len(value)))
    handle = library.begin(
        abi.ALLGATHER, f"checkpoint.{name}", address=ctypes.addressof(own), count=len(value), element=abi.U8
    )
    library.wait(handle)
    counts = library.gathered_counts(handle, size())
    every = ctypes.create_string_buffer(max(1, sum(counts)))
    library.gathered(handle, ctypes.addressof(every), sum(counts))
    values, begin = [], 0
    for count in counts:
        values.append(every.raw[begin : begin + count])
        begin += count
    return values
