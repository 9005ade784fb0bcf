# SPDX-License-Identifier: Apache-2.0
"""Local SGD: ranks step by themselves and average their parameters every few steps; post-local SGD: gradients are
averaged in every step at first.

Stich: Local SGD converges fast and communicates little, 2018; Lin et al.: Don't use large mini-batches, use local SGD, 2018.
"""
from __future__ import annotations

from typing import Any, List

import torch

from .allreduce import Average, grouped_allreduce_
from .process_sets import ProcessSet, global_process_set


class _Local:
    """What an optimiser's class gets in front of its own methods."""

    _every: int
    _together_until: int
    _steps: int
    _process_set: ProcessSet

    def step(self, closure: Any = None) -> Any:
        together = self._steps < self._together_until
        if together:
            self._average_gradients()
        result = super().step(closure)  # type: ignore[misc]
        self._steps += 1
        if not together and (self._steps - self._together_until) % self._every == 0:
            self.average_parameters()
        return result

    def average_parameters(self) -> None:
        """Done by itself every few steps; call it before an evaluation or a checkpoint."""
        self._average("parameters", [parameter.data for parameter in self._parameters()])

    def _average_gradients(self) -> None:
        gradients = []
        for parameter in self._parameters():
            if parameter.grad is None:  # here, but maybe not on another rank
                parameter.grad = torch.zeros_like(parameter)
            gradients.append(parameter.grad)
        self._average("gradients", gradients)

    def _average(self, name: str, tensors: List[torch.Tensor]) -> None:
        grouped_allreduce_(tensors, name=f"local_sgd.{name}", op=Average, process_set=self._process_set)

    def _parameters(self) -> List[torch.Tensor]:
        groups = self.param_groups  # type: ignore[attr-defined]
        return [parameter for group in groups for parameter in group["params"] if parameter.requires_grad]


def LocalSGD(
    optimizer: torch.optim.Optimizer,
    every: int = 8,
    after: int = 0,
    process_set: ProcessSet = global_process_set,
) -> torch.optim.Optimizer:
    """Makes the optimiser, of any class, one whose ranks average their parameters every ``every`` steps.

    ``after``: the first so many steps average gradients instead (post-local SGD), which helps at the start.
    """
    if every < 1 or after < 0:
        raise ValueError(f"LocalSGD(every={every}, after={after}): every is at least 1, after at least 0")
    kind = type(optimizer)
    optimizer.__class__ = type(kind.__name__, (_Local, kind), {})
    for name, value in (("every", every), ("together_until", after), ("steps", 0), ("process_set", process_set)):
        setattr(optimizer, f"_{name}", value)
    return optimizer
