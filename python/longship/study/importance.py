# SPDX-License-Identifier: Apache-2.0
"""Which parameters matter: the share of the objective's variation that each explains by itself (fANOVA)."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional

if TYPE_CHECKING:
    from .study import Study


class FanovaImportanceEvaluator:
    """The one there is. The forest is the library's own: what is said about trees and seed has no effect."""

    def __init__(self, *, n_trees: int = 64, max_depth: int = 64, seed: Optional[int] = None) -> None:
        pass


def get_param_importances(study: "Study", *, evaluator: Optional[FanovaImportanceEvaluator] = None,
                          params: Optional[List[str]] = None, target: Any = None,
                          normalize: bool = True) -> Dict[str, float]:
    """Names with shares, the largest first; they sum to 1. ``target`` may be the number of an objective."""
    if evaluator is not None and not isinstance(evaluator, FanovaImportanceEvaluator):
        raise ValueError(f"{evaluator!r} cannot be used: importance is by fANOVA, FanovaImportanceEvaluator")
    if target is None and len(study.directions) > 1:
        raise ValueError("this study has several objectives: target=0 is the first of them")
    if target is not None and not isinstance(target, int):
        raise ValueError("target is the number of an objective, not a function")
    study._native.refresh()
    shares = dict(study._native.importance(target or 0))
    if params is not None:
        unknown = [name for name in params if name not in shares]
        if unknown:
            raise ValueError(f"nothing is known of the importance of {unknown}")
        shares = {name: share for name, share in shares.items() if name in params}
        whole = sum(shares.values())
        if normalize and whole > 0:
            shares = {name: share / whole for name, share in shares.items()}
    return shares
