# SPDX-License-Identifier: Apache-2.0
"""The C functions of a study (src/abi/longship_study.h), as Python calls them."""
from __future__ import annotations

import ctypes
import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .._library import LongshipError, _path

_P = ctypes.c_void_p
_TEXTS = ctypes.POINTER(ctypes.c_char_p)
_DOUBLES = ctypes.POINTER(ctypes.c_double)
_SIGNATURES = {
    "error": (ctypes.c_char_p, []),
    "open": (_P, [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]),
    "load": (_P, [ctypes.c_char_p]),
    "close": (None, [_P]),
    "sampler": (ctypes.c_int, [_P, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_char_p]),
    "pruner": (ctypes.c_int, [_P, ctypes.c_char_p, ctypes.c_char_p]),
    "parameter": (ctypes.c_int64, [_P, ctypes.c_char_p, ctypes.c_int, ctypes.c_double, ctypes.c_double, ctypes.c_double,
                                   ctypes.c_int, _TEXTS, ctypes.c_size_t]),
    "declare": (ctypes.c_int, [_P, ctypes.POINTER(ctypes.c_uint32), ctypes.c_size_t]),
    "ask": (ctypes.c_int64, [_P]),
    "suggest": (ctypes.c_int, [_P, ctypes.c_uint64, ctypes.c_uint32, _DOUBLES]),
    "report": (ctypes.c_int, [_P, ctypes.c_uint64, ctypes.c_int64, ctypes.c_double]),
    "should_prune": (ctypes.c_int, [_P, ctypes.c_uint64]),
    "constrain": (ctypes.c_int, [_P, ctypes.c_uint64, _DOUBLES, ctypes.c_size_t]),
    "note": (ctypes.c_int, [_P, ctypes.c_int64, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p]),
    "tell": (ctypes.c_int, [_P, ctypes.c_uint64, ctypes.c_int, _DOUBLES, ctypes.c_size_t]),
    "tell_at": (ctypes.c_int, [_P, ctypes.c_uint64, ctypes.c_int, _DOUBLES, ctypes.c_size_t, ctypes.c_double]),
    "enqueue": (ctypes.c_int64, [_P, _TEXTS, _TEXTS, ctypes.c_size_t]),
    "add": (ctypes.c_int64, [_P, ctypes.POINTER(ctypes.c_uint32), _DOUBLES, ctypes.c_size_t,
                             ctypes.POINTER(ctypes.c_int64), _DOUBLES, ctypes.c_size_t, ctypes.c_double]),
    "refresh": (ctypes.c_int, [_P]),
    "changes": (ctypes.c_int64, [_P]),
    "changed": (ctypes.c_char_p, [_P, ctypes.c_uint64]),
    "trial": (ctypes.c_char_p, [_P, ctypes.c_uint64]),
    "parameters": (ctypes.c_char_p, [_P, ctypes.c_uint64]),
    "about": (ctypes.c_char_p, [_P]),
    "best": (ctypes.c_char_p, [_P]),
    "importance": (ctypes.c_char_p, [_P, ctypes.c_size_t]),
}
_USAGE = -2
_functions: Dict[str, Any] = {}


def _load() -> Dict[str, Any]:
    if not _functions:
        library = ctypes.CDLL(_path())
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, f"longship_study_{name}")
            function.restype = result
            function.argtypes = arguments
            _functions[name] = function
    return _functions


def _failure(code: Optional[int]) -> Exception:
    text = _functions["error"]().decode("utf-8", "replace")
    return ValueError(text) if code == _USAGE else LongshipError(text)


def _doubles(values: Sequence[float]) -> Any:
    return (ctypes.c_double * len(values))(*values)


def _texts(values: Sequence[str]) -> Any:
    return (ctypes.c_char_p * len(values))(*(value.encode() for value in values))


