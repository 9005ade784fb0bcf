# SPDX-License-Identifier: Apache-2.0
"""A study: trials, the best of them, and the loop around an objective. The names are Optuna's."""
from __future__ import annotations

import copy
import enum
import logging
import math
import os
import pathlib
import threading
import time
import uuid
from typing import Any, Callable, Container, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, Union

from .._library import LongshipError
from ._library import NativeStudy
from .distributions import BaseDistribution, _from_native
from .exceptions import DuplicatedStudyError, TrialPruned
from .pruners import BasePruner, NopPruner
from .samplers import BaseSampler, GridSampler, PartialFixedSampler, TPESampler
from .storages import InMemoryStorage
from .trial import FrozenTrial, Trial, TrialState, _time

_log = logging.getLogger("longship.study")
Objective = Callable[[Trial], Union[float, Sequence[float]]]


class StudyDirection(enum.IntEnum):
    NOT_SET = 0
    MINIMIZE = 1
    MAXIMIZE = 2


class Study:
    """Made by :func:`create_study` and :func:`load_study`."""

    def __init__(self, native: NativeStudy, name: str, sampler: BaseSampler, pruner: Optional[BasePruner]) -> None:
        self._native = native
        self.study_name = name
        self._about = native.about()
        self._parameters: List[Tuple[str, BaseDistribution]] = []  # by the library's number
        self._by_kind: Dict[tuple, Tuple[int, BaseDistribution]] = {}
        self._known: Dict[int, FrozenTrial] = {}
        self._seen_changes = 0
        self._lock = threading.Lock()
        self._stop = False
        self.sampler = sampler
        self.pruner = pruner or NopPruner()

    # What decides -----------------------------------------------------------------------------------------------------

    @property
    def sampler(self) -> BaseSampler:
        return self._sampler

    @sampler.setter
    def sampler(self, sampler: BaseSampler) -> None:
        self._native.sampler(sampler._name, sampler._seed, sampler._option_text())
        self._sampler = sampler

    @property
    def pruner(self) -> BasePruner:
        return self._pruner

    @pruner.setter
    def pruner(self, pruner: BasePruner) -> None:
        self._native.pruner(pruner._name, pruner._option_text())
        self._pruner = pruner

    @property
    def directions(self) -> List[StudyDirection]:
        return [StudyDirection.MAXIMIZE if one else StudyDirection.MINIMIZE for one in self._about["maximise"]]

    @property
    def direction(self) -> StudyDirection:
        if len(self.directions) > 1:
            raise RuntimeError("this study has several objectives: use directions")
        return self.directions[0]

    # Trials -----------------------------------------------------------------------------------------------------------

    def ask(self, fixed_distributions: Optional[Mapping[str, BaseDistribution]] = None) -> Trial:
        """Begins a trial: one that was enqueued, or a new one."""
        if isinstance(self._sampler, GridSampler) and self._sampler._lists:
            self.enqueue_trial(self._sampler._wishes(len(self._fresh())))
        elif isinstance(self._sampler, PartialFixedSampler):
            self.enqueue_trial(self._sampler._fixed)
        if fixed_distributions:
            self._native.declare([self._of_distribution(name, distribution)
                                  for name, distribution in fixed_distributions.items()])
        trial = Trial(self, self._native.ask())
        for name, distribution in (fixed_distributions or {}).items():
            trial._suggest(name, distribution)
        return trial

    def tell(self, trial: Union[Trial, int], values: Union[float, Sequence[float], None] = None,
             state: Optional[TrialState] = None, skip_if_finished: bool = False) -> FrozenTrial:
        """Ends a trial. Without a state it is complete if the values are numbers, and failed otherwise."""
        number = trial if isinstance(trial, int) else trial.number
        if skip_if_finished and self._frozen(number).state.is_finished():
            return self._frozen(number)
        if state not in (None, TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL):
            raise ValueError(f"a trial cannot end as {state}")
        if state == TrialState.FAIL and values is not None:
            raise ValueError("a failed trial has no values")
        numbers, complaint = self._numbers(values)
        if state is None:
            state = TrialState.FAIL if complaint else TrialState.COMPLETE
            if complaint:
                _log.warning("trial %d failed: %s", number, complaint)
                self._note_reason(number, complaint)
        elif state == TrialState.COMPLETE and complaint:
            raise ValueError(complaint)
        if state == TrialState.PRUNED and numbers is None:
            numbers = self._last_report(number)
        if self._sampler._constraints_func is not None and state == TrialState.COMPLETE:
            self._native.constrain(number, [float(c) for c in self._sampler._constraints_func(self._frozen(number))])
        self._native.tell(number, int(state), numbers if state != TrialState.FAIL and numbers else [])
        return self._frozen(number)

    def _note_reason(self, number: int, reason: str) -> None:
        """Why a trial fails, where `longship study show`, the plots and the export look for it."""
        self._native.note(number, True, "longship.reason", reason)

    def _numbers(self, values: Any) -> Tuple[Optional[List[float]], Optional[str]]:
        """The values as floats, and what is wrong with them if something is."""
        if values is None:
            return None, "the objective returned None, not a number"
        listed = list(values) if isinstance(values, (list, tuple)) else [values]
        try:
            numbers = [float(value) for value in listed]
        except (TypeError, ValueError):
            return None, f"{values!r} is no number"
        if len(numbers) != len(self.directions):
            return None, f"{len(numbers)} values for {len(self.directions)} objectives"
        if any(math.isnan(number) for number in numbers):
            return None, "NaN is no value"
        return numbers, None

    def _last_report(self, number: int) -> List[float]:
        reports = self._frozen(number).intermediate_values
        last = reports[max(reports)] if reports else math.nan
        return [] if math.isnan(last) else [last]

    def enqueue_trial(self, params: Dict[str, Any], user_attrs: Optional[Dict[str, Any]] = None,
                      skip_if_exists: bool = False) -> None:
        """The next ``ask`` uses these values; parameters not named are sampled."""
        if skip_if_exists and any(trial.params == params or trial.system_attrs.get("fixed_params") == params
                                  for trial in self._fresh()):
            return
        number = self._native.enqueue(params)
        for key, value in (user_attrs or {}).items():
            self._native.note(number, False, key, value)

    def add_trial(self, trial: FrozenTrial) -> None:
        """Takes over a trial from elsewhere; the sampler learns from it."""
        if trial.state == TrialState.WAITING:
            self.enqueue_trial(dict(trial.params), trial.user_attrs)
            return
        point = [(self._of_distribution(name, distribution), distribution.to_internal_repr(trial.params[name]))
                 for name, distribution in trial.distributions.items()]
        if trial.state == TrialState.COMPLETE and len(trial.values or []) != len(self.directions):
            raise ValueError(f"{len(trial.values or [])} values for {len(self.directions)} objectives")
        begun = trial.datetime_start.timestamp() if trial.datetime_start else time.time()
        number = self._native.add(point, trial.intermediate_values, begun)
        for system, attributes in ((False, trial.user_attrs), (True, trial.system_attrs)):
            for key, value in attributes.items():
                self._native.note(number, system, key, value)
        if trial.constraints:
            self._native.constrain(number, trial.constraints)
        if trial.state.is_finished():
            ended = trial.datetime_complete.timestamp() if trial.datetime_complete else time.time()
            self._native.tell(number, int(trial.state), trial.values or [], ended)

    def add_trials(self, trials: Iterable[FrozenTrial]) -> None:
        for trial in trials:
            self.add_trial(trial)

    # What came of it --------------------------------------------------------------------------------------------------

    @property
    def trials(self) -> List[FrozenTrial]:
        return self.get_trials()

    def get_trials(self, deepcopy: bool = True, states: Optional[Container[TrialState]] = None) -> List[FrozenTrial]:
        chosen = [trial for trial in self._fresh() if states is None or trial.state in states]
        return copy.deepcopy(chosen) if deepcopy else chosen

    @property
    def best_trials(self) -> List[FrozenTrial]:
        """The Pareto front; with one objective the best trial."""
        self._native.refresh()
        return [self._frozen(number) for number in self._native.best()]

    @property
    def best_trial(self) -> FrozenTrial:
        if len(self.directions) > 1:
            raise RuntimeError("this study has several objectives: use best_trials")
        best = self.best_trials
        if not best:
            raise ValueError("no trial is complete yet")
        return best[0]

    @property
    def best_params(self) -> Dict[str, Any]:
        return self.best_trial.params

    @property
    def best_value(self) -> float:
        value = self.best_trial.value
        assert value is not None
        return value

    @property
    def user_attrs(self) -> Dict[str, Any]:
        return self._native.about()["user"]

    @property
    def system_attrs(self) -> Dict[str, Any]:
        return self._native.about()["system"]

    def set_user_attr(self, key: str, value: Any) -> None:
        self._native.note(-1, False, key, value)

    def set_metric_names(self, metric_names: List[str]) -> None:
        if len(metric_names) != len(self.directions):
            raise ValueError(f"{len(metric_names)} names for {len(self.directions)} objectives")
        self._native.note(-1, True, "study:metric_names", metric_names)

    @property
    def metric_names(self) -> Optional[List[str]]:
        return self.system_attrs.get("study:metric_names")

    def trials_dataframe(self, attrs: Sequence[str] = ("number", "value", "datetime_start", "datetime_complete", "duration",
                                                       "params", "user_attrs", "state")) -> Any:
        """A pandas.DataFrame with a line for each trial."""
        import pandas

        rows = []
        for trial in self._fresh():
            row: Dict[str, Any] = {}
            for attribute in attrs:
                if attribute in ("params", "user_attrs", "system_attrs"):
                    row.update({f"{attribute}_{key}": value for key, value in getattr(trial, attribute).items()})
                elif attribute == "value" and len(self.directions) > 1:
                    row.update({f"values_{i}": value for i, value in enumerate(trial.values or [])})
                else:
                    value = getattr(trial, attribute)
                    row[attribute] = value.name if isinstance(value, TrialState) else value
            rows.append(row)
        return pandas.DataFrame(rows)

    # The loop ---------------------------------------------------------------------------------------------------------

    def optimize(self, func: Objective, n_trials: Optional[int] = None, timeout: Optional[float] = None, n_jobs: int = 1,
                 catch: Union[Type[Exception], Tuple[Type[Exception], ...]] = (),
                 callbacks: Optional[Sequence[Callable[["Study", FrozenTrial], None]]] = None,
                 gc_after_trial: bool = False, show_progress_bar: bool = False) -> None:
        """Calls the objective until there were ``n_trials``, ``timeout`` seconds have gone, or :meth:`stop` was called.

        An exception of the objective that is not in ``catch`` ends the loop after its trial was marked as failed.
        """
        from ._loop import run

        self._stop = False
        run(self, func, n_trials, timeout, (os.cpu_count() or 1) if n_jobs == -1 else n_jobs,
            catch if isinstance(catch, tuple) else (catch,), tuple(callbacks or ()))

    def stop(self) -> None:
        """From an objective or a callback: no further trial is begun."""
        self._stop = True

    # Between the library's numbers and Python's objects ---------------------------------------------------------------

    def _parameter(self, name: str, kind: tuple) -> Tuple[int, BaseDistribution]:
        try:
            found = self._by_kind.get((name, kind))
        except TypeError:  # a list among the choices: the distribution says so
            found = None
        if found is None or _mixes_types(kind):
            distribution = kind[0](*kind[1:])
            found = self._of_distribution(name, distribution), distribution
            self._by_kind[name, kind] = found
        return found

    def _of_distribution(self, name: str, distribution: BaseDistribution) -> int:
        return self._native.parameter(name, *distribution._native())

    def _frozen(self, number: int) -> FrozenTrial:
        return self._freeze(self._native.trial(number))

    def _freeze(self, about: Dict[str, Any]) -> FrozenTrial:
        if any(parameter >= len(self._parameters) for parameter, _ in about["params"]):
            for each in self._native.parameters(len(self._parameters)):
                self._parameters.append((each["name"], _from_native(each)))
        params, distributions = {}, {}
        for parameter, value in about["params"]:
            name, distribution = self._parameters[parameter]
            params[name] = distribution.to_external_repr(value)
            distributions[name] = distribution
        system = about["system"]
        if about["wishes"]:
            system["fixed_params"] = about["wishes"]
        trial = FrozenTrial(about["number"], TrialState(about["state"]), None, _time(about["begun"]), _time(about["ended"]),
                            params, distributions, about["user"], system, {step: value for step, value in about["reports"]},
                            values=about["values"] or None)
        trial.constraints = about["constraints"]
        return trial

    def _fresh(self) -> List[FrozenTrial]:
        """All trials by number; only what changed since the last time is fetched again, and what still runs."""
        with self._lock:
            self._native.refresh()
            changes = self._native.changes()
            if changes > self._seen_changes:
                for about in self._native.changed(self._seen_changes):
                    self._known[about["number"]] = self._freeze(about)
                self._seen_changes = changes
            for number, trial in self._known.items():
                if not trial.state.is_finished():
                    self._known[number] = self._frozen(number)
            return [self._known[number] for number in sorted(self._known)]


