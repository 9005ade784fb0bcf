# SPDX-License-Identifier: Apache-2.0
"""How much is said: the logger ``longship.study``, by the functions that scripts for Optuna call."""
from __future__ import annotations

import logging as _logging

CRITICAL, ERROR, WARNING, INFO, DEBUG = (_logging.CRITICAL, _logging.ERROR, _logging.WARNING, _logging.INFO, _logging.DEBUG)
FATAL, WARN = CRITICAL, WARNING
_logger = _logging.getLogger("longship.study")


def set_verbosity(verbosity: int) -> None:
    _logger.setLevel(verbosity)


def get_verbosity() -> int:
    return _logger.getEffectiveLevel()


def disable_default_handler() -> None:
    """There is none."""


def enable_propagation() -> None:
    _logger.propagate = True


def disable_propagation() -> None:
    _logger.propagate = False