class NativeStudy:
    """One study of the library. What makes no sense is a ValueError, all else that fails a LongshipError."""

    def __init__(self, directory: Optional[str], name: str = "", maximise: Optional[Sequence[bool]] = None) -> None:
        functions = _load()
        self._handle = None
        if maximise is None:
            handle = functions["load"](str(directory).encode())
        else:
            handle = functions["open"](None if directory is None else str(directory).encode(), name.encode(),
                                       bytes(maximise), len(maximise))
        if not handle:
            raise _failure(None)
        self._handle = ctypes.c_void_p(handle)
        self._f = functions
        self._suggest = functions["suggest"]

    def __del__(self) -> None:
        if self._handle is not None:
            self._f["close"](self._handle)

    def _checked(self, code: int) -> int:
        if code < 0:
            raise _failure(code)
        return code

    def _json(self, text: Optional[bytes]) -> Any:
        if text is None:
            raise _failure(None)
        return json.loads(text)

    def sampler(self, name: str, seed: int, options: str) -> None:
        self._checked(self._f["sampler"](self._handle, name.encode(), seed, options.encode()))

    def pruner(self, name: str, options: str) -> None:
        self._checked(self._f["pruner"](self._handle, name.encode(), options.encode()))

    def parameter(self, name: str, kind: int, low: float, high: float, step: float, log: bool,
                  choices: Sequence[str]) -> int:
        return self._checked(self._f["parameter"](self._handle, name.encode(), kind, low, high, step, int(log),
                                                  _texts(choices), len(choices)))

    def declare(self, parameters: Sequence[int]) -> None:
        self._checked(self._f["declare"](self._handle, (ctypes.c_uint32 * len(parameters))(*parameters), len(parameters)))

    def ask(self) -> int:
        return self._checked(self._f["ask"](self._handle))

    def suggest(self, trial: int, parameter: int) -> float:
        value = ctypes.c_double()
        if self._suggest(self._handle, trial, parameter, ctypes.byref(value)) < 0:
            raise _failure(_USAGE)
        return value.value

    def report(self, trial: int, step: int, value: float) -> None:
        self._checked(self._f["report"](self._handle, trial, step, value))

    def should_prune(self, trial: int) -> bool:
        return self._checked(self._f["should_prune"](self._handle, trial)) == 1

    def constrain(self, trial: int, values: Sequence[float]) -> None:
        self._checked(self._f["constrain"](self._handle, trial, _doubles(values), len(values)))

    def note(self, trial: int, system: bool, key: str, value: Any) -> None:
        """About the study itself if ``trial`` is -1."""
        self._checked(self._f["note"](self._handle, trial, int(system), key.encode(), json.dumps(value).encode()))

    def tell(self, trial: int, state: int, values: Sequence[float], ended: Optional[float] = None) -> None:
        if ended is None:
            self._checked(self._f["tell"](self._handle, trial, state, _doubles(values), len(values)))
        else:
            self._checked(self._f["tell_at"](self._handle, trial, state, _doubles(values), len(values), ended))

    def enqueue(self, wishes: Mapping[str, Any]) -> int:
        values = [json.dumps(value) for value in wishes.values()]
        return self._checked(self._f["enqueue"](self._handle, _texts(list(wishes)), _texts(values), len(values)))

    def add(self, point: Sequence[Tuple[int, float]], reports: Mapping[int, float], begun: float) -> int:
        ids = (ctypes.c_uint32 * len(point))(*(parameter for parameter, _ in point))
        steps = (ctypes.c_int64 * len(reports))(*reports)
        return self._checked(self._f["add"](self._handle, ids, _doubles([value for _, value in point]), len(point), steps,
                                            _doubles(list(reports.values())), len(reports), begun))

    def refresh(self) -> None:
        self._checked(self._f["refresh"](self._handle))

    def changes(self) -> int:
        return self._checked(self._f["changes"](self._handle))

    def changed(self, since: int) -> List[Dict[str, Any]]:
        return self._json(self._f["changed"](self._handle, since))

    def trial(self, number: int) -> Dict[str, Any]:
        return self._json(self._f["trial"](self._handle, number))

    def parameters(self, since: int) -> List[Dict[str, Any]]:
        return self._json(self._f["parameters"](self._handle, since))

    def about(self) -> Dict[str, Any]:
        return self._json(self._f["about"](self._handle))

    def best(self) -> List[int]:
        return self._json(self._f["best"](self._handle))

    def importance(self, objective: int) -> List[Tuple[str, float]]:
        return [(name, share) for name, share in self._json(self._f["importance"](self._handle, objective))]
