# SPDX-License-Identifier: Apache-2.0
"""One try at the objective. The names are Optuna's."""
from __future__ import annotations

import datetime
import enum
import math
import warnings
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Sequence

from .distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

if TYPE_CHECKING:
    from .study import Study


class TrialState(enum.IntEnum):
    RUNNING = 0
    COMPLETE = 1
    PRUNED = 2
    FAIL = 3
    WAITING = 4

    def is_finished(self) -> bool:
        return self not in (TrialState.RUNNING, TrialState.WAITING)


def _time(seconds: float) -> Optional[datetime.datetime]:
    return datetime.datetime.fromtimestamp(seconds) if seconds else None


class BaseTrial:
    """What an objective may be called with."""

    def suggest_float(self, name: str, low: float, high: float, *, step: Optional[float] = None, log: bool = False) -> float:
        raise NotImplementedError

    # As Optuna called them before.
    def suggest_uniform(self, name: str, low: float, high: float) -> float:
        return self.suggest_float(name, low, high)

    def suggest_loguniform(self, name: str, low: float, high: float) -> float:
        return self.suggest_float(name, low, high, log=True)

    def suggest_discrete_uniform(self, name: str, low: float, high: float, q: float) -> float:
        return self.suggest_float(name, low, high, step=q)


class FrozenTrial(BaseTrial):
    """What is known of a trial, at one moment."""

    def __init__(self, number: int, state: TrialState, value: Optional[float], datetime_start: Optional[datetime.datetime],
                 datetime_complete: Optional[datetime.datetime], params: Dict[str, Any],
                 distributions: Dict[str, BaseDistribution], user_attrs: Dict[str, Any], system_attrs: Dict[str, Any],
                 intermediate_values: Dict[int, float], trial_id: Optional[int] = None, *,
                 values: Optional[Sequence[float]] = None) -> None:
        self.number = number
        self.state = state
        self.values = list(values) if values is not None else None if value is None else [value]
        self.datetime_start, self.datetime_complete = datetime_start, datetime_complete
        self.params, self.distributions = params, distributions
        self.user_attrs, self.system_attrs = user_attrs, system_attrs
        self.intermediate_values = intermediate_values
        self._trial_id = number if trial_id is None else trial_id
        self.constraints: Sequence[float] = ()

    @property
    def value(self) -> Optional[float]:
        if self.values is not None and len(self.values) > 1:
            raise RuntimeError("this study has several objectives: use values")
        return self.values[0] if self.values else None

    @property
    def last_step(self) -> Optional[int]:
        return max(self.intermediate_values, default=None)

    @property
    def duration(self) -> Optional[datetime.timedelta]:
        if self.datetime_start is None or self.datetime_complete is None:
            return None
        return self.datetime_complete - self.datetime_start

    @property
    def relative_params(self) -> Dict[str, Any]:
        return {}

    # A frozen trial can be given to an objective again: each parameter has the value that it had.
    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        if name not in self.params:
            raise ValueError(f"the trial has no value for {name!r}")
        return self.params[name]

    def suggest_float(self, name: str, low: float, high: float, *, step: Optional[float] = None, log: bool = False) -> float:
        return self._suggest(name, FloatDistribution(low, high, log, step))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        return self._suggest(name, IntDistribution(low, high, log, step))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        return self._suggest(name, CategoricalDistribution(choices))

    def report(self, value: float, step: int) -> None:
        """Nothing listens."""

    def should_prune(self) -> bool:
        return False

    def set_user_attr(self, key: str, value: Any) -> None:
        self.user_attrs[key] = value

    def set_system_attr(self, key: str, value: Any) -> None:
        self.system_attrs[key] = value

    def set_constraint(self, key: str, value: float) -> None:
        """Above 0 the constraint is violated."""
        self.constraints = [*self.constraints, float(value)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenTrial) and self.__dict__ == other.__dict__

    def __repr__(self) -> str:
        return f"FrozenTrial(number={self.number}, state={self.state.name}, values={self.values}, params={self.params})"


class FixedTrial(FrozenTrial):
    """For calling an objective with given values, without a study."""

    def __init__(self, params: Dict[str, Any], number: int = 0) -> None:
        super().__init__(number, TrialState.RUNNING, None, datetime.datetime.now(), None, params, {}, {}, {}, {})

    def report(self, value: float, step: int) -> None:
        self.intermediate_values[step] = value


