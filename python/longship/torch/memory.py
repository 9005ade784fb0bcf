# SPDX-License-Identifier: Apache-2.0
"""Tensors in memory that the ranks of a node share: reducing what lies there copies nothing.

The memory is handed to torch by DLPack, whose deleter is a C function. ``torch.frombuffer`` would be simpler, but frees by
way of Python; and a gradient that autograd still holds when the process ends, as it does after an exception in a backward
pass, is freed when there is no Python any more, and waits for it for ever.
"""
from __future__ import annotations

import ctypes

import torch
import torch.utils.dlpack

from .._library import library

_HEAD = 128  # bytes before the data, for what describes it
_CODES = {  # of DLPack: signed, unsigned, float, bfloat
    torch.int8: 0,
    torch.int32: 0,
    torch.int64: 0,
    torch.uint8: 1,
    torch.float16: 2,
    torch.float32: 2,
    torch.float64: 2,
    torch.bfloat16: 4,
}
_CAPSULE = b"dltensor"  # DLPack's name for it, which has to stay


class _Managed(ctypes.Structure):
    """DLManagedTensor, version 0: a tensor of one dimension on the CPU."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("dimensions", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("length", ctypes.c_int64),  # not DLPack's: what shape points to
    ]


def shared_tensor(count: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Zeros. In private memory if there is no room for more that is shared: slower, but right; on a GPU in its own."""
    if device.type != "cpu":
        return torch.zeros(count, dtype=dtype, device=device)
    width = torch.empty(0, dtype=dtype).element_size()
    if count == 0 or library.size() == 1 or dtype not in _CODES:
        return torch.zeros(count, dtype=dtype)
    address = library.memory_new(_HEAD + count * width)
    if address is None:
        return torch.zeros(count, dtype=dtype)
    # It lies at the beginning of its own memory, so that its deleter, which is given its address, frees both.
    head = _Managed.from_address(address)
    head.data = address + _HEAD
    head.device_type, head.dimensions = 1, 1
    head.code, head.bits, head.lanes = _CODES[dtype], 8 * width, 1
    head.length, head.shape = count, address + _Managed.length.offset
    head.deleter = library.address_of("longship_memory_free")
    return torch.utils.dlpack.from_dlpack(_capsule(address))


def _capsule(address: int) -> object:
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(address, _CAPSULE, None)
