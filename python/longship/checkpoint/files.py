# SPDX-License-Identifier: Apache-2.0
"""The files of checkpoints: how they are called, written so that they are whole or not there, and measured."""
from __future__ import annotations

import hashlib
import json
import operator
import os
import re
import uuid
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

VERSION = 2
_MANIFEST = re.compile(r"step-(\d{12})\.json")
_DATA = re.compile(r"step-\d{12}-\w{8}(-\d{5})?\.data")
_ASIDE = re.compile(r"\.aside-[0-9a-f]{32}")


class Part(NamedTuple):
    """One rank's file."""

    data: str
    size: int
    sha256: str


class Manifest(NamedTuple):
    step: int
    format: str
    parts: List[Part]


def manifest_name(step: int) -> str:
    return f"step-{step:012d}.json"


def data_name(step: int, label: str, rank: int) -> str:
    """``label`` is the save's own: never over a file that a manifest may name."""
    return f"step-{step:012d}-{label}-{rank:05d}.data"


def checked_step(step: Any) -> int:
    """What was given as the step, be it numpy's or a tensor's: the names of files, which are sorted, are made of it."""
    try:
        number = operator.index(step)
    except TypeError:
        raise TypeError(f"step={step!r}: expected a whole number") from None
    if not 0 <= number < 10**12:
        raise ValueError(f"step={number}: expected a number from 0 to 999999999999")
    return number


def fresh_label() -> str:
    return uuid.uuid4().hex[:8]


def write_aside(directory: str, name: str, write: Callable[[Any], Any]) -> Any:
    """A file that nobody sees until it is complete and on the disk. Returns what ``write(file)`` returns."""
    path = os.path.join(directory, f".aside-{uuid.uuid4().hex}")
    try:
        with open(path, "xb") as file:
            result = write(file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(path, os.path.join(directory, name))
    except BaseException:
        if os.path.exists(path):
            os.unlink(path)
        raise
    entry = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(entry)
    finally:
        os.close(entry)
    return result


def measured(path: str) -> Tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    with open(path, "rb") as file:
        while True:
            part = file.read(1 << 20)
            if not part:
                return size, digest.hexdigest()
            digest.update(part)
            size += len(part)


def write_manifest(directory: str, manifest: Manifest) -> None:
    content = manifest._asdict()
    content["parts"] = [part._asdict() for part in manifest.parts]
    text = json.dumps({"version": VERSION, **content}).encode()
    write_aside(directory, manifest_name(manifest.step), lambda file: file.write(text))


def manifests(directory: str) -> List[str]:
    """Newest first."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    return sorted((name for name in names if _MANIFEST.fullmatch(name)), reverse=True)


def read_manifest(directory: str, name: str) -> Optional[Manifest]:
    """None if it is not one. Of names only the last part counts: a manifest cannot name a file elsewhere."""
    try:
        with open(os.path.join(directory, name), "rb") as file:
            found = json.loads(file.read())
        if found["version"] == 1:  # one file, of rank 0
            found["parts"] = [found]
        elif found["version"] != VERSION:
            return None
        parts = [Part(os.path.basename(str(one["data"])), one["size"], one["sha256"]) for one in found["parts"]]
        return Manifest(int(found["step"]), str(found["format"]), parts) if parts else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_whole(directory: str, part: Part) -> bool:
    try:
        return measured(os.path.join(directory, part.data)) == (part.size, part.sha256)
    except OSError:
        return False


def forget_old(directory: str, keep: int, saved: int) -> None:
    """Keeps the newest, and removes what a killed save left. Later steps than the one that was just saved are of a run
    that went on from further, or damaged: they do not count against it and those before it."""
    kept = set()
    names = manifests(directory)
    up_to_here = [name for name in names if name <= manifest_name(saved)]
    for name in names[:keep] + up_to_here[:keep]:
        kept.add(name)
        manifest = read_manifest(directory, name)
        kept.update(part.data for part in (manifest.parts if manifest else ()))
    names = sorted(os.listdir(directory), key=lambda name: not name.endswith(".json"))  # the manifest first
    for name in names:
        if name not in kept and any(kind.fullmatch(name) for kind in (_MANIFEST, _DATA, _ASIDE)):
            os.unlink(os.path.join(directory, name))
