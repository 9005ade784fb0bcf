# SPDX-License-Identifier: Apache-2.0
"""How tensors travel: as they are, or in 16 bits. More that saves bytes is in ``top_k.py`` and ``power_sgd.py``."""
from __future__ import annotations

from typing import Any, Optional, Tuple, Type

import torch


class Compressor:
    """What a compression of one's own implements; both functions get and return tensors of the same shape."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> Tuple[torch.Tensor, Any]:
        """What travels, and a context for the way back."""
        raise NotImplementedError

    @staticmethod
    def decompress(tensor: torch.Tensor, context: Any) -> torch.Tensor:
        raise NotImplementedError


class NoneCompressor(Compressor):
    """As they are."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> Tuple[torch.Tensor, Any]:
        return tensor, None

    @staticmethod
    def decompress(tensor: torch.Tensor, context: Any) -> torch.Tensor:
        return tensor


class _Narrow(Compressor):
    """As floats of 16 bits, half the bytes; sums are made in 32."""

    dtype: torch.dtype

    @classmethod
    def compress(cls, tensor: torch.Tensor) -> Tuple[torch.Tensor, Any]:  # type: ignore[override]
        if tensor.dtype not in (torch.float32, torch.float64):
            return tensor, None
        return tensor.to(cls.dtype), tensor.dtype

    @staticmethod
    def decompress(tensor: torch.Tensor, context: Any) -> torch.Tensor:
        return tensor if context is None else tensor.to(context)


class FP16Compressor(_Narrow):
    """Eleven bits of precision, up to 65,504."""

    dtype = torch.float16


class BF16Compressor(_Narrow):
    """Eight bits of precision, the range of float32: gradients cannot overflow."""

    dtype = torch.bfloat16


def narrow_type(compression: Any) -> Optional[torch.dtype]:
    """The type in which a compression of ours lets 32-bit floats travel; None if it is somebody else's, or none."""
    if isinstance(compression, type) and issubclass(compression, _Narrow):
        return compression.dtype
    return None


class Compression:
    """What DistributedOptimizer and allreduce take as ``compression``."""

    none: Type[Compressor] = NoneCompressor
    fp16: Type[Compressor] = FP16Compressor
    bf16: Type[Compressor] = BF16Compressor
