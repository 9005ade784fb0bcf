# SPDX-License-Identifier: Apache-2.0
"""How large buckets should be, found out in the first steps of a training.

Small buckets begin to travel earlier, large ones travel better: what is best depends on the model, the ranks and the
network. So each size is used for some steps, and the quickest is kept. Trying is training: nothing is done but the
job's own steps. All ranks count the same steps, so they change over together; whose clock decides is the caller's business.
"""
from __future__ import annotations

import statistics
from typing import List, Optional, Sequence

STEPS = 6  # of each size that count; the one before them, in which ranks meet new names, does not
GAIN = 0.03  # what another size than the first must at least bring: the clock is not better than that


class BucketTuner:
    """``sizes``: in bytes, the one to be kept if nothing is better first."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = list(sizes)
        self._seconds: List[List[float]] = [[]]

    @property
    def size(self) -> int:
        """What is tried now."""
        return self.sizes[len(self._seconds) - 1]

    def measured(self, seconds: float) -> bool:
        """A step with the present size took so long. Whether that was the last of this size."""
        self._seconds[-1].append(seconds)
        return len(self._seconds[-1]) == STEPS + 1

    def next_size(self) -> Optional[int]:
        """What is to be tried from now on; None if all have been."""
        if len(self._seconds) == len(self.sizes):
            return None
        self._seconds.append([])
        return self.size

    def medians(self) -> List[float]:
        """By size."""
        return [statistics.median(seconds[1:]) for seconds in self._seconds]

    def best(self, seconds: Sequence[float]) -> int:
        """The size to keep, if each takes so long."""
        quickest = min(range(len(self.sizes)), key=lambda number: seconds[number])
        return self.sizes[quickest if seconds[quickest] < (1 - GAIN) * seconds[0] else 0]
