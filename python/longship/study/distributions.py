# SPDX-License-Identifier: Apache-2.0
"""What a parameter may be. The names are Optuna's."""
from __future__ import annotations

import json
from typing import Any, Optional, Sequence, Tuple, Union

CategoricalChoiceType = Union[None, bool, int, float, str]


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
    _kind = 0

    def __init__(self, low: float, high: float, log: bool = False, step: Optional[float] = None) -> None:
        self.low, self.high, self.log, self.step = float(low), float(high), log, step

    def _settings(self) -> Tuple[Any, ...]:
        return self.low, self.high, self.log, self.step

    def _native(self) -> Tuple[int, float, float, float, bool, Sequence[str]]:
        return 0, self.low, self.high, self.step or 0.0, self.log, ()

    def single(self) -> bool:
        return self.low == self.high


class IntDistribution(BaseDistribution):
    _kind = 1

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

    _kind = 2

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


# As Optuna called them before.
def UniformDistribution(low: float, high: float) -> FloatDistribution:
    return FloatDistribution(low, high)


def LogUniformDistribution(low: float, high: float) -> FloatDistribution:
    return FloatDistribution(low, high, log=True)


def DiscreteUniformDistribution(low: float, high: float, q: float) -> FloatDistribution:
    return FloatDistribution(low, high, step=q)


def IntUniformDistribution(low: int, high: int, step: int = 1) -> IntDistribution:
    return IntDistribution(low, high, step=step)


def IntLogUniformDistribution(low: int, high: int, step: int = 1) -> IntDistribution:
    return IntDistribution(low, high, log=True, step=step)


def distribution_to_json(dist: BaseDistribution) -> str:
    name = next(kind.__name__ for kind in (FloatDistribution, IntDistribution, CategoricalDistribution)
                if isinstance(dist, kind))
    if isinstance(dist, CategoricalDistribution):
        return json.dumps({"name": name, "attributes": {"choices": dist.choices}})
    return json.dumps({"name": name, "attributes": {key: getattr(dist, key) for key in ("log", "step", "low", "high")}})


def json_to_distribution(json_str: str) -> BaseDistribution:
    kinds = {kind.__name__: kind for kind in (
        FloatDistribution, IntDistribution, CategoricalDistribution, UniformDistribution, LogUniformDistribution,
        DiscreteUniformDistribution, IntUniformDistribution, IntLogUniformDistribution)}
    about = json.loads(json_str)
    if not isinstance(about, dict) or about.get("name") not in kinds:
        raise ValueError(f"{json_str} is no distribution")
    return kinds[about["name"]](**about["attributes"])


def check_distribution_compatibility(dist_old: BaseDistribution, dist_new: BaseDistribution) -> None:
    """A ValueError if one name cannot stand for both in one study: ranges may change, kinds and choices may not."""
    if dist_old._kind != dist_new._kind:
        raise ValueError(f"{dist_old} cannot become {dist_new}: that is another kind")
    if isinstance(dist_old, CategoricalDistribution) and dist_old != dist_new:
        raise ValueError(f"{dist_old} cannot become {dist_new}: the choices have to stay the same")
    if isinstance(dist_old, (FloatDistribution, IntDistribution)) and dist_old.log != dist_new.log:  # type: ignore[attr-defined]
        raise ValueError(f"{dist_old} cannot become {dist_new}: logarithmic or not has to stay the same")


def _from_native(about: dict) -> BaseDistribution:
    if about["kind"] == 2:
        return CategoricalDistribution([json.loads(choice) for choice in about["choices"]])
    if about["kind"] == 1:
        return IntDistribution(about["low"], about["high"], about["log"], about["step"])
    return FloatDistribution(about["low"], about["high"], about["log"], about["step"] or None)
