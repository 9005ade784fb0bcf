# SPDX-License-Identifier: Apache-2.0
"""A state divided between ranks: each writes some of its tensors, rank 0 the rest and how they belong together."""
from __future__ import annotations

import hashlib
from typing import Any, Callable, Dict, List, NamedTuple, Tuple

SMALLEST = 1024  # bytes; what is smaller stays where it is


class Reference(NamedTuple):
    """In the place of a tensor: the rank whose file has it, and its number there."""

    part: int
    number: int


class Divided(NamedTuple):
    rest: Any  # the state with references instead of large tensors
    tensors: List[Dict[int, Any]]  # of each part, by number
    layout: str  # equal on ranks whose states are built alike


def divided(state: Any, parts: int) -> Divided:
    """The same on all ranks, as long as their states are built alike: largest first, each to the part with the least."""
    found: List[Tuple[Any, str]] = []

    def collect(tensor: Any) -> Reference:
        found.append((tensor, f"{tensor.dtype} {tuple(tensor.shape)}"))
        return Reference(-1, len(found) - 1)

    marked = _replaced(state, _is_large, collect)
    loads = [0] * parts
    owners: Dict[int, int] = {}
    tensors: List[Dict[int, Any]] = [{} for _ in range(parts)]
    for number in sorted(range(len(found)), key=lambda one: (-_bytes(found[one][0]), one)):
        owner = min(range(parts), key=lambda part: (loads[part], part))
        loads[owner] += _bytes(found[number][0])
        owners[number] = owner
        tensors[owner][number] = found[number][0]
    rest = _replaced(marked, _is_reference, lambda one: Reference(owners[one.number], one.number))
    layout = hashlib.sha256("\n".join(text for _, text in found).encode()).hexdigest()
    return Divided(rest, tensors, layout)


def together(rest: Any, tensors: List[Dict[int, Any]]) -> Any:
    """The opposite."""
    return _replaced(rest, _is_reference, lambda one: tensors[one.part][one.number])


def copied(state: Any) -> Any:
    """A state of its own: training may go on with the first while the second is written."""
    return _replaced(state, _is_tensor, lambda tensor: tensor.detach().to("cpu", copy=True))


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "detach") and hasattr(value, "element_size")


def _bytes(tensor: Any) -> int:
    return tensor.numel() * tensor.element_size()


def _is_large(value: Any) -> bool:
    return _is_tensor(value) and not value.is_sparse and _bytes(value) >= SMALLEST


def _is_reference(value: Any) -> bool:
    return isinstance(value, Reference)


def _replaced(value: Any, matches: Callable[[Any], bool], replace: Callable[[Any], Any]) -> Any:
    """The same structure of dictionaries, lists and tuples, with what matches replaced."""
    if matches(value):
        return replace(value)
    kind = type(value)
    if isinstance(value, dict):
        pairs = [(key, _replaced(one, matches, replace)) for key, one in value.items()]
        if kind is dict:
            return dict(pairs)
        copy = value.copy()  # an OrderedDict with attributes, as state_dict() makes it
        copy.update(pairs)
        return copy
    if kind in (list, tuple):
        return kind(_replaced(one, matches, replace) for one in value)
    return value
