# SPDX-License-Identifier: Apache-2.0
"""Longship in a training script.

``longship.torch`` has the names of ``horovod.torch``; this module, which needs no framework, has what every script can
use: where it is in its training, for the live line and the report.
"""
from __future__ import annotations

import operator

from ._library import LongshipError, library
from . import checkpoint

__all__ = ["LongshipError", "checkpoint", "progress"]
__version__ = "0.1.0"


def progress(step: int, total: int = 0, **values: float) -> None:
    """Tells that step ``step`` of ``total`` (0: not known) is done, and what was measured: ``loss=0.21``.

    Rank 0's values drive the live line of ``longship run`` and ``longship show``. Cheap, needs no ``init``, and does
    nothing outside of a job.
    """
    step, total = _count("step", step), _count("total", total)  # outside of a job too: better said on the laptop
    if library.recording:
        library.metrics(step, total, values)


def _count(name: str, value: int) -> int:
    try:
        number = operator.index(value)  # also numpy's, and tensors of one
    except TypeError:
        raise TypeError(f"progress: {name}={value!r}: expected a whole number") from None
    if not 0 <= number < 1 << 63:
        raise ValueError(f"progress: {name}={number}: expected a number from 0 on")
    return number
