# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: what a job goes on from after its time was over, or a node was lost.

    ckpt = longship.checkpoint.Checkpoint()
    step, state = ckpt.load() or (0, None)
    ...
    if ckpt.due():
        ckpt.save(step, {"model": model.state_dict(), "optimizer": optimizer.state_dict()})

A checkpoint is two files: the data, written aside, synced and renamed, and a manifest with its size and checksum, which
appears last. What has no manifest, or differs from it, is not a checkpoint: the one before is taken. So a job can be
killed at any moment. Rank 0 writes; all ranks read, also if there are more or fewer of them than before.
"""
from __future__ import annotations

import ctypes
import hashlib
import json
import os
import pickle
import re
import time
import uuid
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from ._library import LongshipError, library
from .trace import region

__all__ = ["Checkpoint", "wanted"]

_VERSION = 1
_MANIFEST = re.compile(r"step-(\d{12})\.json")
_ASIDE = re.compile(r"\.aside-[0-9a-f]{32}")
_U8 = 0  # the library's number for bytes


def wanted() -> bool:
    """Whether this job has been asked for a checkpoint, because its time ends. One load from memory: call it freely."""
    return library.checkpoints_wanted() > 0


class _Found(NamedTuple):
    step: int
    path: str
    format: str


class Checkpoint:
    """The checkpoints of a job in one directory, on a file system that all ranks see.

    ``directory``, ``every`` (seconds) and ``keep`` are the job's own if not given: ``[checkpoint]`` of its file. Outside
    of a job, and without a directory, nothing is ever due and there is nothing to load.
    """

    def __init__(
        self, directory: Optional[str] = None, keep: Optional[int] = None, every: Optional[float] = None
    ) -> None:
        self._directory = directory or os.environ.get("LONGSHIP_CHECKPOINTS") or None
        self._keep = int(_number("keep", keep, "LONGSHIP_CHECKPOINT_KEEP") or 3)
        self._every = _number("every", every, "LONGSHIP_CHECKPOINT_EVERY")
        if self._keep < 1:
            raise ValueError(f"keep={self._keep}: at least one checkpoint has to be kept")
        self._last = time.monotonic()
        self._answered = 0  # how often we have been asked, at the last save
        if self._directory is not None and _rank() == 0:
            os.makedirs(self._directory, exist_ok=True)

    def due(self) -> bool:
        """Whether to save now: because it was asked for, or ``every`` seconds have passed. Rank 0 decides for all, so all
        ranks have to call this at the same places."""
        if self._directory is None:
            return False
        asked = library.checkpoints_wanted() > self._answered
        late = self._every is not None and time.monotonic() - self._last >= self._every
        return _from_rank_0("due", b"1" if asked or late else b"0") == b"1"

    def save(self, step: int, state: Dict[str, Any]) -> None:
        """Saves rank 0's ``state`` as that of step ``step``; returns when it would survive anything. On all ranks."""
        if self._directory is None:
            raise LongshipError("there is no directory for checkpoints: give one, or [checkpoint] in the job file")
        asked = library.checkpoints_wanted()
        problem = b""
        with region("checkpoint", "checkpoint"):
            if _rank() == 0:
                try:
                    self._write(step, state)
                except Exception as error:  # the other ranks must not wait for ever
                    problem = f"cannot save the checkpoint of step {step}: {error}".encode()
            problem = _from_rank_0("save", problem)
        if problem:
            raise LongshipError(problem.decode())
        self._last = time.monotonic()
        self._answered = asked

    def latest(self) -> Optional[int]:
        """The step of the newest checkpoint that is whole; None if there is none."""
        found = self._find()
        return None if found is None else found.step

    def load(self) -> Optional[Tuple[int, Dict[str, Any]]]:
        """Step and state of the newest checkpoint that is whole; None if there is none. The same on all ranks."""
        with region("checkpoint", "checkpoint"):
            found = self._find()
            if found is None:
                return None
            with open(found.path, "rb") as file:
                return found.step, _read_state(file, found.format)

    # --- writing, on rank 0

    def _write(self, step: int, state: Dict[str, Any]) -> None:
        name = f"step-{step:012d}"
        data = f"{name}-{uuid.uuid4().hex[:8]}.data"  # never over one that a manifest may name
        with self._aside() as aside:
            kind = _write_state(state, aside.file)
            aside.commit(data)
        size, digest = _measured(os.path.join(self._directory, data))
        manifest = {"version": _VERSION, "step": step, "data": data, "size": size, "sha256": digest, "format": kind}
        with self._aside() as aside:
            aside.file.write(json.dumps(manifest).encode())
            aside.commit(f"{name}.json")
        self._forget_old()

    def _aside(self) -> "_Aside":
        return _Aside(self._directory)

    def _forget_old(self) -> None:
        """Keeps the newest, and removes what a killed save left."""
        kept, names = set(), os.listdir(self._directory)
        for position, name in enumerate(self._manifests()):
            if position < self._keep:
                kept.add(name)
                kept.add((_parsed(os.path.join(self._directory, name)) or {}).get("data"))
        for name in sorted(names, key=lambda name: not name.endswith(".json")):  # the manifest first
            ours = _MANIFEST.fullmatch(name) or _ASIDE.fullmatch(name) or re.fullmatch(r"step-\d{12}-\w{8}\.data", name)
            if ours and name not in kept:
                os.unlink(os.path.join(self._directory, name))

    # --- finding

    def _manifests(self) -> List[str]:
        """Newest first."""
        try:
            names = os.listdir(self._directory)
        except FileNotFoundError:
            return []
        return sorted((name for name in names if _MANIFEST.fullmatch(name)), reverse=True)

    def _find(self) -> Optional[_Found]:
        """Rank 0 looks, the others get to know; all have the same answer."""
        if self._directory is None:
            return None
        answer = b""
        if _rank() == 0:
            found = next(self._whole(), None)
            answer = b"" if found is None else json.dumps(found).encode()
        answer = _from_rank_0("found", answer)
        return _Found(*json.loads(answer)) if answer else None

    def _whole(self) -> Iterator[_Found]:
        for name in self._manifests():
            manifest = _parsed(os.path.join(self._directory, name))
            if manifest is None or manifest.get("version") != _VERSION:
                continue
            path = os.path.join(self._directory, os.path.basename(str(manifest.get("data"))))
            try:
                if _measured(path) == (manifest["size"], manifest["sha256"]):
                    yield _Found(int(manifest["step"]), path, str(manifest["format"]))
            except (OSError, KeyError, ValueError):
                continue


