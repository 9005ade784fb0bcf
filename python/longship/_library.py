# SPDX-License-Identifier: Apache-2.0
"""The C functions of liblongship.so (src/abi/longship.h), as Python calls them."""
from __future__ import annotations

import ctypes
import os
import pathlib
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from ._operation import Operation

_ABI_VERSION = 1

INSTEAD_OF_ELASTIC = "ranks cannot come and go; longship.checkpoint lets a job go on with another number of them"


class LongshipError(RuntimeError):
    """An operation failed: a rank is lost, ranks do not agree, or the call made no sense."""


def _path() -> str:
    """``LONGSHIP_LIBRARY``, or where it is installed: two directories above this package, or, by pip, in it."""
    named = os.environ.get("LONGSHIP_LIBRARY")
    if named:
        return named
    here = pathlib.Path(__file__).resolve()
    places = [here.parents[2] / "liblongship.so", here.parent / "liblongship.so"]
    for place in places:
        if place.exists():
            return str(place)
    raise ImportError(f"liblongship.so is neither {places[0]} nor {places[1]}: set LONGSHIP_LIBRARY to its path")


_SIGNATURES = {
    "longship_abi_version": (ctypes.c_int, []),
    "longship_last_error": (ctypes.c_char_p, []),
    "longship_init": (ctypes.c_int, []),
    "longship_shutdown": (ctypes.c_int, []),
    "longship_initialized": (ctypes.c_int, []),
    "longship_rank": (ctypes.c_int, []),
    "longship_size": (ctypes.c_int, []),
    "longship_local_rank": (ctypes.c_int, []),
    "longship_local_size": (ctypes.c_int, []),
    "longship_begin": (ctypes.c_int64, [ctypes.POINTER(Operation)]),
    "longship_run": (ctypes.c_int, [ctypes.POINTER(Operation)]),
    "longship_poll": (ctypes.c_int, [ctypes.c_int64]),
    "longship_wait": (ctypes.c_int, [ctypes.c_int64]),
    "longship_gathered_counts": (ctypes.c_int, [ctypes.c_int64, ctypes.POINTER(ctypes.c_uint64)]),
    "longship_gathered": (ctypes.c_int, [ctypes.c_int64, ctypes.c_void_p, ctypes.c_size_t]),
    "longship_allreduce": (
        ctypes.c_int,
        [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int],
    ),
    "longship_broadcast": (
        ctypes.c_int,
        [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int],
    ),
    "longship_barrier": (ctypes.c_int, [ctypes.c_char_p]),
    "longship_joined": (ctypes.c_int, [ctypes.c_int64]),
    "longship_process_set_add": (ctypes.c_int, [ctypes.POINTER(ctypes.c_int), ctypes.c_size_t]),
    "longship_process_set_remove": (ctypes.c_int, [ctypes.c_int]),
    "longship_process_set_size": (ctypes.c_int, [ctypes.c_int]),
    "longship_process_set_rank": (ctypes.c_int, [ctypes.c_int]),
    "longship_process_set_ranks": (ctypes.c_int, [ctypes.c_int, ctypes.POINTER(ctypes.c_int)]),
    "longship_nccl_open": (ctypes.c_int, [ctypes.c_int]),
    "longship_memory_new": (ctypes.c_void_p, [ctypes.c_size_t]),
    "longship_memory_free": (ctypes.c_int, [ctypes.c_void_p]),
    "longship_nan_count": (ctypes.c_int64, []),
    "longship_cross_rank": (ctypes.c_int, []),
    "longship_cross_size": (ctypes.c_int, []),
    "longship_checkpoint_wanted": (ctypes.c_uint32, []),
    "longship_now": (ctypes.c_int64, []),
    "longship_recording": (ctypes.c_int, []),
    "longship_span": (ctypes.c_int, [ctypes.c_int, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64]),
    "longship_metrics": (
        ctypes.c_int,
        [
            ctypes.c_uint64,
            ctypes.c_uint64,
            ctypes.POINTER(ctypes.c_char_p),
            ctypes.POINTER(ctypes.c_double),
            ctypes.c_size_t,
        ],
    ),
}


