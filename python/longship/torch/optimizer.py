# SPDX-License-Identifier: Apache-2.0
"""An optimiser whose gradients are reduced over all ranks while the backward pass runs."""
from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

import torch

from .._library import LongshipError
from .compression import Compression
from .operations import Average, allreduce_async_, size, synchronize


class _OnItsWay(NamedTuple):
    handle: int
    compressed: torch.Tensor
    context: Any


class _Reduction:
    """The gradients of one optimiser: which are on their way, and which the backward pass still adds to."""

    def __init__(self, names: Dict[torch.Tensor, str], compression: Any, passes: int, op: int) -> None:
        self._names = names
        self._compression = compression
        self._passes = passes
        self._op = op
        self._passes_left = {parameter: passes for parameter in names}
        self._on_their_way: Dict[torch.Tensor, _OnItsWay] = {}
        self._accumulators: List[Any] = []  # a hook lives as long as the node it is on
        self.synchronized = False
        if size() > 1:
            for parameter in names:
                self._watch(parameter)

    @property
    def under_way(self) -> bool:
        return bool(self._on_their_way)

    def synchronize(self) -> None:
        """Waits until every gradient is the reduced one."""
        if size() > 1:
            for parameter in self._names:
                # Without a part in this backward pass here, but maybe with one on another rank.
                if parameter not in self._on_their_way:
                    if parameter.grad is None:
                        parameter.grad = torch.zeros_like(parameter)
                    self._begin(parameter)
        for parameter, (handle, compressed, context) in self._on_their_way.items():
            synchronize(handle)
            reduced = self._compression.decompress(compressed, context)
            if reduced.data_ptr() != parameter.grad.data_ptr():
                parameter.grad.detach().copy_(reduced)
        self._on_their_way.clear()
        self._passes_left = {parameter: self._passes for parameter in self._names}
        self.synchronized = True

    def _watch(self, parameter: torch.Tensor) -> None:
        """Has the gradient reduced as soon as the backward pass has added to it for the last time."""

        def accumulated(*_: Any) -> None:
            if self._passes_left[parameter] == 0:
                raise LongshipError(
                    f"the gradient of {self._names[parameter]} was computed more than {self._passes} times before "
                    "step(): set backward_passes_per_step"
                )
            self._passes_left[parameter] -= 1
            if self._passes_left[parameter] == 0:
                self._begin(parameter)

        # The node that adds to parameter.grad; torch 2.1 has a function for it, this way works with all.
        node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
        node.register_hook(accumulated)
        self._accumulators.append(node)

    def _begin(self, parameter: torch.Tensor) -> None:
        gradient = parameter.grad.detach()
        if self._passes > 1 and self._op == Average:
            gradient.div_(self._passes)
        compressed, context = self._compression.compress(gradient)
        handle = allreduce_async_(compressed, name=f"gradient.{self._names[parameter]}", op=self._op)
        self._on_their_way[parameter] = _OnItsWay(handle, compressed, context)


class _Distributed:
    """What an optimiser's class gets in front of its own methods."""

    _reduction: _Reduction

    def synchronize(self) -> None:
        """Waits for the reduced gradients, to clip them before ``step``; see ``skip_synchronize``."""
        self._reduction.synchronize()

    @contextlib.contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """``optimizer.synchronize(); clip(…); with optimizer.skip_synchronize(): optimizer.step()``."""
        if not self._reduction.synchronized:
            raise LongshipError("skip_synchronize() without synchronize() before it")
        yield

    def step(self, closure: Any = None) -> Any:
        if not self._reduction.synchronized:
            self._reduction.synchronize()
        self._reduction.synchronized = False
        return super().step(closure)  # type: ignore[misc]

    def zero_grad(self, *arguments: Any, **options: Any) -> None:
        if self._reduction.under_way:
            raise LongshipError("zero_grad() between backward() and step() would drop gradients on their way")
        super().zero_grad(*arguments, **options)  # type: ignore[misc]


def DistributedOptimizer(
    optimizer: torch.optim.Optimizer,
    named_parameters: Optional[Iterable[Tuple[str, torch.Tensor]]] = None,
    compression: Any = Compression.none,
    backward_passes_per_step: int = 1,
    op: int = Average,
) -> torch.optim.Optimizer:
    """Makes the optimiser a distributed one, of its own class still, and returns it.

    ``backward_passes_per_step`` gradients are added up on each rank before they are reduced. Learning-rate schedules
    are made afterwards, because they replace ``step``.
    """
    if "step" in vars(optimizer):
        raise ValueError("make the learning-rate schedule after DistributedOptimizer, not before")
    given = {parameter: name for name, parameter in named_parameters or ()}
    if len(set(given.values())) < len(given):
        raise ValueError("named_parameters has a name twice")
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    names = {
        parameter: given.get(parameter, f"noname.{position}")
        for position, parameter in enumerate(parameters)
        if parameter.requires_grad
    }
    kind = type(optimizer)
    optimizer.__class__ = type(kind.__name__, (_Distributed, kind), {})
    optimizer._reduction = _Reduction(names, compression, backward_passes_per_step, op)  # type: ignore[attr-defined]
    return optimizer
