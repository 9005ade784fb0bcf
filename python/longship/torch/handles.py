# SPDX-License-Identifier: Apache-2.0
"""Operations that were begun: what they are called, what they keep alive, and what they give when they are done."""
from __future__ import annotations

import itertools
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from .._library import LongshipError, library
from ..trace import region
from .process_sets import ProcessSet, number_of

Finish = Callable[[int], Any]


class _Pending(NamedTuple):
    name: str
    kept: Any  # the memory that the library works on
    finish: Finish  # from the handle to what the caller gets, after the wait


_pending: Dict[int, _Pending] = {}
_groups: Dict[int, List[int]] = {}
_group_numbers = itertools.count(1 << 62)  # far from the library's own handles
_counters: Dict[Tuple[str, int], Iterator[int]] = {}


def called(kind: str, name: Optional[str], process_set: ProcessSet) -> str:
    """The name that was given; without one, calls of a kind are counted in each process set."""
    if name is not None:
        return name
    return f"noname.{numbered(kind, process_set)}"


def numbered(kind: str, process_set: ProcessSet) -> int:
    """1, 2, …: the same on all ranks of the set that do the same things."""
    return next(_counters.setdefault((kind, number_of(process_set)), itertools.count(1)))


def named(kind: str, name: Optional[str], process_set: ProcessSet) -> str:
    """The name under which ranks match an operation."""
    number = number_of(process_set)
    return f"{kind}.{called(kind, name, process_set)}" + ("" if number == 0 else f"@{number}")


def begin(kind: int, name: str, kept: Any, finish: Finish, **fields: Any) -> int:
    """Begins an operation; ``synchronize`` will call ``finish`` and return what it returns."""
    handle = library.begin(kind, name, **fields)
    _pending[handle] = _Pending(name, kept, finish)
    return handle


def begin_group(parts: Sequence[Callable[[str, int], int]], name: str) -> int:
    """Begins operations that are done together: each is given the group's name and size. One handle for all."""
    members = [part(name, len(parts)) for part in parts]
    group = next(_group_numbers)
    _groups[group] = members
    return group


def poll(handle: int) -> bool:
    """Whether ``synchronize`` would return at once."""
    if handle in _groups:
        return all(library.poll(member) for member in _groups[handle])
    return library.poll(handle)


def synchronize(handle: int) -> Any:
    """Waits for an operation that was begun, and returns its result: for a group, a list."""
    if handle in _groups:
        return _synchronize_group(_groups.pop(handle))
    pending = _pending.pop(handle, None)
    if pending is None:
        raise LongshipError(f"there is no operation with handle {handle}")
    with region(pending.name, "communication"):
        library.wait(handle)
    return pending.finish(handle)


def _synchronize_group(members: List[int]) -> List[Any]:
    """All of them, also after one has failed: the memory they work on has to be free afterwards."""
    results: List[Any] = []
    failure: Optional[LongshipError] = None
    for member in members:
        try:
            results.append(synchronize(member))
        except LongshipError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return results


def forget_all() -> None:
    """A new world counts anew, as ranks that come to it for the first time do."""
    _pending.clear()
    _groups.clear()
    _counters.clear()