class _Aside:
    """A file that nobody sees until it is complete and on the disk."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._path = os.path.join(directory, f".aside-{uuid.uuid4().hex}")
        self.file = open(self._path, "xb")  # noqa: SIM115: closed by __exit__

    def commit(self, name: str) -> None:
        self.file.flush()
        os.fsync(self.file.fileno())
        os.rename(self._path, os.path.join(self._directory, name))
        directory = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def __enter__(self) -> "_Aside":
        return self

    def __exit__(self, *_: Any) -> None:
        self.file.close()
        if os.path.exists(self._path):
            os.unlink(self._path)


def _number(name: str, given: Optional[float], variable: str) -> Optional[float]:
    text = os.environ.get(variable)
    if given is not None or not text:
        return given
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{variable}={text}: not a number for {name}") from None


def _parsed(path: str) -> Optional[Dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            manifest = json.loads(file.read())
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) else None


def _measured(path: str) -> Tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while True:
            part = file.read(1 << 20)
            if not part:
                return size, digest.hexdigest()
            digest.update(part)
            size += len(part)


def _write_state(state: Dict[str, Any], file: Any) -> str:
    try:
        import torch
    except ImportError:
        pickle.dump(state, file, protocol=4)
        return "pickle"
    torch.save(state, file)
    return "torch"


def _read_state(file: Any, kind: str) -> Dict[str, Any]:
    if kind == "pickle":
        return pickle.load(file)
    import torch

    try:
        return torch.load(file, map_location="cpu", weights_only=False)  # it is our own
    except TypeError:  # before torch 1.13
        return torch.load(file, map_location="cpu")


def _rank() -> int:
    if library.is_initialized():
        return library.rank()
    return int(os.environ.get("RANK", "0"))


def _from_rank_0(name: str, value: bytes) -> bytes:
    """Gives all ranks what rank 0 has. Before ``init()`` there is nobody else."""
    if not library.is_initialized() or library.size() == 1:
        return value
    length = ctypes.c_int64(len(value))
    library.broadcast(f"checkpoint.{name}.length", ctypes.addressof(length), 8, _U8, 0)
    buffer = ctypes.create_string_buffer(value if library.rank() == 0 else b"", max(1, length.value))
    if length.value > 0:
        library.broadcast(f"checkpoint.{name}", ctypes.addressof(buffer), length.value, _U8, 0)
    return buffer.raw[: length.value]
