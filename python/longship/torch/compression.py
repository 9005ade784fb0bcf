# SPDX-License-Identifier: Apache-2.0
"""How gradients travel."""
from __future__ import annotations

from typing import Any, Tuple

import torch


class _NoCompression:
    """Gradients travel as they are."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> Tuple[torch.Tensor, Any]:
        return tensor, None

    @staticmethod
    def decompress(tensor: torch.Tensor, context: Any) -> torch.Tensor:
        return tensor


class _Half:
    """Gradients travel as 16-bit floats, half the bytes; sums are made in 32 bits."""

    @staticmethod
    def compress(tensor: torch.Tensor) -> Tuple[torch.Tensor, Any]:
        if not tensor.dtype.is_floating_point:
            return tensor, None
        return tensor.to(torch.float16), tensor.dtype

    @staticmethod
    def decompress(tensor: torch.Tensor, context: Any) -> torch.Tensor:
        return tensor if context is None else tensor.to(context)


class Compression:
    """What DistributedOptimizer and allreduce take as ``compression``."""

    none = _NoCompression
    fp16 = _Half
