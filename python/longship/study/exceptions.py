# SPDX-License-Identifier: Apache-2.0
"""What scripts written for Optuna catch."""


class OptunaError(Exception):
    """The base of those below, by the name that scripts know it by."""


class TrialPruned(OptunaError):
    """Raised by an objective: this trial is not worth going on with."""


class DuplicatedStudyError(OptunaError):
    """A study of this name is there already, and ``load_if_exists`` was not said."""


class StorageInternalError(OptunaError):
    """Never raised: there is no database."""


class UpdateFinishedTrialError(OptunaError, RuntimeError):
    """Never raised: whoever tells a trial twice gets a ValueError, as from Optuna."""


class CLIUsageError(OptunaError):
    """Never raised: the command line is ``longship study``."""


class ExperimentalWarning(Warning):
    """Never warned of."""
