# SPDX-License-Identifier: Apache-2.0
"""A word to the user when an operation waits for other ranks for very long: Horovod's stall warning.

Which ranks are missing is known to the library, and said in the error that ends the patience (``LONGSHIP_PATIENCE``);
the warning comes earlier, so that one can look while everything is still there.
"""
from __future__ import annotations

import logging
import os
import threading
import time
from typing import Any, Dict, Iterator, Optional, Set, Tuple

_log = logging.getLogger("longship")
_waiting: Dict[int, Tuple[str, float]] = {}  # by thread: what it waits for, since when
_warned: Set[int] = set()
_watcher: Optional[threading.Thread] = None
_checks = threading.Event()  # never set: a sleep that ends with the process


def seconds_until_warning() -> float:
    """``LONGSHIP_STALL_WARNING``, or Horovod's variable for it, or a minute; 0 is never."""
    for name in ("LONGSHIP_STALL_WARNING", "HOROVOD_STALL_CHECK_TIME_SECONDS"):
        text = os.environ.get(name)
        if text:
            try:
                return float(text)
            except ValueError:
                raise ValueError(f"{name}={text}: not a number of seconds") from None
    return 60.0


def overdue(now: float, limit: float) -> Iterator[Tuple[int, str, float]]:
    """Who waits for longer than that and was not warned of yet: thread, name, seconds."""
    for thread, (name, since) in list(_waiting.items()):
        if now - since >= limit and thread not in _warned:
            yield thread, name, now - since


class watched:  # noqa: N801: used as a function
    """While inside, this thread waits for the operation of that name. Not a generator: small operations notice."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        if _watcher is None:
            _start_watching()
        _waiting[threading.get_ident()] = (self._name, time.monotonic())

    def __exit__(self, *_: Any) -> None:
        thread = threading.get_ident()
        del _waiting[thread]
        _warned.discard(thread)


def _start_watching() -> None:
    global _watcher
    limit = seconds_until_warning()
    _watcher = threading.Thread(target=_watch, args=(limit,), name="longship-stall", daemon=True)
    if limit > 0:
        _watcher.start()


def _watch(limit: float) -> None:
    while not _checks.wait(limit / 2):
        for thread, name, seconds in overdue(time.monotonic(), limit):
            _warned.add(thread)
            _log.warning(
                "%s has waited %.0f s for other ranks: one of them is slow, stuck, or does something else", name, seconds
            )
