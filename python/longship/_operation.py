# SPDX-License-Identifier: Apache-2.0
"""One operation of all ranks, as the library takes it: ``struct longship_operation`` of src/abi/longship.h."""
from __future__ import annotations

import ctypes
from typing import Optional, Sequence

ALLREDUCE, BROADCAST, ALLGATHER, BARRIER, ALLTOALL, REDUCESCATTER, JOIN = range(7)
U8, I8, I32, I64, F16, BF16, F32, F64, BOOL = range(9)
SUM, AVERAGE, MIN, MAX, PRODUCT, ADASUM = range(6)


class Operation(ctypes.Structure):
    """Fields are only ever added at the end, and ``bytes`` says how many there are."""

    _fields_ = [
        ("bytes", ctypes.c_size_t),
        ("kind", ctypes.c_int),
        ("type", ctypes.c_int),
        ("op", ctypes.c_int),
        ("root", ctypes.c_int),
        ("process_set", ctypes.c_int),
        ("group_size", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("group", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("splits", ctypes.POINTER(ctypes.c_uint64)),
        ("row", ctypes.c_size_t),
        ("prescale", ctypes.c_double),
        ("postscale", ctypes.c_double),
        ("wire", ctypes.c_int),
        ("device", ctypes.c_int),
        ("stream", ctypes.c_void_p),
        ("output", ctypes.c_void_p),
    ]

    @classmethod
    def of(
        cls,
        kind: int,
        name: str,
        address: int = 0,
        count: int = 0,
        element: int = U8,
        op: int = SUM,
        root: int = 0,
        process_set: int = 0,
        group: Optional[str] = None,
        group_size: int = 0,
        splits: Optional[Sequence[int]] = None,
        row: int = 0,
        prescale: float = 1.0,
        postscale: float = 1.0,
        wire: int = 0,
        device: int = 0,
        stream: int = 0,
        output: int = 0,
    ) -> "Operation":
        return cls(
            ctypes.sizeof(cls),
            kind,
            element,
            op,
            root,
            process_set,
            group_size,
            name.encode(),
            None if group is None else group.encode(),
            address,
            count,
            None if splits is None else (ctypes.c_uint64 * len(splits))(*splits),
            row,
            prescale,
            postscale,
            wire,
            device,
            stream,
            output,
        )