class Library:
    """Loads the library at the first call, so that importing costs nothing. Pointers are plain addresses."""

    def __init__(self) -> None:
        self._functions: Optional[ctypes.CDLL] = None
        self._recording: Optional[bool] = None  # kept here, so that nothing is called when nothing is recorded

    @property
    def _c(self) -> ctypes.CDLL:
        if self._functions is None:
            loaded = ctypes.CDLL(_path())
            for name, (result, arguments) in _SIGNATURES.items():
                function = getattr(loaded, name, None)
                if function is None:  # an older library: what needs the function will say so
                    continue
                function.restype = result
                function.argtypes = arguments
            version = loaded.longship_abi_version()
            if version != _ABI_VERSION:
                raise ImportError(f"{_path()} has version {version} of the interface, not {_ABI_VERSION}")
            self._functions = loaded
        return self._functions

    def checked(self, code: int) -> int:
        if code < 0:
            raise LongshipError(self._c.longship_last_error().decode("utf-8", "replace"))
        return code

    def init(self) -> None:
        self.checked(self._c.longship_init())
        self._recording = None

    def shutdown(self) -> None:
        self._recording = None
        if self._functions is not None:
            self.checked(self._c.longship_shutdown())

    @property
    def recording(self) -> bool:
        """Needs no ``init``; where nobody asked for a record the library is not even loaded."""
        if self._recording is None:
            self._recording = bool(os.environ.get("LONGSHIP_RECORD")) and self._c.longship_recording() == 1
        return self._recording

    def is_initialized(self) -> bool:
        return self._functions is not None and self._c.longship_initialized() == 1

    def rank(self) -> int:
        return self.checked(self._c.longship_rank())

    def size(self) -> int:
        return self.checked(self._c.longship_size())

    def local_rank(self) -> int:
        return self.checked(self._c.longship_local_rank())

    def local_size(self) -> int:
        return self.checked(self._c.longship_local_size())

    def cross_rank(self) -> int:
        return self.checked(self._function("longship_cross_rank")())

    def cross_size(self) -> int:
        return self.checked(self._function("longship_cross_size")())

    def begin(self, kind: int, name: str, **fields: Any) -> int:
        """Begins an operation (``_operation.py`` has the fields) and returns its handle."""
        return self.checked(self._c.longship_begin(ctypes.byref(Operation.of(kind, name, **fields))))

    def run(self, kind: int, name: str, **fields: Any) -> None:
        """Begins and waits: quicker, for kinds whose result is in place."""
        self.checked(self._c.longship_run(ctypes.byref(Operation.of(kind, name, **fields))))

    @property
    def bare_run(self) -> Callable[[Any], int]:
        """``run`` for an operation that was made before, as ``ctypes.byref`` of it; :meth:`checked` understands what it
        returns. Its types are not declared: they would be looked at in each call, which takes as long as the call."""
        return self._c["longship_run"]

    def allreduce(self, name: str, address: int, count: int, kind: int, op: int) -> None:
        self.checked(self._c.longship_allreduce(name.encode(), address, count, kind, op))

    def broadcast(self, name: str, address: int, count: int, kind: int, root: int) -> None:
        self.checked(self._c.longship_broadcast(name.encode(), address, count, kind, root))

    def barrier(self, name: str) -> None:
        self.checked(self._c.longship_barrier(name.encode()))

    def poll(self, handle: int) -> bool:
        return self.checked(self._c.longship_poll(handle)) == 1

    def wait(self, handle: int) -> None:
        self.checked(self._c.longship_wait(handle))

    def gathered_counts(self, handle: int, ranks: int) -> List[int]:
        counts = (ctypes.c_uint64 * ranks)()
        self.checked(self._c.longship_gathered_counts(handle, counts))
        return list(counts)

    def gathered(self, handle: int, address: int, size: int) -> None:
        self.checked(self._c.longship_gathered(handle, address, size))

    def joined(self, handle: int) -> int:
        return self.checked(self._function("longship_joined")(handle))

    def process_set_add(self, ranks: Sequence[int]) -> int:
        array = (ctypes.c_int * len(ranks))(*ranks)
        return self.checked(self._function("longship_process_set_add")(array, len(ranks)))

    def process_set_remove(self, number: int) -> None:
        self.checked(self._function("longship_process_set_remove")(number))

    def process_set_ranks(self, number: int) -> List[int]:
        ranks = (ctypes.c_int * self.checked(self._function("longship_process_set_size")(number)))()
        self.checked(self._c.longship_process_set_ranks(number, ranks))
        return list(ranks)

    def nccl_open(self, process_set: int) -> None:
        """The ranks of a set meet in NCCL, for tensors in GPUs' memory. By all of them."""
        self.checked(self._function("longship_nccl_open")(process_set))

    def nan_count(self) -> int:
        return self.checked(self._function("longship_nan_count")())

    def memory_new(self, size: int) -> Optional[int]:
        """The address of memory that the ranks of this node share, or None if there is no room for it."""
        return self._function("longship_memory_new")(size)

    def address_of(self, name: str) -> Optional[int]:
        """Of a C function, for those who call it without Python."""
        return ctypes.cast(self._function(name), ctypes.c_void_p).value

    def has(self, name: str) -> bool:
        return hasattr(self._c, name)

    def _function(self, name: str) -> Any:
        if not self.has(name):
            raise LongshipError(f"{_path()} is older than this package: it has no {name}")
        return getattr(self._c, name)

    def checkpoints_wanted(self) -> int:
        return self._c.longship_checkpoint_wanted()

    def now(self) -> int:
        return self._c.longship_now()

    def span(self, activity: int, name: str, begin: int, end: int) -> None:
        self.checked(self._c.longship_span(activity, name.encode(), begin, end))

    def metrics(self, step: int, total: int, values: Mapping[str, float]) -> None:
        numbers: Dict[str, float] = {name: float(value) for name, value in values.items()}
        names = (ctypes.c_char_p * len(numbers))(*(name.encode() for name in numbers))
        doubles = (ctypes.c_double * len(numbers))(*numbers.values())
        self.checked(self._c.longship_metrics(step, total, names, doubles, len(numbers)))


library = Library()
