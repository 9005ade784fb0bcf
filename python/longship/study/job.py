# SPDX-License-Identifier: Apache-2.0
"""For a script that is a trial of ``longship study run``: its values, and what it measures.

    values = longship.study.values()             # {"lr": 0.001, "optimizer": "adam"}
    for epoch in range(10):
        …
        longship.study.report(epoch, loss)       # or report(epoch, loss=…, accuracy=…)

Outside of a study ``values()`` is empty and ``report`` does nothing, so that the script runs alone as well.
"""
from __future__ import annotations

import json
import os
import pathlib
from typing import Any, Dict, Optional

from .. import progress


def values() -> Dict[str, Any]:
    """The values of this trial, those that are fixed included."""
    return json.loads(os.environ.get("LONGSHIP_VALUES", "{}"))


def trial_number() -> Optional[int]:
    """The number of this trial; None outside of a study."""
    number = os.environ.get("LONGSHIP_TRIAL")
    return None if number is None else int(number)


def parent_directory() -> Optional[pathlib.Path]:
    """Of a population's member: where the trial from which this one goes on left its files. None in the first turn."""
    directory = os.environ.get("LONGSHIP_PARENT_DIRECTORY")
    return None if directory is None else pathlib.Path(directory)


def report(step: int, value: Optional[float] = None, **measured: float) -> None:
    """Tells what was measured after ``step``. A value without a name is the metric ``value``; the last one counts."""
    if step < 0:
        raise ValueError(f"{step} is no step: they begin at 0")
    if value is not None:
        measured["value"] = value
    progress(int(step), 0, **{name: float(number) for name, number in measured.items()})
