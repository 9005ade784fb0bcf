# SPDX-License-Identifier: Apache-2.0
"""Parts of the ranks that do operations among themselves."""
from __future__ import annotations

from typing import Iterable, List, Optional, Sequence, Union

from .._library import LongshipError, library


class ProcessSet:
    """Some of the ranks: ``ProcessSet([0, 2])``. It can be used once it is given to ``add_process_set`` or ``init``."""

    def __init__(self, ranks_or_comm: Sequence[int]) -> None:
        if not isinstance(ranks_or_comm, Iterable) or any(not isinstance(rank, int) for rank in ranks_or_comm):
            raise ValueError("a ProcessSet is made of a list of ranks")  # communicators of MPI are not known here
        self._ranks: List[int] = sorted(ranks_or_comm)
        self.process_set_id: Optional[int] = None
        self.in_nccl: Optional[bool] = None  # whether its ranks have met there, once they were asked to (devices.py)

    @property
    def ranks(self) -> List[int]:
        return list(range(library.size())) if self.process_set_id == 0 else self._ranks

    def size(self) -> Optional[int]:
        """How many ranks it has; None if it was not added."""
        return None if self.process_set_id is None else len(self.ranks)

    def rank(self) -> Optional[int]:
        """This rank's place in it; None if it was not added. Roots of broadcasts are ranks of the world all the same."""
        if self.process_set_id is None:
            return None
        if not self.included():
            raise LongshipError(f"rank {library.rank()} is not in {self}")
        return self.ranks.index(library.rank())

    def included(self) -> bool:
        """Whether this rank is in it."""
        return library.rank() in self.ranks

    def __str__(self) -> str:
        return f"ProcessSet({'all ranks' if self.process_set_id == 0 else self._ranks})"

    __repr__ = __str__


global_process_set = ProcessSet([])
global_process_set.process_set_id = 0

_added: List[ProcessSet] = []


def add_process_set(process_set: Union[ProcessSet, Sequence[int]]) -> ProcessSet:
    """Makes the set usable. All ranks of the world have to call this, with the same ranks, in the same order."""
    if not isinstance(process_set, ProcessSet):
        process_set = ProcessSet(process_set)
    if process_set.process_set_id is not None:
        raise ValueError(f"{process_set} was added already")
    process_set.process_set_id = library.process_set_add(process_set.ranks)
    _added.append(process_set)
    return process_set


def remove_process_set(process_set: ProcessSet) -> bool:
    """The opposite, by all ranks of the world as well. False if it was not there."""
    if process_set.process_set_id is None or process_set is global_process_set:
        return False
    library.process_set_remove(process_set.process_set_id)
    process_set.process_set_id = process_set.in_nccl = None
    _added.remove(process_set)
    return True


def number_of(process_set: ProcessSet) -> int:
    """What the library calls it."""
    if process_set.process_set_id is None:
        raise LongshipError(f"{process_set} was not added: call add_process_set() on all ranks")
    return process_set.process_set_id


def forget_all() -> None:
    """A new world has no sets but the one of all ranks."""
    global_process_set.in_nccl = None
    for process_set in _added:
        process_set.process_set_id = process_set.in_nccl = None
    _added.clear()