def _mixes_types(kind: tuple) -> bool:
    """True == 1 == 1.0 for a dictionary, but they are different choices."""
    return len(kind) == 2 and any(isinstance(choice, (bool, int, float)) for choice in kind[1])


def _maximise(direction: Any, directions: Optional[Sequence[Any]]) -> List[bool]:
    if direction is not None and directions is not None:
        raise ValueError("give direction or directions, not both")
    listed = list(directions) if directions is not None else [direction if direction is not None else "minimize"]
    if not listed:
        raise ValueError("a study needs an objective: directions is empty")
    words = {"minimize": False, "maximize": True, StudyDirection.MINIMIZE: False, StudyDirection.MAXIMIZE: True}
    for word in listed:
        if word not in words:
            raise ValueError(f"{word!r} is no direction: they are 'minimize' and 'maximize'")
    return [words[word] for word in listed]


def _directory(storage: Any, name: str) -> Optional[pathlib.Path]:
    """Each study is a directory of its own below the storage."""
    if storage is None or isinstance(storage, InMemoryStorage):
        return None
    text = os.fspath(storage)
    if "://" in text:
        raise ValueError(f"{text}: a study lives in a directory; give a path as storage, also on a shared file system")
    if not name or "/" in name or name in (".", ".."):
        raise ValueError(f"{name!r} cannot be the name of a study: it becomes that of a directory")
    return pathlib.Path(text) / name


