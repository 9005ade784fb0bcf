# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation over the batches of all ranks, for when one rank's is too small to be like the whole."""
from __future__ import annotations

from typing import Any, Tuple

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from .allgather import allgather
from .allreduce import Sum, allreduce
from .basics import is_initialized, size


class SyncBatchNorm(_BatchNorm):
    """In the place of ``BatchNorm1d``, ``2d`` or ``3d``; where nothing is to be shared it is one of these."""

    def _check_input_dim(self, input: torch.Tensor) -> None:  # noqa: A002: torch's name
        if input.dim() < 2:
            raise ValueError(f"expected at least 2 dimensions, got {input.dim()}")

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002
        self._check_input_dim(input)
        use_batch = self.training or self.running_mean is None
        if not (use_batch and is_initialized() and size() > 1):
            return super().forward(input)
        output, mean, variance, count = _SyncBatchNorm.apply(input, self.weight, self.bias, self.eps)
        if self.training and self.track_running_stats:
            self._follow(mean, variance, float(count))
        return output

    def _follow(self, mean: torch.Tensor, variance: torch.Tensor, count: float) -> None:
        with torch.no_grad():
            self.num_batches_tracked += 1
            momentum = self.momentum if self.momentum is not None else 1.0 / float(self.num_batches_tracked)
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), momentum)
            unbiased = variance * (count / max(1.0, count - 1))
            self.running_var.lerp_(unbiased.to(self.running_var.dtype), momentum)


def _by_channel(tensor: torch.Tensor) -> torch.Tensor:
    """One row per channel."""
    return tensor.transpose(0, 1).reshape(tensor.shape[1], -1)


def _as_channels(vector: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return vector.view(1, -1, *([1] * (like.dim() - 2)))


def _moments(rows: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mean and variance of the rows of all ranks, and how many elements a row has in all. From the ranks' own means
    and squared deviations, which loses less than the difference of two large sums."""
    count = rows.shape[1]
    mean = rows.mean(dim=1) if count > 0 else rows.new_zeros(rows.shape[0])
    deviation = (rows - mean[:, None]).square().sum(dim=1)
    every = allgather(torch.cat([mean.new_tensor([count]), mean, deviation])[None])
    counts, means, deviations = every[:, :1], every[:, 1 : 1 + len(mean)], every[:, 1 + len(mean) :]
    total = counts.sum()
    overall = (counts * means).sum(dim=0) / total
    spread = (deviations + counts * (means - overall).square()).sum(dim=0)
    return overall, spread / total, total


class _SyncBatchNorm(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, tensor: torch.Tensor, weight: Any, bias: Any, eps: float) -> Any:
        mean, variance, count = _moments(_by_channel(tensor).to(torch.float64 if tensor.dtype == torch.float64 else torch.float32))
        scale = (variance + eps).rsqrt()
        normalized = (tensor - _as_channels(mean, tensor)) * _as_channels(scale, tensor)
        normalized = normalized.to(tensor.dtype)
        context.save_for_backward(normalized, weight, scale, count)
        context.has_bias = bias is not None
        context.mark_non_differentiable(mean, variance, count)
        output = normalized if weight is None else normalized * _as_channels(weight, tensor)
        return output if bias is None else output + _as_channels(bias, tensor), mean, variance, count

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor, *_: Any) -> Any:  # type: ignore[override]
        normalized, weight, scale, count = context.saved_tensors
        # Weight and bias are this rank's share: the optimiser averages them like all other gradients.
        of_bias = _by_channel(gradient).sum(dim=1)
        of_weight = _by_channel(gradient * normalized).sum(dim=1)
        sums = allreduce(torch.stack([of_bias, of_weight]), op=Sum) / count.to(gradient.dtype)
        inner = gradient - _as_channels(sums[0], gradient) - normalized * _as_channels(sums[1], gradient)
        factor = scale.to(gradient.dtype) if weight is None else scale.to(gradient.dtype) * weight
        return (
            inner * _as_channels(factor, gradient),
            None if weight is None else of_weight,
            of_bias if context.has_bias else None,
            None,
        )
