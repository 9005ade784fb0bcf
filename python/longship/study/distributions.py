# SPDX-License-Identifier: Apache-2.0
"""What a parameter may be. The names are Optuna's."""
from __future__ import annotations

import json
from typing import Any, Optional, Sequence, Tuple


class BaseDistribution:
    """Equal if all of its settings are."""

    _kind: int

    def _settings(self) -> Tuple[Any, ...]:
        raise NotImplementedError

    def _native(self) -> Tuple[int, float, float, float, bool, Sequence[str]]:
        """Kind, low, high, step, log, choices: as the library takes them."""
        raise NotImplementedError

    def to_internal_repr(self, value: Any) -> float:
        return float(value)

    def to_external_repr(self, value: float) -> Any:
        return value

    def single(self) -> bool:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._settings() == other._settings()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((type(self), self._settings()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._settings()}"


class FloatDistribution(BaseDistribution):
    def __init__(self, low: float, high: float, log: bool = False, step: Optional[float] = None) -> None:
        self.low, self.high, self.log, self.step = float(low), float(high), log, step

    def _settings(self) -> Tuple[Any, ...]:
        return self.low, self.high, self.log, self.step

    def _native(self) -> Tuple[int, float, float, float, bool, Sequence[str]]:
        return 0, self.low, self.high, self.step or 0.0, self.log, ()

    def single(self) -> bool:
        return self.low == self.high


class IntDistribution(BaseDistribution):
    def __init__(self, low: int, high: int, log: bool = False, step: int = 1) -> None:
        self.low, self.high, self.log, self.step = int(low), int(high), log, int(step)

    def _settings(self) -> Tuple[Any, ...]:
        return self.low, self.high, self.log, self.step

    def _native(self) -> Tuple[int, float, float, float, bool, Sequence[str]]:
        return 1, float(self.low), float(self.high), float(self.step), self.log, ()

    def to_external_repr(self, value: float) -> int:
        return int(round(value))

    def single(self) -> bool:
        return self.low == self.high


class CategoricalDistribution(BaseDistribution):
    """Choices are None, bool, int, float or str."""

    def __init__(self, choices: Sequence[Any]) -> None:
        self.choices = tuple(choices)
        for choice in self.choices:
            if choice is not None and not isinstance(choice, (bool, int, float, str)):
                raise ValueError(f"{choice!r} cannot be chosen from: only None, bool, int, float and str can")
        self._labels = tuple(json.dumps(choice) for choice in self.choices)

    def _settings(self) -> Tuple[Any, ...]:
        return self._labels

    def _native(self) -> Tuple[int, float, float, float, bool, Sequence[str]]:
        return 2, 0.0, 0.0, 0.0, False, self._labels

    def to_internal_repr(self, value: Any) -> float:
        try:
            return float(self._labels.index(json.dumps(value)))
        except (ValueError, TypeError):
            raise ValueError(f"{value!r} is none of the choices {self.choices}") from None

    def to_external_repr(self, value: float) -> Any:
        return self.choices[int(value)]

    def single(self) -> bool:
        return len(self.choices) == 1


def _from_native(about: dict) -> BaseDistribution:
    if about["kind"] == 2:
        return CategoricalDistribution([json.loads(choice) for choice in about["choices"]])
    if about["kind"] == 1:
        return IntDistribution(about["low"], about["high"], about["log"], about["step"])
    return FloatDistribution(about["low"], about["high"], about["log"], about["step"] or None)
