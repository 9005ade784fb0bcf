# SPDX-License-Identifier: Apache-2.0
"""Which samples a rank sees, and how far all of them have come: a training goes on in the middle of an epoch, also on
another number of ranks, and no sample is seen twice or left out."""
from __future__ import annotations

import random
from typing import Dict, Iterator, List, Optional

from . import among_ranks


class Sampler:
    """For ``DataLoader(sampler=…)``. Every rank has the same order; from where all together have come, each takes every
    ``size()``-th.

        sampler = Sampler(len(dataset))
        for epoch in range(sampler.epoch, epochs):
            sampler.set_epoch(epoch)
            for batch in DataLoader(dataset, batch_size, sampler=sampler):
                ...
                sampler.done(batch_size)
        ckpt.save(step, {..., "sampler": sampler.state_dict()})
    """

    def __init__(self, length: int, shuffle: bool = True, seed: int = 0) -> None:
        self._length = length
        self._shuffle = shuffle
        self._seed = seed
        self.epoch = 0
        self._position = 0  # samples that all ranks together have done in this epoch
        self._order: Optional[List[int]] = None

    def set_epoch(self, epoch: int) -> None:
        """Begins an epoch; harmless for the one that a checkpoint was made in."""
        if epoch != self.epoch:
            self.epoch, self._position, self._order = epoch, 0, None

    def done(self, batch_size: int) -> None:
        """This rank and all others have trained on so many samples each."""
        self._position = min(self._length, self._position + batch_size * among_ranks.size())

    def state_dict(self) -> Dict[str, int]:
        """The same on all ranks."""
        return {"epoch": self.epoch, "position": self._position, "seed": self._seed}

    def load_state_dict(self, state: Dict[str, int]) -> None:
        self.epoch, self._position, self._seed = state["epoch"], state["position"], state["seed"]
        self._order = None

    def _whole_order(self) -> List[int]:
        if self._order is None:
            self._order = list(range(self._length))
            if self._shuffle:
                random.Random(self._seed * 1_000_003 + self.epoch).shuffle(self._order)
        return self._order

    def __len__(self) -> int:
        left = self._length - self._position
        return -(-left // among_ranks.size())

    def __iter__(self) -> Iterator[int]:
        among_ranks.check_not_one_of_many("Sampler")
        rank, size = among_ranks.rank(), among_ranks.size()
        left = self._whole_order()[self._position :]
        # All ranks take equally many, or they would wait for each other at the end: the first fill the last round.
        missing = -len(left) % size
        while missing > 0 and left:
            more = left[:missing]
            left, missing = left + more, missing - len(more)
        return iter(left[rank::size])
