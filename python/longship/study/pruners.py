# SPDX-License-Identifier: Apache-2.0
"""Which trials are given up early. The names are Optuna's; none is on unless it is given to the study."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Union


class BasePruner:
    def __init__(self, name: str, options: Mapping[str, Optional[float]]) -> None:
        self._name = name
        self._options = {key: value for key, value in options.items() if value is not None}

    def _option_text(self) -> str:
        return ",".join(f"{key}={float(value)!r}" for key, value in self._options.items())


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
    """Gives up what has not become better for ``patience`` reports."""

    def __init__(self, wrapped_pruner: Any, patience: int, min_delta: float = 0.0) -> None:
        if wrapped_pruner is not None:
            raise ValueError("PatientPruner judges by itself: give it None as wrapped_pruner")
        super().__init__("patient", {"patience": patience, "delta": min_delta})
