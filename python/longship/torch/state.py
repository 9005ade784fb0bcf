# SPDX-License-Identifier: Apache-2.0
"""Whole models, optimisers and objects from one rank to all, or from all to all."""
from __future__ import annotations

import pickle
from typing import Any, Iterable, List, Mapping, Optional, Tuple, Union

import numpy
import torch

from .allgather import allgather
from .basics import rank
from .broadcast import broadcast_, broadcast_async_
from .handles import called, synchronize
from .process_sets import ProcessSet, global_process_set

Parameters = Union[Mapping[str, Any], Iterable[Union[torch.Tensor, Tuple[str, torch.Tensor]]]]


def broadcast_parameters(params: Parameters, root_rank: int = 0) -> None:
    """Gives all ranks the parameters of one: ``model.state_dict()``, ``model.named_parameters()`` or a list of tensors."""
    handles = [
        broadcast_async_(tensor.data, root_rank, f"parameter.{name}")
        for name, tensor in _named(params)
        if isinstance(tensor, torch.Tensor)
    ]
    for handle in handles:
        synchronize(handle)


def _named(params: Parameters) -> List[Tuple[str, Any]]:
    if isinstance(params, Mapping):
        return sorted(params.items())
    return [one if isinstance(one, tuple) else (str(position), one) for position, one in enumerate(params)]


def broadcast_optimizer_state(
    optimizer: torch.optim.Optimizer, root_rank: int = 0, model: Optional[torch.nn.Module] = None
) -> None:
    """Gives all ranks the optimiser's state and options of one, also where the others have none yet. ``model`` is for
    Horovod's scripts, and not needed."""
    del model
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("the state of LBFGS cannot be broadcast")
    state = optimizer.state_dict() if rank() == root_rank else None
    received = broadcast_object(state, root_rank, name="optimizer_state")
    if rank() != root_rank:
        optimizer.load_state_dict(received)


def broadcast_object(
    obj: Any = None, root_rank: int = 0, name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> Any:
    """Gives all ranks one rank's object, pickled."""
    label = f"object.{called('object', name, process_set)}"
    data = _pickled(obj) if rank() == root_rank else torch.empty(0, dtype=torch.uint8)
    length = broadcast_(torch.tensor([data.numel()]), root_rank, f"{label}.length", process_set)
    if rank() != root_rank:
        data = torch.empty(int(length.item()), dtype=torch.uint8)
    broadcast_(data, root_rank, f"{label}.data", process_set)
    return obj if rank() == root_rank else _unpickled(data)


def allgather_object(
    obj: Any, name: Optional[str] = None, process_set: ProcessSet = global_process_set
) -> List[Any]:
    """All ranks' objects, in the order of ranks."""
    label = f"object.{called('object', name, process_set)}"
    data = _pickled(obj)
    lengths = allgather(torch.tensor([data.numel()]), f"{label}.length", process_set).tolist()
    return [_unpickled(part) for part in allgather(data, f"{label}.data", process_set).split(lengths)]


def _pickled(obj: Any) -> torch.Tensor:
    return torch.from_numpy(numpy.frombuffer(bytearray(pickle.dumps(obj, protocol=4)), dtype=numpy.uint8))


def _unpickled(data: torch.Tensor) -> Any:
    return pickle.loads(data.numpy().tobytes())
