# SPDX-License-Identifier: Apache-2.0
"""Where the time goes: what ``longship report`` shows per rank.

All time that nothing else covers counts as compute. Communication is recorded by the library; waiting for input is what
:func:`batches` measures; everything else can be named with :func:`region`.
"""
from __future__ import annotations

import contextlib
from typing import Iterable, Iterator, TypeVar

from ._library import library

_T = TypeVar("_T")

_ACTIVITIES = {"compute": 0, "communication": 1, "waiting": 2, "input": 3, "checkpoint": 4, "other": 5}


@contextlib.contextmanager
def region(name: str, activity: str = "compute") -> Iterator[None]:
    """Names what happens inside: ``with trace.region("augment", "input"): …``."""
    if not library.recording:
        yield
        return
    begin = library.now()
    try:
        yield
    finally:
        library.span(_ACTIVITIES[activity], name, begin, library.now())


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
