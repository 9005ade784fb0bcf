# SPDX-License-Identifier: Apache-2.0
"""The gradients of one optimiser on their way: reduced bucket by bucket while the backward pass still runs.

The first backward pass shows in which order gradients come; rank 0's order is then everybody's, and the buckets are made
anew in it.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch

from .._library import LongshipError
from .buckets import Bucket, bytes_per_bucket, plan
from .handles import numbered, synchronize
from .reducers import How, Reducer, Rounds
from .sparse import sparse_allreduce_async
from .state import allgather_object


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
        self._names = names
        self._reducer = reducer
        self._how = how
        self._passes = passes
        self._groups = groups
        self._label = f"gradients.{numbered('optimizer', how.process_set)}"  # a script may have several, as for a GAN
        self._sparse_as_dense = sparse_as_dense
        self._sparse: Dict[torch.Tensor, None] = {}  # found to be so; ordered
        self._learnt: List[torch.Tensor] = []
        self._learning = True
        self._passes_left: Dict[torch.Tensor, int] = {}
        self._on_their_way: List[Tuple[Rounds, int]] = []
        self._sparse_on_their_way: Dict[torch.Tensor, Callable[[], torch.Tensor]] = {}
        self._accumulators: List[Any] = []  # a hook lives as long as the node it is on
        self._buckets: List[Bucket] = []
        self._bucket_of: Dict[torch.Tensor, Bucket] = {}
        self.synchronized = False
        self.active = how.process_set.included() and len(how.process_set.ranks) > 1
        self.set_passes(passes)
        if self.active:
            # Gradients come roughly in the opposite order of their use.
            self._build(list(reversed(list(names))), "first.")
            for parameter in names:
                self._watch(parameter)

    @property
    def under_way(self) -> bool:
        return bool(self._on_their_way or self._sparse_on_their_way)

    def set_passes(self, passes: int) -> None:
        self._passes = passes
        self._passes_left = {parameter: passes for parameter in self._names}

    def forget(self) -> None:
        """Gives up what has not been begun, after a state was loaded."""
        self.set_passes(self._passes)
        self.synchronized = False
        for bucket in self._buckets:
            bucket.begin_again()

    def synchronize(self) -> None:
        """Waits until every gradient is the reduced one."""
        if self.active:
            for parameter in self._names:
                # Without a part in this backward pass here, but maybe with one on another rank.
                if self._passes_left[parameter] > 0:
                    self._passes_left[parameter] = 0
                    self._ready(parameter)
            self._wait()
            if self._learning:
                self._learn()
        self.forget()
        self.synchronized = True

    def zero(self) -> bool:
        """Zeroes all gradients in place, if they are where they should be."""
        if not self._buckets or self._sparse:
            return False
        if not all(bucket.holds(parameter) for bucket in self._buckets for parameter in bucket.parameters):
            return False
        for bucket in self._buckets:
            bucket.zero()
        return True

    # --- while the backward pass runs

    def _watch(self, parameter: torch.Tensor) -> None:
        def accumulated(*_: Any) -> None:
            if self._passes_left[parameter] == 0:
                raise LongshipError(
                    f"the gradient of {self._names[parameter]} was computed more than {self._passes} times before "
                    "step(): set backward_passes_per_step"
                )
            self._passes_left[parameter] -= 1
            if self._passes_left[parameter] == 0:
                self._ready(parameter)
            elif not self._is_sparse(parameter):
                self._bucket_of[parameter].move_in(parameter)

        # The node that adds to parameter.grad; torch 2.1 has a function for it, this way works with all.
        node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
        node.register_hook(accumulated)
        self._accumulators.append(node)

    def _is_sparse(self, parameter: torch.Tensor) -> bool:
        if self._sparse_as_dense:
            return False
        return parameter in self._sparse or (parameter.grad is not None and parameter.grad.is_sparse)

    def _ready(self, parameter: torch.Tensor) -> None:
        """The backward pass has added to it for the last time."""
        if self._learning:
            self._learnt.append(parameter)
        bucket = self._bucket_of.get(parameter)
        if self._is_sparse(parameter):
            self._begin_sparse(parameter)
            if bucket is not None:
                bucket.leave_out(parameter)
        elif bucket is not None:
            bucket.move_in(parameter)
        if bucket is not None and bucket.arrived(parameter):
            rounds = self._reducer.reduce(bucket.name, bucket.tensor, self._how)
            self._on_their_way.append((rounds, next(rounds)))

    def _begin_sparse(self, parameter: torch.Tensor) -> None:
        self._sparse[parameter] = None
        gradient = parameter.grad
        if gradient is None:
            row = parameter.shape[1:]
            nowhere = torch.empty((1, 0), dtype=torch.int64, device=parameter.device)
            gradient = torch.sparse_coo_tensor(nowhere, parameter.new_empty((0, *row)), parameter.shape)
        name = f"{self._label}.{self._names[parameter]}"
        self._sparse_on_their_way[parameter] = sparse_allreduce_async(
            gradient.detach(), name, self._how.op, self._how.process_set
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
        known = {name: parameter for parameter, name in self._names.items()}
        mine = [self._names[one] for one in self._learnt], [self._names[one] for one in self._sparse]
        everybody = allgather_object(mine, f"{self._label}.order", self._how.process_set)
        for _, sparse in everybody:
            self._sparse.update((known[name], None) for name in sparse)
        self._learning = False
        self._learnt.clear()
        order = [known[name] for name in everybody[0][0] if known[name] not in self._sparse]
        self._build(order, "")
        for parameter in order:
            self._bucket_of[parameter].move_in(parameter)

    def _build(self, order: Sequence[torch.Tensor], prefix: str) -> None:
        planned = plan(order, bytes_per_bucket(), self._reducer.alone, self._groups)
        self._buckets = [
            Bucket(f"{self._label}.{prefix}{number}", parameters, len(parameters) == 1 and self._reducer.alone(parameters[0]))
            for number, parameters in enumerate(planned)
        ]
        self._bucket_of = {parameter: bucket for bucket in self._buckets for parameter in bucket.parameters}
