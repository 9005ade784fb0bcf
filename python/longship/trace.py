# SPDX-License-Identifier: Apache-2.0
"""Where the time goes: what ``longship report`` shows per rank.

All time that nothing else covers counts as compute. Communication is recorded by the library; waiting for input is what
:func:`batches` measures; everything else can be named with :func:`region`.
"""
from __future__ import annotations

import contextlib
from typing import Any, Iterable, Iterator, TypeVar

from . import timeline
from ._library import library

_T = TypeVar("_T")

_ACTIVITIES = {"compute": 0, "communication": 1, "waiting": 2, "input": 3, "checkpoint": 4, "other": 5}


class region(contextlib.ContextDecorator):  # noqa: N801: used as a function
    """Names what happens inside: ``with trace.region("augment", "input"): …``, or a function: ``@trace.region("augment")``.

    Not a generator, which would cost more than what is measured around small operations.
    """

    __slots__ = ("_name", "_activity", "_begin")

    def __init__(self, name: str, activity: str = "compute") -> None:
        if activity not in _ACTIVITIES:
            raise ValueError(f"region: there is no activity {activity!r}: one of {', '.join(_ACTIVITIES)}")
        self._name = name
        self._activity = activity
        self._begin = 0

    def _recreate_cm(self) -> "region":
        return region(self._name, self._activity)  # a function may call itself

    def __enter__(self) -> None:
        if library.recording or timeline.running():
            self._begin = library.now()

    def __exit__(self, *_: Any) -> None:
        if self._begin == 0:
            return
        end = library.now()
        timeline.note(self._name, self._activity, self._begin, end)
        if library.recording:
            library.span(_ACTIVITIES[self._activity], self._name, self._begin, end)


def batches(loader: Iterable[_T]) -> Iterator[_T]:
    """Passes a data loader's batches on and records the time that each one kept the training waiting."""
    source = iter(loader)
    while True:
        with region("next batch", "input"):
            try:
                batch = next(source)
            except StopIteration:
                return
        yield batch
