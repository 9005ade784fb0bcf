# SPDX-License-Identifier: Apache-2.0
"""Waiting for each other: barriers, and ranks whose data ended earlier."""
from __future__ import annotations

from .. import _operation as abi
from .._library import library
from ..trace import region
from .handles import begin, named, synchronize
from .process_sets import ProcessSet, global_process_set, number_of


def barrier(process_set: ProcessSet = global_process_set) -> None:
    """Nobody returns before everybody has called it."""
    label = named("barrier", None, process_set)
    with region(label, "communication"):
        library.run(abi.BARRIER, label, process_set=number_of(process_set))


def join(device: int = -1) -> int:
    """For a rank that has no more data: takes part in the others' reductions with zeros until all have joined.

    Returns the rank that joined last. ``device`` is for Horovod's scripts, and not looked at.
    """
    del device
    handle = begin(abi.JOIN, named("join", None, global_process_set), None, library.joined)
    return synchronize(handle)
