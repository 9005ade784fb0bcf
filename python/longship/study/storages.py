# SPDX-License-Identifier: Apache-2.0
"""Where studies live, by Optuna's names: in memory, or in a directory that any number of processes share."""
from __future__ import annotations

import os
from typing import Any, Union


class InMemoryStorage:
    """As if no storage had been given."""


class JournalFileBackend:
    """The path becomes a directory; nothing there is ever locked."""

    def __init__(self, file_path: Union[str, "os.PathLike[str]"], lock_obj: Any = None) -> None:
        self._path = os.fspath(file_path)

    def __fspath__(self) -> str:
        return self._path


class JournalStorage:
    def __init__(self, log_storage: "os.PathLike[str]") -> None:
        self._path = os.fspath(log_storage)

    def __fspath__(self) -> str:
        return self._path


JournalFileStorage = JournalFileBackend


class RDBStorage:
    def __init__(self, url: str, *_: Any, **__: Any) -> None:
        raise ValueError(f"{url}: a study lives in a directory; give a path as storage, also on a shared file system")


class journal:
    """Optuna's module of this name."""

    JournalFileBackend = JournalFileBackend
    JournalStorage = JournalStorage
