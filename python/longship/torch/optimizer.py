# SPDX-License-Identifier: Apache-2.0
"""An optimiser whose gradients are reduced over all ranks while the backward pass runs."""
from __future__ import annotations

import contextlib
import inspect
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Type, Union

import torch

from .._library import LongshipError
from .adasum_optimizer import adasum_optimizer
from .allreduce import Adasum, Average
from .compression import Compression
from .process_sets import ProcessSet, global_process_set
from .reducers import How, reducer_of
from .reduction import Reduction


class _Distributed:
    """What an optimiser's class gets in front of its own methods."""

    _reduction: Reduction
    _sets_to_none: Optional[bool]  # what zero_grad() does if it is not told

    def synchronize(self) -> None:
        """Waits for the reduced gradients, to clip them before ``step``; see ``skip_synchronize``."""
        self._reduction.synchronize()

    @contextlib.contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """``optimizer.synchronize(); clip(…); with optimizer.skip_synchronize(): optimizer.step()``."""
        if not self._reduction.synchronized:
            raise LongshipError("skip_synchronize() without synchronize() before it")
        yield

    def set_backward_passes_per_step(self, passes: int) -> None:
        """Another number of backward passes before each ``step``, from now on."""
        self._reduction.set_passes(_checked_passes(passes))

    def step(self, closure: Any = None) -> Any:
        if not self._reduction.synchronized:
            self._reduction.synchronize()
        self._reduction.synchronized = False
        return super().step(closure)  # type: ignore[misc]

    def zero_grad(self, *arguments: Any, **options: Any) -> None:
        if self._reduction.under_way:
            raise LongshipError("zero_grad() between backward() and step() would drop gradients on their way")
        set_to_none = options.get("set_to_none", arguments[0] if arguments else self._sets_to_none)
        if set_to_none is False and self._reduction.zero():
            return
        super().zero_grad(*arguments, **options)  # type: ignore[misc]

    def load_state_dict(self, *arguments: Any, **options: Any) -> None:
        self._reduction.forget()
        super().load_state_dict(*arguments, **options)  # type: ignore[misc]


def DistributedOptimizer(
    optimizer: torch.optim.Optimizer,
    named_parameters: Optional[Iterable[Tuple[str, torch.Tensor]]] = None,
    compression: Any = Compression.none,
    backward_passes_per_step: int = 1,
    op: int = Average,
    gradient_predivide_factor: float = 1.0,
    num_groups: int = 0,
    groups: Union[None, int, Sequence[Sequence[torch.Tensor]]] = None,
    sparse_as_dense: bool = False,
    process_set: ProcessSet = global_process_set,
) -> torch.optim.Optimizer:
    """Makes the optimiser a distributed one, of its own class still, and returns it.

    ``backward_passes_per_step`` gradients are added up on each rank before they are reduced; as in Horovod nothing is
    divided by their number. ``compression``: :class:`Compression`, :class:`TopK`, :class:`PowerSGD` or a
    :class:`Compressor` of one's own. ``groups``: gradients that are reduced together, as lists of parameters or as a
    number of groups. ``gradient_predivide_factor`` divides before the sum and multiplies after it. Sparse gradients are
    gathered, or made dense with ``sparse_as_dense``. ``op=Adasum`` combines what the ranks' own steps would have changed.
    Learning-rate schedules are made afterwards, because they replace ``step``.
    """
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise TypeError(f"an optimiser of torch.optim is needed, not {type(optimizer).__name__}")
    if isinstance(optimizer, _Distributed):
        raise ValueError("this optimiser is a distributed one already")
    if "step" in vars(optimizer):
        raise ValueError("make the learning-rate schedule after DistributedOptimizer, not before")
    if gradient_predivide_factor != 1.0 and op != Average:
        raise ValueError("gradient_predivide_factor is for op=Average")
    passes = _checked_passes(backward_passes_per_step)
    names = names_of(optimizer, named_parameters)
    if op == Adasum:
        return adasum_optimizer(optimizer, names, compression, process_set)
    how = How(op, 1 / gradient_predivide_factor, gradient_predivide_factor, process_set)
    grouped = _checked_groups(groups if groups is not None else num_groups, names)
    reducer = reducer_of(compression)
    kind = type(optimizer)
    optimizer.__class__ = type(kind.__name__, (_Distributed, kind), {"_sets_to_none": _sets_to_none(kind)})
    optimizer._reduction = Reduction(  # type: ignore[attr-defined]
        names, reducer, how, passes, grouped, sparse_as_dense
    )
    return optimizer


def names_of(
    optimizer: torch.optim.Optimizer, named_parameters: Optional[Iterable[Tuple[str, torch.Tensor]]]
) -> Dict[torch.Tensor, str]:
    """The optimiser's parameters that get gradients, and what ranks match them by."""
    pairs = list(named_parameters or ())
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise ValueError("named_parameters: pairs of a name and a parameter, as model.named_parameters() gives them")
    given = {parameter: name for name, parameter in pairs}
    if len(set(given.values())) < len(given):
        raise ValueError("named_parameters has a name twice")
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    return {
        parameter: given.get(parameter, f"noname.{position}")
        for position, parameter in enumerate(parameters)
        if parameter.requires_grad
    }


def _sets_to_none(kind: Type[torch.optim.Optimizer]) -> Optional[bool]:
    """Whether its ``zero_grad()`` drops gradients, which it does since torch 2.0; None: it does something of its own."""
    parameter = inspect.signature(kind.zero_grad).parameters.get("set_to_none")
    return parameter.default if parameter is not None else None


def _checked_passes(passes: int) -> int:
    if passes < 1:
        raise ValueError(f"backward_passes_per_step={passes}: at least one is needed")
    return passes


def _checked_groups(
    groups: Union[int, Sequence[Sequence[torch.Tensor]]], names: Dict[torch.Tensor, str]
) -> List[List[torch.Tensor]]:
    if isinstance(groups, int):
        if groups < 0:
            raise ValueError(f"groups={groups}: not a number of groups")
        parameters = list(names)
        bounds = [len(parameters) * number // groups for number in range(groups + 1)] if groups > 0 else []
        return [parameters[begin:end] for begin, end in zip(bounds, bounds[1:])]
    seen = [parameter for group in groups for parameter in group]
    if len(set(seen)) < len(seen):
        raise ValueError("groups has a parameter twice")
    return [[parameter for parameter in group if parameter in names] for group in groups]
