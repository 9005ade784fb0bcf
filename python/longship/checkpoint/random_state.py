# SPDX-License-Identifier: Apache-2.0
"""The random numbers of a process: Python's, numpy's and torch's, as far as they are in use."""
from __future__ import annotations

import random
import sys
from typing import Any, Dict


def random_state() -> Dict[str, Any]:
    """For ``own`` of :meth:`Checkpoint.save`: every rank has its own."""
    state: Dict[str, Any] = {"python": random.getstate()}
    if "numpy" in sys.modules:
        state["numpy"] = sys.modules["numpy"].random.get_state()
    if "torch" in sys.modules:
        state["torch"] = sys.modules["torch"].get_rng_state()
    return state


def restore_random_state(state: Dict[str, Any]) -> None:
    """Goes on where :func:`random_state` was called."""
    random.setstate(_as_tuples(state["python"]))
    if "numpy" in state and "numpy" in sys.modules:
        sys.modules["numpy"].random.set_state(state["numpy"])
    if "torch" in state and "torch" in sys.modules:
        sys.modules["torch"].set_rng_state(state["torch"])


def _as_tuples(value: Any) -> Any:
    return tuple(_as_tuples(one) for one in value) if isinstance(value, (list, tuple)) else value
