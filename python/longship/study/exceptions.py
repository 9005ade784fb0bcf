# SPDX-License-Identifier: Apache-2.0
"""What scripts written for Optuna catch."""


class OptunaError(Exception):
    """The base of those below, by the name that scripts know it by."""


class TrialPruned(OptunaError):
    """Raised by an objective: this trial is not worth going on with."""


class DuplicatedStudyError(OptunaError):
    """A study of this name is there already, and ``load_if_exists`` was not said."""