def create_study(*, storage: Any = None, sampler: Optional[BaseSampler] = None, pruner: Optional[BasePruner] = None,
                 study_name: Optional[str] = None, direction: Any = None, load_if_exists: bool = False,
                 directions: Optional[Sequence[Any]] = None) -> Study:
    """A new study: in memory, or in the directory ``storage`` for any number of processes at once.

    Nothing is pruned unless a ``pruner`` is given.
    """
    maximise = _maximise(direction, directions)
    name = study_name or f"no-name-{uuid.uuid4()}"
    directory = _directory(storage, name)
    if directory is not None and (directory / "writer-0").exists() and not load_if_exists:
        raise DuplicatedStudyError(f"there is a study in {directory} already: say load_if_exists=True to go on with it")
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
    native = NativeStudy(None if directory is None else str(directory), name, maximise)
    return Study(native, name, sampler or TPESampler(), pruner)


def load_study(*, study_name: Optional[str], storage: Any, sampler: Optional[BaseSampler] = None,
               pruner: Optional[BasePruner] = None) -> Study:
    """The study of that name in the directory ``storage``; of any name, if there is only one."""
    if study_name is None:
        names = get_all_study_names(storage)
        if len(names) != 1:
            raise ValueError(f"there are {len(names)} studies in {storage}: say which one")
        study_name = names[0]
    directory = _directory(storage, study_name)
    if directory is None:
        raise ValueError("a study can only be loaded from a storage")
    try:
        native = NativeStudy(str(directory))
    except LongshipError as error:
        raise KeyError(str(error)) from None
    return Study(native, study_name, sampler or TPESampler(), pruner)


