# SPDX-License-Identifier: Apache-2.0
"""The gradients of one optimiser on their way: reduced bucket by bucket while the backward pass still runs.

The first backward pass shows in which order gradients come; rank 0's order is then everybody's, and the buckets are made
anew in it. In the steps after it buckets of other sizes are tried (bucket_tuner.py).
"""
from __future__ import annotations

import os
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from .._library import LongshipError, library
from .allreduce import Sum, allreduce
from .bucket_tuner import BucketTuner
from .buckets import Buckets, Gradient, plan, sizes_to_try
from .handles import numbered, synchronize
from .reducers import How, Reducer, Rounds
from .sparse import sparse_allreduce_async
from .state import allgather_object
from .threads import shares_core


class Reduction:
    """``names``: the parameters, and what ranks match them by."""

    def __init__(
        self,
        names: Dict[torch.Tensor, str],
        reducer: Reducer,
        how: How,
        passes: int,
        groups: Sequence[Sequence[torch.Tensor]],
        sparse_as_dense: bool,
    ) -> None:
        self._gradients = {parameter: Gradient(parameter, name) for parameter, name in names.items()}
        self._reducer = reducer
        self._how = how
        self._passes = passes
        self._groups = groups
        self._label = f"gradients.{numbered('optimizer', how.process_set)}"  # a script may have several, as for a GAN
        self._sparse_as_dense = sparse_as_dense
        self._sparse: Dict[torch.Tensor, None] = {}  # found to be so; ordered
        self._learnt: List[Gradient] = []
        self._learning = True
        self._tuner: Optional[BucketTuner] = None  # while sizes are being tried
        self._first_came: Optional[float] = None  # the first gradient of this step
        self._on_their_way: List[Tuple[Rounds, int]] = []
        self._sparse_on_their_way: Dict[torch.Tensor, Callable[[], torch.Tensor]] = {}
        self._accumulators: List[Any] = []  # a hook lives as long as the node it is on
        self._buckets = Buckets([])
        self.synchronized = False
        self.active = how.process_set.included() and len(how.process_set.ranks) > 1
        self.set_passes(passes)
        if self.active:
            # Gradients come roughly in the opposite order of their use.
            self._build(list(reversed(list(names))), sizes_to_try(False)[0], "first.")
            for gradient in self._gradients.values():
                self._watch(gradient)

    @property
    def under_way(self) -> bool:
        return bool(self._on_their_way or self._sparse_on_their_way)

    def set_passes(self, passes: int) -> None:
        self._passes = passes
        for gradient in self._gradients.values():
            gradient.passes_left = passes

    def forget(self) -> None:
        """Gives up what has not been begun, after a state was loaded."""
        self.set_passes(self._passes)
        self.synchronized = False
        for bucket in self._buckets.all:
            bucket.begin_again()

    def synchronize(self) -> None:
        """Waits until every gradient is the reduced one."""
        if self.active:
            for gradient in self._gradients.values():
                # Without a part in this backward pass here, but maybe with one on another rank.
                if gradient.passes_left > 0:
                    gradient.passes_left = 0
                    self._ready(gradient)
            self._wait()
            if self._learning:
                self._learn()
            elif self._tuner is not None:
                self._tune(self._tuner)
            self._first_came = None
        self.forget()
        self.synchronized = True

    def zero(self) -> bool:
        """Zeroes all gradients in place, if they are where they should be."""
        if not self._buckets.all or self._sparse:
            return False
        if not all(gradient.is_in_place() for bucket in self._buckets.all for gradient in bucket.gradients):
            return False
        self._buckets.zero()
        return True

    # --- while the backward pass runs

    def _watch(self, gradient: Gradient) -> None:
        def accumulated(*_: Any) -> None:
            left = gradient.passes_left
            if left == 0:
                raise LongshipError(
                    f"the gradient of {gradient.name} was computed more than {self._passes} times before "
                    "step(): set backward_passes_per_step"
                )
            gradient.passes_left = left - 1
            if left == 1:
                self._ready(gradient)
            elif not self._is_sparse(gradient.parameter):
                gradient.move_in()

        # The node that adds to parameter.grad; torch 2.1 has a function for it, this way works with all.
        node = gradient.parameter.expand_as(gradient.parameter).grad_fn.next_functions[0][0]
        node.register_hook(accumulated)
        self._accumulators.append(node)

    def _is_sparse(self, parameter: torch.Tensor) -> bool:
        if self._sparse_as_dense:
            return False
        return parameter in self._sparse or (parameter.grad is not None and parameter.grad.is_sparse)

    def _ready(self, gradient: Gradient) -> None:
        """The backward pass has added to it for the last time."""
        if self._learning:
            self._learnt.append(gradient)
        if self._first_came is None:
            self._first_came = time.perf_counter()
        bucket = gradient.bucket
        if bucket is None or not gradient.is_in_place():
            self._put_in_place(gradient)
        if bucket is not None:
            bucket.missing -= 1
            if bucket.missing == 0:
                rounds = self._reducer.reduce(bucket.name, bucket.tensor, self._how)
                self._on_their_way.append((rounds, next(rounds)))

    def _put_in_place(self, gradient: Gradient) -> None:
        """Or on its way, if it is sparse."""
        if self._is_sparse(gradient.parameter):
            self._begin_sparse(gradient)
            if gradient.bucket is not None:
                gradient.leave_out()
        elif gradient.bucket is not None:
            gradient.move_in()

    def _begin_sparse(self, gradient: Gradient) -> None:
        parameter, values = gradient.parameter, gradient.parameter.grad
        self._sparse[parameter] = None
        if values is None:
            row = parameter.shape[1:]
            nowhere = torch.empty((1, 0), dtype=torch.int64, device=parameter.device)
            values = torch.sparse_coo_tensor(nowhere, parameter.new_empty((0, *row)), parameter.shape)
        name = f"{self._label}.{gradient.name}"
        self._sparse_on_their_way[parameter] = sparse_allreduce_async(
            values.detach(), name, self._how.op, self._how.process_set
        )

    # --- at its end

    def _wait(self) -> None:
        """Round by round, so that the second round of one bucket goes beside that of another."""
        failure = None
        while self._on_their_way:
            waited, self._on_their_way = self._on_their_way, []
            for rounds, handle in waited:
                try:
                    self._on_their_way.append((rounds, rounds.send(synchronize(handle))))
                except StopIteration:
                    pass
                except LongshipError as error:  # the others still use their memory
                    failure = failure or error
        for parameter, finish in self._sparse_on_their_way.items():
            parameter.grad = finish()
        self._sparse_on_their_way.clear()
        if failure is not None:
            raise failure

    def _learn(self) -> None:
        """Makes the buckets anew, in the order in which gradients came on rank 0, without those that are sparse."""
        known = {gradient.name: parameter for parameter, gradient in self._gradients.items()}
        on_a_shared_core = shares_core(len(os.sched_getaffinity(0)), library.local_size(), library.size())
        mine = [one.name for one in self._learnt], [self._gradients[one].name for one in self._sparse], on_a_shared_core
        everybody = allgather_object(mine, f"{self._label}.order", self._how.process_set)
        _check_names([names for names, _, _ in everybody], self._how.process_set.ranks)
        for _, sparse, _ in everybody:
            self._sparse.update((known[name], None) for name in sparse)
        self._learning = False
        self._learnt.clear()
        order = [known[name] for name in everybody[0][0] if known[name] not in self._sparse]
        sizes = self._different_sizes(order, sizes_to_try(all(shares for _, _, shares in everybody)))
        if len(sizes) > 1 and not self._reducer.remembers:
            self._tuner = BucketTuner(sizes)
        self._build_again(order, sizes[0])

    def _tune(self, tuner: BucketTuner) -> None:
        """After a step with buckets that are being tried."""
        assert self._first_came is not None
        if not tuner.measured(time.perf_counter() - self._first_came):
            return
        size = tuner.next_size()
        if size is None:  # everybody's clock counts, and a rank that has joined says nothing
            name = f"{self._label}.times"
            seconds = allreduce(torch.tensor(tuner.medians()), name=name, op=Sum, process_set=self._how.process_set).tolist()
            size = tuner.best(seconds)
            self._tuner = None
            _tell(f"buckets of {size} bytes: " + _table(tuner.sizes, seconds, len(self._how.process_set.ranks)))
        order = [gradient.parameter for bucket in self._buckets.all for gradient in bucket.gradients]
        self._build_again(order, size)

    def _different_sizes(self, order: Sequence[torch.Tensor], sizes: Sequence[int]) -> List[int]:
        """Those that lead to different buckets."""
        planned: Dict[int, List[int]] = {}
        for size in sizes:
            lengths = [len(bucket) for bucket in self._planned(order, size)]
            if lengths not in planned.values():
                planned[size] = lengths
        return list(planned)

    def _planned(self, order: Sequence[torch.Tensor], size: int) -> List[List[torch.Tensor]]:
        return plan(order, size, self._reducer.alone, self._groups)

    def _build_again(self, order: Sequence[torch.Tensor], size: int) -> None:
        self._build(order, size, f"{size}.")
        for parameter in order:
            self._gradients[parameter].move_in()

    def _build(self, order: Sequence[torch.Tensor], size: int, prefix: str) -> None:
        for gradient in self._gradients.values():
            gradient.bucket = None
        self._buckets = Buckets(
            [
                (
                    f"{self._label}.{prefix}{number}",
                    [self._gradients[parameter] for parameter in parameters],
                    len(parameters) == 1 and self._reducer.alone(parameters[0]),
                )
                for number, parameters in enumerate(self._planned(order, size))
            ]
        )


def _check_names(by_rank: Sequence[Sequence[str]], ranks: Sequence[int]) -> None:
    """Buckets have no names of parameters in them: without this, ranks would add up what does not belong together."""
    for names, rank in zip(by_rank, ranks):
        apart = sorted(set(by_rank[0]) ^ set(names))
        if apart:
            has, lacks = (rank, ranks[0]) if apart[0] in names else (ranks[0], rank)
            raise LongshipError(f'rank {has} has a parameter "{apart[0]}", and rank {lacks} has none of that name')


def _tell(line: str) -> None:
    """As the library does it: by rank 0, to who asked for it."""
    if library.rank() == 0 and "tune" in os.environ.get("LONGSHIP_LOG", "").split(","):
        print(f"longship: {line}", file=sys.stderr, flush=True)


def _table(sizes: Sequence[int], seconds: Sequence[float], ranks: int) -> str:
    return ", ".join(f"{size} {1e3 * total / ranks:.2f} ms" for size, total in zip(sizes, seconds))
