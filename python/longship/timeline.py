# SPDX-License-Identifier: Apache-2.0
"""What one process waited for and when, as a file for chrome://tracing or Perfetto: Horovod's timeline."""
from __future__ import annotations

import json
import os
import threading
from typing import Any, Dict, List, Optional

_lock = threading.Lock()
_path: Optional[str] = None
_events: List[Dict[str, Any]] = []


def running() -> bool:
    return _path is not None


def start(path: str) -> None:
    """Notes regions from now on. Started again, it goes on in the other file."""
    global _path
    stop()
    with open(path, "w", encoding="utf-8"):  # what cannot be written is said now, not after hours
        pass
    with _lock:
        _path = path


def note(name: str, activity: str, begin: int, end: int) -> None:
    """One region, in nanoseconds."""
    if _path is None:
        return
    event = {
        "name": name,
        "cat": activity,
        "ph": "X",
        "ts": begin / 1000,
        "dur": (end - begin) / 1000,
        "pid": os.getpid(),
        "tid": threading.get_native_id(),
    }
    with _lock:
        _events.append(event)


def stop() -> None:
    """Writes what was noted. Harmless if nothing was started."""
    global _path
    with _lock:
        path, events = _path, list(_events)
        _path = None
        _events.clear()
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)