def get_all_study_names(storage: Any) -> List[str]:
    return sorted(path.parent.name for path in pathlib.Path(storage).glob("*/writer-0"))


class StudySummary:
    """What there is to say of a study without opening it."""

    def __init__(self, study: Study, best: bool) -> None:
        self.study_name, self.directions = study.study_name, study.directions
        trials = study.get_trials(deepcopy=False)
        self.n_trials = len(trials)
        self.user_attrs = study.user_attrs
        self.datetime_start = min((trial.datetime_start for trial in trials if trial.datetime_start), default=None)
        front = study.best_trials if best and len(self.directions) == 1 else []
        self.best_trial = front[0] if front else None

    @property
    def direction(self) -> StudyDirection:
        if len(self.directions) > 1:
            raise RuntimeError("this study has several objectives: use directions")
        return self.directions[0]


def get_all_study_summaries(storage: Any, include_best_trial: bool = True) -> List[StudySummary]:
    return [StudySummary(load_study(study_name=name, storage=storage), include_best_trial)
            for name in get_all_study_names(storage)]


class MaxTrialsCallback:
    """For ``optimize``: stops when the study, by whichever process, has so many trials that ended like this."""

    def __init__(self, n_trials: int, states: Optional[Container[TrialState]] = (TrialState.COMPLETE,)) -> None:
        self._n_trials, self._states = n_trials, states

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        if len(study.get_trials(deepcopy=False, states=self._states)) >= self._n_trials:
            study.stop()


def delete_study(*, study_name: str, storage: Any) -> None:
    import shutil

    directory = _directory(storage, study_name)
    if directory is None or not (directory / "writer-0").exists():
        raise KeyError(f"there is no study {study_name!r} in {storage}")
    shutil.rmtree(directory)


def copy_study(*, from_study_name: str, from_storage: Any, to_storage: Any, to_study_name: Optional[str] = None) -> None:
    source = load_study(study_name=from_study_name, storage=from_storage)
    target = create_study(storage=to_storage, study_name=to_study_name or from_study_name, directions=source.directions)
    for key, value in source.user_attrs.items():
        target.set_user_attr(key, value)
    target.add_trials(source.get_trials(deepcopy=False))
