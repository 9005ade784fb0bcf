# SPDX-License-Identifier: Apache-2.0
"""How the next values are chosen. The names are Optuna's; the work is done by the library, for all of them."""
from __future__ import annotations

import random
import warnings
from typing import Any, Callable, Dict, Mapping, Optional, Sequence


class BaseSampler:
    """A name that the library knows, a seed and options."""

    def __init__(self, name: str, seed: Optional[int], options: Mapping[str, Optional[float]],
                 constraints_func: Optional[Callable[[Any], Sequence[float]]] = None) -> None:
        self._name = name
        self._seed = random.SystemRandom().getrandbits(63) if seed is None else seed & 0xFFFFFFFFFFFFFFFF
        self._options: Dict[str, float] = {key: value for key, value in options.items() if value is not None}
        self._constraints_func = constraints_func

    def _option_text(self) -> str:
        return ",".join(f"{key}={float(value)!r}" for key, value in self._options.items())

    def reseed_rng(self) -> None:
        """Nothing is to be done: a trial's random numbers follow from the seed and its number."""


def _ignored(sampler: str, given: Mapping[str, Any]) -> None:
    if given:
        warnings.warn(f"{sampler} does without: {', '.join(sorted(given))}", stacklevel=3)


class RandomSampler(BaseSampler):
    def __init__(self, seed: Optional[int] = None) -> None:
        super().__init__("random", seed, {})


class QMCSampler(BaseSampler):
    """Sobol's sequence, scrambled by the seed."""

    def __init__(self, *, seed: Optional[int] = None, **others: Any) -> None:
        _ignored("QMCSampler", {key: value for key, value in others.items() if key not in ("qmc_type", "scramble")})
        super().__init__("sobol", seed, {})


class GridSampler(BaseSampler):
    """All combinations, one after the other. ``points`` is for real numbers without steps. A ``search_space`` as
    Optuna has it, names with lists of values, is visited in order too."""

    def __init__(self, search_space: Optional[Mapping[str, Sequence[Any]]] = None, seed: Optional[int] = None,
                 points: int = 10) -> None:
        super().__init__("grid", seed or 0, {"points": points})
        self._lists = {name: list(values) for name, values in (search_space or {}).items()}

    def _wishes(self, number: int) -> Dict[str, Any]:
        """The combination of this number."""
        wishes = {}
        for name, values in self._lists.items():
            number, place = divmod(number, len(values))
            wishes[name] = values[place]
        return wishes

    def _combinations(self) -> int:
        count = 1
        for values in self._lists.values():
            count *= len(values)
        return count if self._lists else 0

    def is_exhausted(self, study: Any) -> bool:
        """Whether every combination was tried."""
        return bool(self._lists) and sum(trial.state.is_finished() for trial in study._fresh()) >= self._combinations()


class PartialFixedSampler(BaseSampler):
    """Some parameters have given values; the others are chosen by another sampler."""

    def __init__(self, fixed_params: Mapping[str, Any], base_sampler: BaseSampler) -> None:
        self.__dict__.update(base_sampler.__dict__)
        self._fixed = dict(fixed_params)


class TPESampler(BaseSampler):
    def __init__(self, *, n_startup_trials: int = 10, n_ei_candidates: int = 24, seed: Optional[int] = None,
                 multivariate: Optional[bool] = None, constant_liar: bool = True, group: bool = False,
                 constraints_func: Optional[Callable[[Any], Sequence[float]]] = None, **others: Any) -> None:
        _ignored("TPESampler", others)
        super().__init__("tpe", seed, {"startup": n_startup_trials, "candidates": n_ei_candidates,
                                       "multivariate": None if multivariate is None else float(multivariate),
                                       "liar": float(constant_liar)}, constraints_func)


class GPSampler(BaseSampler):
    def __init__(self, *, seed: Optional[int] = None, n_startup_trials: int = 10, deterministic_objective: bool = False,
                 constraints_func: Optional[Callable[[Any], Sequence[float]]] = None, **others: Any) -> None:
        _ignored("GPSampler", others)
        super().__init__("gp", seed, {"startup": n_startup_trials, "exact": float(deterministic_objective)},
                         constraints_func)


class CmaEsSampler(BaseSampler):
    def __init__(self, x0: Optional[Mapping[str, Any]] = None, sigma0: Optional[float] = None, n_startup_trials: int = 1,
                 seed: Optional[int] = None, *, popsize: Optional[int] = None, restart_strategy: Optional[str] = "ipop",
                 **others: Any) -> None:
        _ignored("CmaEsSampler", {**others, **({"x0": x0} if x0 else {})})
        super().__init__("cmaes", seed, {"startup": n_startup_trials, "population": popsize, "sigma": sigma0,
                                         "restarts": float(restart_strategy is not None)})


class NSGAIISampler(BaseSampler):
    def __init__(self, *, population_size: int = 50, mutation_prob: Optional[float] = None, crossover_prob: float = 0.9,
                 swapping_prob: float = 0.5, seed: Optional[int] = None,
                 constraints_func: Optional[Callable[[Any], Sequence[float]]] = None, **others: Any) -> None:
        _ignored("NSGAIISampler", others)
        super().__init__("nsga2", seed, {"population": population_size, "mutation": mutation_prob,
                                         "crossover": crossover_prob, "swapping": swapping_prob}, constraints_func)


class AutoSampler(BaseSampler):
    """Chooses by the space and by how many trials there are."""

    def __init__(self, *, seed: Optional[int] = None,
                 constraints_func: Optional[Callable[[Any], Sequence[float]]] = None) -> None:
        super().__init__("auto", seed, {}, constraints_func)