def create_trial(*, state: TrialState = TrialState.COMPLETE, value: Optional[float] = None,
                 values: Optional[Sequence[float]] = None, params: Optional[Dict[str, Any]] = None,
                 distributions: Optional[Dict[str, BaseDistribution]] = None,
                 user_attrs: Optional[Dict[str, Any]] = None, system_attrs: Optional[Dict[str, Any]] = None,
                 intermediate_values: Optional[Dict[int, float]] = None,
                 constraints: Optional[Dict[str, float]] = None) -> FrozenTrial:
    """A trial that was carried out elsewhere, for ``study.add_trial``."""
    params, distributions = params or {}, distributions or {}
    if params.keys() != distributions.keys():
        raise ValueError(f"parameters {sorted(params)} and distributions {sorted(distributions)} are not the same")
    if state == TrialState.COMPLETE and value is None and values is None:
        raise ValueError("a complete trial has a value")
    for number in values if values is not None else () if value is None else (value,):
        if math.isnan(number):
            raise ValueError("NaN is no value of a trial")
    now = datetime.datetime.now()
    trial = FrozenTrial(-1, state, value, now if state != TrialState.WAITING else None,
                        now if state.is_finished() else None, params, distributions, user_attrs or {}, system_attrs or {},
                        intermediate_values or {}, values=values)
    trial.constraints = [float(violation) for violation in (constraints or {}).values()]
    return trial


class Trial(BaseTrial):
    """A trial that is being carried out: what an objective is called with."""

    def __init__(self, study: "Study", number: int) -> None:
        self.study = study
        self.number = number
        self._trial_id = number
        self._params: Dict[str, Any] = {}
        self._distributions: Dict[str, BaseDistribution] = {}
        self._constraints: Dict[str, float] = {}

    def suggest_float(self, name: str, low: float, high: float, *, step: Optional[float] = None, log: bool = False) -> float:
        return self._value(name, (FloatDistribution, low, high, log, step))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        return self._value(name, (IntDistribution, low, high, log, step))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        return self._value(name, (CategoricalDistribution, tuple(choices)))

    def _value(self, name: str, kind: tuple) -> Any:
        parameter, distribution = self.study._parameter(name, kind)
        known = self._distributions.get(name)
        if known is not None:
            if known != distribution:
                warnings.warn(f"{name!r} was {known} before in this trial: its value stays", stacklevel=3)
            return self._params[name]
        value = distribution.to_external_repr(self.study._native.suggest(self.number, parameter))
        self._params[name] = value
        self._distributions[name] = distribution
        return value

    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        return self._value(name, (type(distribution), *distribution._settings())
                           if not isinstance(distribution, CategoricalDistribution)
                           else (CategoricalDistribution, distribution.choices))

    def report(self, value: float, step: int) -> None:
        """What the objective has come to so far; of two reports for one step the first counts."""
        if len(self.study.directions) > 1:
            raise NotImplementedError("trials of several objectives cannot be pruned")
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"report() wants a number, not {value!r}") from None
        self.study._native.report(self.number, int(step), number)

    def should_prune(self) -> bool:
        """Whether the study's pruner would give this trial up; without a pruner never."""
        if self.study.pruner._is_own():
            return self.study.pruner.prune(self.study, self.study._frozen(self.number))
        return self.study._native.should_prune(self.number)

    def set_user_attr(self, key: str, value: Any) -> None:
        self.study._native.note(self.number, False, key, value)

    def set_system_attr(self, key: str, value: Any) -> None:
        self.study._native.note(self.number, True, key, value)

    def set_constraint(self, key: str, value: float) -> None:
        """Above 0 the constraint is violated."""
        self._constraints[key] = float(value)
        self.study._native.constrain(self.number, list(self._constraints.values()))

    @property
    def constraints(self) -> Dict[str, float]:
        return dict(self._constraints)

    @property
    def params(self) -> Dict[str, Any]:
        return dict(self._params)

    @property
    def distributions(self) -> Dict[str, BaseDistribution]:
        return dict(self._distributions)

    @property
    def user_attrs(self) -> Mapping[str, Any]:
        return self.study._frozen(self.number).user_attrs

    @property
    def system_attrs(self) -> Mapping[str, Any]:
        return self.study._frozen(self.number).system_attrs

    @property
    def datetime_start(self) -> Optional[datetime.datetime]:
        return self.study._frozen(self.number).datetime_start

    @property
    def relative_params(self) -> Dict[str, Any]:
        return {}
