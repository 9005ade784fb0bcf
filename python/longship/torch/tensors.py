# SPDX-License-Identifier: Apache-2.0
"""Tensors as the library takes them: an address, a number of elements, and a type."""
from __future__ import annotations

import torch

from .. import _operation as abi
from .._library import LongshipError

_TYPES = {
    torch.uint8: abi.U8,
    torch.int8: abi.I8,
    torch.int32: abi.I32,
    torch.int64: abi.I64,
    torch.float16: abi.F16,
    torch.bfloat16: abi.BF16,
    torch.float32: abi.F32,
    torch.float64: abi.F64,
    torch.bool: abi.BOOL,
}


def _tensor(given: torch.Tensor) -> torch.Tensor:
    if not isinstance(given, torch.Tensor):
        raise TypeError(f"a tensor is needed, not {type(given).__name__}: torch.as_tensor() makes one")
    return given


def on_gpu(tensor: torch.Tensor) -> bool:
    return _tensor(tensor).is_cuda


def type_of(tensor: torch.Tensor) -> int:
    """The library's number for its elements; an error says what cannot be communicated."""
    if tensor.device.type not in ("cpu", "cuda"):
        raise LongshipError(f"a tensor on {tensor.device}: only those in main memory or on GPUs can be communicated")
    return number_of_type(tensor.dtype)


def number_of_type(dtype: torch.dtype) -> int:
    try:
        return _TYPES[dtype]
    except KeyError:
        raise LongshipError(f"tensors of {dtype} cannot be communicated") from None


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    if _tensor(tensor).is_sparse:
        raise LongshipError("a sparse tensor: use sparse_allreduce_async, or make it dense")
    return tensor


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """Its elements one after the other in main memory: itself, or a copy if they are not."""
    return contiguous(tensor.detach().cpu() if on_gpu(tensor) else tensor)


def contiguous(tensor: torch.Tensor) -> torch.Tensor:
    """Its elements one after the other where they are: itself, or a copy."""
    if tensor.layout is torch.strided and tensor.is_contiguous():
        return tensor
    return _dense(tensor).detach().contiguous()


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """A new tensor, for operations that must not change the one they are given."""
    return _dense(tensor).detach().clone(memory_format=torch.contiguous_format)


def put_back(working: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """The library worked on a copy if the tensor was not contiguous, or is on a GPU."""
    if working is not result:
        with torch.no_grad():
            result.copy_(working)
    return result


def row_of(tensor: torch.Tensor) -> torch.Size:
    """The shape without its first dimension."""
    return tensor.shape[1:]


def row_size(tensor: torch.Tensor) -> int:
    """How many elements one row has; 0 if rows are empty."""
    return row_of(tensor).numel()


def wants_gradient(tensor: torch.Tensor) -> bool:
    return torch.is_grad_enabled() and _tensor(tensor).requires_grad
