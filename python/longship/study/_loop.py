# SPDX-License-Identifier: Apache-2.0
"""The loop of Study.optimize, in one thread or several."""
from __future__ import annotations

import itertools
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence, Tuple, Type

from .exceptions import TrialPruned
from .samplers import GridSampler
from .trial import TrialState

if TYPE_CHECKING:
    from .study import Study


def run(study: "Study", objective: Callable[[Any], Any], n_trials: Optional[int], timeout: Optional[float], n_jobs: int,
        catch: Tuple[Type[BaseException], ...], callbacks: Sequence[Callable[..., None]]) -> None:
    end = None if timeout is None else time.monotonic() + timeout
    numbers = itertools.count()  # next() of it is atomic
    failed = threading.Event()

    def may_begin() -> bool:
        if study._stop or failed.is_set() or (end is not None and time.monotonic() >= end):
            return False
        return n_trials is None or next(numbers) < n_trials

    def work() -> None:
        try:
            while may_begin():
                _one(study, objective, catch, callbacks)
        except BaseException:
            failed.set()
            raise

    if n_jobs == 1:
        work()
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        for future in [pool.submit(work) for _ in range(n_jobs)]:
            future.result()


def _one(study: "Study", objective: Callable[[Any], Any], catch: Tuple[Type[BaseException], ...],
         callbacks: Sequence[Callable[..., None]]) -> None:
    trial = study.ask()
    try:
        values = objective(trial)
    except TrialPruned:
        told = study.tell(trial, state=TrialState.PRUNED)
    except BaseException as raised:  # KeyboardInterrupt too: the trial has ended
        study._note_reason(trial.number, "".join(traceback.format_exception_only(type(raised), raised)).strip())
        study.tell(trial, state=TrialState.FAIL)
        if not isinstance(raised, catch):
            raise
        told = study._frozen(trial.number)
    else:
        told = study.tell(trial, values)
    sampler = study.sampler
    if isinstance(sampler, GridSampler) and sampler._lists and trial.number + 1 >= sampler._combinations():
        study.stop()
    for callback in callbacks:
        callback(study, told)
