# SPDX-License-Identifier: Apache-2.0
"""Hyper-parameter search with Optuna's names: ``import longship.study as optuna``, and the script runs.

Needs neither numpy nor a framework. docs/study.md has the samplers, the differences and the figures.
"""
from . import distributions, exceptions, importance, logging, pruners, samplers, storages, study, trial
from .exceptions import TrialPruned
from .job import parent_directory, report, trial_number, values
from .study import (Study, StudyDirection, copy_study, create_study, delete_study, get_all_study_names,
                    get_all_study_summaries, load_study)
from .trial import FixedTrial, FrozenTrial, Trial, TrialState, create_trial

__all__ = ["FixedTrial", "FrozenTrial", "Study", "StudyDirection", "Trial", "TrialPruned", "TrialState", "copy_study",
           "create_study", "create_trial", "delete_study", "distributions", "exceptions", "get_all_study_names",
           "get_all_study_summaries", "importance", "load_study", "logging", "parent_directory", "pruners", "report",
           "samplers", "storages", "study", "trial", "trial_number", "values"]
