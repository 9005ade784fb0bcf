# SPDX-License-Identifier: Apache-2.0
"""Hyper-parameter search with Optuna's names: ``import longship.study as optuna``, and the script runs.

Needs neither numpy nor a framework. docs/study.md has the samplers, the differences and the figures.
"""
from . import distributions, exceptions, logging, pruners, samplers, trial
from .exceptions import TrialPruned
from .study import Study, StudyDirection, copy_study, create_study, delete_study, get_all_study_names, load_study
from .trial import FixedTrial, FrozenTrial, Trial, TrialState, create_trial

__all__ = ["FixedTrial", "FrozenTrial", "Study", "StudyDirection", "Trial", "TrialPruned", "TrialState", "copy_study",
           "create_study", "create_trial", "delete_study", "distributions", "exceptions", "get_all_study_names",
           "load_study", "logging", "pruners", "samplers", "trial"]
