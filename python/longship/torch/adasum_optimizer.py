# SPDX-License-Identifier: Apache-2.0
"""Adasum: each rank steps by itself, and the changes that the steps made are combined, instead of the gradients.

Maleki et al., Scaling distributed training with adaptive summation, 2020.
"""
from __future__ import annotations

import contextlib
from typing import Any, ContextManager, Dict

import torch

from .allreduce import Adasum, allreduce_async_
from .handles import synchronize
from .process_sets import ProcessSet


class _Adasum:
    """What an optimiser's class gets in front of its own methods."""

    _names: Dict[torch.Tensor, str]
    _compression: Any
    _process_set: ProcessSet

    def set_backward_passes_per_step(self, passes: int) -> None:
        """Any number will do: gradients add up by themselves, and the ranks meet in ``step``."""

    def synchronize(self) -> None:
        """Nothing to wait for before ``step``."""

    def skip_synchronize(self) -> ContextManager[None]:
        return contextlib.nullcontext()

    def step(self, closure: Any = None) -> Any:
        before = {parameter: parameter.detach().clone() for parameter in self._names}
        result = super().step(closure)  # type: ignore[misc]
        on_their_way = []
        for parameter, name in self._names.items():
            change = parameter.detach() - before[parameter]
            compressed, context = self._compression.compress(change)
            label = f"adasum.{name}"
            handle = allreduce_async_(compressed, name=label, op=Adasum, process_set=self._process_set)
            on_their_way.append((parameter, handle, context))
        with torch.no_grad():
            for parameter, handle, context in on_their_way:
                change = self._compression.decompress(synchronize(handle), context)
                parameter.copy_(before[parameter] + change)
        return result


def adasum_optimizer(
    optimizer: torch.optim.Optimizer,
    names: Dict[torch.Tensor, str],
    compression: Any,
    process_set: ProcessSet,
) -> torch.optim.Optimizer:
    """Makes the optimiser one of these."""
    kind = type(optimizer)
    optimizer.__class__ = type(kind.__name__, (_Adasum, kind), {})
    for name, value in (("names", names), ("compression", compression), ("process_set", process_set)):
        setattr(optimizer, f"_{name}", value)
    return optimizer
