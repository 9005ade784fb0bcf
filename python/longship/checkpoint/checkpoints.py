# SPDX-License-Identifier: Apache-2.0
"""The checkpoints of a job: when one is due, saving, and finding the newest that is whole."""
from __future__ import annotations

import atexit
import json
import os
import threading
import time
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .._library import LongshipError, library
from ..trace import region
from . import files
from .among_ranks import check_not_one_of_many, from_all, from_rank_0, is_first_of_launch, rank, size
from .formats import format_here, read_content, write_content
from .parts import Divided, copied, divided, together


def wanted() -> bool:
    """Whether this job has been asked for a checkpoint, because its time ends. One load from memory: call it freely."""
    return library.checkpoints_wanted() > 0


class _Save(NamedTuple):
    step: int
    label: str  # the same on all ranks
    format: str
    state: Divided
    own: Any


class Checkpoint:
    """The checkpoints of a job in one directory, on a file system that all ranks see.

    ``directory``, ``every`` (seconds) and ``keep`` are the job's own if not given: ``[checkpoint]`` of its file. Outside
    of a job, and without a directory, nothing is ever due and there is nothing to load. With ``background`` a save takes
    a copy, and writes it while the training goes on.
    """

    def __init__(
        self,
        directory: Optional[str] = None,
        keep: Optional[int] = None,
        every: Optional[float] = None,
        background: bool = False,
    ) -> None:
        self._directory = directory or os.environ.get("LONGSHIP_CHECKPOINTS") or None
        self._keep = int(_number("keep", keep, "LONGSHIP_CHECKPOINT_KEEP", 3))
        self._every = _number("every", every, "LONGSHIP_CHECKPOINT_EVERY", None)
        self._background = background
        if self._keep < 1:
            raise ValueError(f"keep={self._keep}: at least one checkpoint has to be kept")
        self._last = time.monotonic()
        self._answered = 0  # how often we have been asked, at the last save
        self._writer: Optional[threading.Thread] = None
        self._failure: Optional[str] = None
        self.own: Any = None  # what this rank gave as its own to the checkpoint that was loaded
        if self._directory is not None and is_first_of_launch():
            os.makedirs(self._directory, exist_ok=True)

    def due(self) -> bool:
        """Whether to save now: because it was asked for, or ``every`` seconds have passed. Rank 0 decides for all, so all
        ranks have to call this at the same places."""
        if self._directory is None:
            return False
        asked = library.checkpoints_wanted() > self._answered
        late = self._every is not None and time.monotonic() - self._last >= self._every
        return from_rank_0("due", b"1" if asked or late else b"0") == b"1"

    def save(self, step: int, state: Dict[str, Any], own: Any = None) -> None:
        """Saves ``state`` as that of step ``step``, on all ranks: its tensors have to be the same on all of them, and each
        rank writes some; the rest is rank 0's. ``own`` is every rank's own, like :func:`random_state`.

        Returns when the checkpoint would survive anything; with ``background``, when the state may change, and
        :meth:`wait` does the rest. If the job was asked for a checkpoint, because its time ends, nothing is put off.
        """
        if self._directory is None:
            raise LongshipError("there is no directory for checkpoints: give one, or [checkpoint] in the job file")
        step = files.checked_step(step)
        if not is_first_of_launch():  # rank 0 alone may save for all, as in many a script
            check_not_one_of_many("save")
        self.wait()
        asked = library.checkpoints_wanted()
        # Rank 0 chooses for all: the name of the files, and whether to write now.
        now = b"now" if asked > self._answered or not self._background else b"later"
        label, when = from_rank_0("save", files.fresh_label().encode() + b" " + now).decode().split()
        self._answered, self._last = asked, time.monotonic()
        with region("checkpoint", "checkpoint"):
            if when == "now":
                self._write(_Save(step, label, format_here(), divided(state, size()), own))
            else:
                mine = _copy_of_part(divided(state, size()), rank())
                self._begin_to_write(_Save(step, label, format_here(), mine, copied(own)))
        self._raise_failure()

    def wait(self) -> None:
        """Until what was saved in the background would survive anything. Raises what went wrong with it."""
        if self._writer is not None:
            with region("checkpoint", "checkpoint"):
                self._writer.join()
            self._writer = None
            atexit.unregister(self.wait)
        self._raise_failure()

    def latest(self) -> Optional[int]:
        """The step of the newest checkpoint that is whole; None if there is none."""
        found = self._find()
        return None if found is None else found.step

    def load(self) -> Optional[Tuple[int, Dict[str, Any]]]:
        """Step and state of the newest checkpoint that is whole; None if there is none. The same on all ranks. ``own`` of
        this rank is then in :attr:`own`, if there are as many ranks as there were."""
        with region("checkpoint", "checkpoint"):
            self.wait()
            found = self._find()
            if found is None:
                return None
            paths = [os.path.join(str(self._directory), part.data) for part in found.parts]
            contents = [read_content(path, found.format) for path in paths]
        if not _is_divided(contents[0]):
            return found.step, contents[0]  # written by version 1
        self.own = contents[rank()]["own"] if len(contents) == size() else None
        return found.step, together(contents[0]["rest"], [content["tensors"] for content in contents])

    # --- writing

    def _begin_to_write(self, save: _Save) -> None:
        self._writer = threading.Thread(target=self._write, args=(save,), name="longship-checkpoint")
        atexit.register(self.wait)  # before the ranks part
        self._writer.start()

    def _write(self, save: _Save) -> None:
        """This rank's part, and on rank 0 the manifest when all have written theirs. Never raises: somebody may wait for
        what this rank has to say."""
        said: Dict[str, Any] = {"layout": save.state.layout}
        try:
            said["part"] = self._write_part(save)
        except Exception as error:
            said["problem"] = _words_of(error)
        try:
            every = [json.loads(one) for one in from_all(f"{save.label}.written", json.dumps(said).encode())]
            problem = _problem(every)
            if rank() == 0 and not problem:
                problem = self._commit(save, [files.Part(*one["part"]) for one in every])
            problem = from_rank_0(f"{save.label}.committed", problem.encode()).decode()
        except LongshipError as error:
            problem = str(error)
        if problem:
            self._failure = f"cannot save the checkpoint of step {save.step}: {problem}"

    def _write_part(self, save: _Save) -> files.Part:
        content = {"longship": files.VERSION, "tensors": save.state.tensors[rank()], "own": save.own}
        if rank() == 0:
            content["rest"] = save.state.rest
        name = files.data_name(save.step, save.label, rank())
        files.write_aside(str(self._directory), name, lambda file: write_content(content, file, save.format))
        return files.Part(name, *files.measured(os.path.join(str(self._directory), name)))

    def _commit(self, save: _Save, parts: List[files.Part]) -> str:
        try:
            files.write_manifest(str(self._directory), files.Manifest(save.step, save.format, parts))
            files.forget_old(str(self._directory), self._keep, save.step)
        except Exception as error:  # the others wait for what this rank has to say
            return _words_of(error)
        return ""

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise LongshipError(failure)

    # --- finding

    def _find(self) -> Optional[files.Manifest]:
        """All have the same answer: rank 0 says what there is, and each rank looks through its share of the files."""
        if self._directory is None:
            return None
        directory = str(self._directory)
        names = files.manifests(directory) if rank() == 0 else []
        for name in json.loads(from_rank_0("manifests", json.dumps(names).encode())):
            manifest = files.read_manifest(directory, name)
            whole = manifest is not None and all(
                files.is_whole(directory, part) for part in manifest.parts[rank() :: size()]
            )
            if all(one == b"1" for one in from_all("whole", b"1" if whole else b"0")):
                return manifest
        return None


def _copy_of_part(state: Divided, part: int) -> Divided:
    """Only what this rank will write is copied."""
    tensors = [copied(one) if number == part else {} for number, one in enumerate(state.tensors)]
    return Divided(copied(state.rest) if part == 0 else None, tensors, state.layout)


def _words_of(error: Exception) -> str:
    return str(error) or type(error).__name__  # MemoryError says nothing more


def _problem(every: List[Dict[str, Any]]) -> str:
    for number, said in enumerate(every):
        if "problem" in said:
            return said["problem"] if number == 0 else f"rank {number}: {said['problem']}"
        if said["layout"] != every[0]["layout"]:
            return f"the tensors of rank {number} have other shapes or types than those of rank 0"
    return ""


def _is_divided(content: Any) -> bool:
    return isinstance(content, dict) and content.get("longship") == files.VERSION


def _number(name: str, given: Optional[float], variable: str, otherwise: Any) -> Any:
    text = os.environ.get(variable)
    if given is None and not text:
        return otherwise
    try:
        return float(text if given is None else given)
    except (TypeError, ValueError):
        said = f"{name}={given!r}: expected a number" if given is not None else f"{variable}={text}: not a number for {name}"
        raise ValueError(said) from None
