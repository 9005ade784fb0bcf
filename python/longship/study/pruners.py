# SPDX-License-Identifier: Apache-2.0
"""Which trials are given up early. The names are Optuna's; none is on unless it is given to the study."""
from __future__ import annotations

import math
from typing import Any, Mapping, Optional, Union


class BasePruner:
    """One of the library's, or one's own: a class with ``prune(study, trial)``, which is asked by ``trial.should_prune()``."""

    _name = ""
    _options: Mapping[str, float] = {}

    def __init__(self, name: str = "", options: Optional[Mapping[str, Optional[float]]] = None) -> None:
        self._name = name
        self._options = {key: value for key, value in (options or {}).items() if value is not None}

    def _option_text(self) -> str:
        return ",".join(f"{key}={float(value)!r}" for key, value in self._options.items())


    def prune(self, study: Any, trial: Any) -> bool:
        """Whether the library would give the trial up."""
        return bool(study._native.should_prune(trial.number))

    def _is_own(self) -> bool:
        return type(self).prune is not BasePruner.prune


class NopPruner(BasePruner):
    def __init__(self) -> None:
        super().__init__("", {})


class MedianPruner(BasePruner):
    def __init__(self, n_startup_trials: int = 5, n_warmup_steps: int = 0, interval_steps: int = 1, *,
                 n_min_trials: int = 1) -> None:
        super().__init__("median", {"startup": n_startup_trials, "warmup": n_warmup_steps, "interval": interval_steps,
                                    "least": n_min_trials})


class PercentilePruner(BasePruner):
    def __init__(self, percentile: float, n_startup_trials: int = 5, n_warmup_steps: int = 0, interval_steps: int = 1, *,
                 n_min_trials: int = 1) -> None:
        super().__init__("percentile", {"percentile": percentile, "startup": n_startup_trials, "warmup": n_warmup_steps,
                                        "interval": interval_steps, "least": n_min_trials})


class SuccessiveHalvingPruner(BasePruner):
    def __init__(self, min_resource: Union[str, int] = 1, reduction_factor: int = 4, min_early_stopping_rate: int = 0,
                 bootstrap_count: int = 0) -> None:
        super().__init__("asha", {"least": 1 if min_resource == "auto" else float(min_resource),
                                  "factor": reduction_factor, "rate": min_early_stopping_rate})


class HyperbandPruner(BasePruner):
    def __init__(self, min_resource: int = 1, max_resource: Union[str, int] = "auto", reduction_factor: int = 3,
                 bootstrap_count: int = 0) -> None:
        super().__init__("hyperband", {"least": min_resource, "factor": reduction_factor,
                                       "most": None if max_resource == "auto" else float(max_resource)})


class ThresholdPruner(BasePruner):
    def __init__(self, lower: Optional[float] = None, upper: Optional[float] = None, n_warmup_steps: int = 0,
                 interval_steps: int = 1) -> None:
        if lower is None and upper is None:
            raise ValueError("ThresholdPruner needs a lower or an upper bound")
        super().__init__("threshold", {"lower": lower, "upper": upper, "warmup": n_warmup_steps})


class PatientPruner(BasePruner):
    """Gives up what has not become better for ``patience`` reports, if the wrapped pruner, when there is one, agrees."""

    def __init__(self, wrapped_pruner: Optional[BasePruner], patience: int, min_delta: float = 0.0) -> None:
        if patience < 0 or min_delta < 0:
            raise ValueError("PatientPruner: patience and min_delta are 0 or more")
        self._wrapped, self._patience, self._min_delta = wrapped_pruner, patience, min_delta
        if wrapped_pruner is None:
            super().__init__("patient", {"patience": patience, "delta": min_delta})
        else:  # the library knows the wrapped one; patience is looked at first, here
            super().__init__(wrapped_pruner._name, wrapped_pruner._options)

    def prune(self, study: Any, trial: Any) -> bool:
        if self._wrapped is None:
            return super().prune(study, trial)
        sign = -1 if study.direction.name == "MAXIMIZE" else 1
        losses = [sign * value for _, value in sorted(trial.intermediate_values.items())]
        before, lately = losses[:-self._patience - 1], losses[-self._patience - 1:]
        seen = [loss for loss in before if not math.isnan(loss)]
        if not seen or min((loss for loss in lately if not math.isnan(loss)), default=math.inf) <= min(seen) + self._min_delta:
            return False
        return self._wrapped.prune(study, trial)
