# SPDX-License-Identifier: Apache-2.0
"""Distributed training with PyTorch, under the names of ``horovod.torch``::

    import longship.torch as hvd

    hvd.init()
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)

Tensors are matched between ranks by name. Functions that are not given one count their calls, which is right as long as
all ranks make the same calls; where they do not, name the tensors, and the error will name the rank that differs.
"""
from .._library import LongshipError
from .compression import Compression
from .operations import (
    Average,
    Max,
    Min,
    Product,
    Sum,
    allgather,
    allgather_async,
    allreduce,
    allreduce_,
    allreduce_async,
    allreduce_async_,
    barrier,
    broadcast,
    broadcast_,
    broadcast_async,
    broadcast_async_,
    cross_rank,
    cross_size,
    init,
    is_initialized,
    local_rank,
    local_size,
    poll,
    rank,
    shutdown,
    size,
    synchronize,
)
from .optimizer import DistributedOptimizer
from .state import allgather_object, broadcast_object, broadcast_optimizer_state, broadcast_parameters

__all__ = [
    "Average",
    "Compression",
    "DistributedOptimizer",
    "LongshipError",
    "Max",
    "Min",
    "Product",
    "Sum",
    "allgather",
    "allgather_async",
    "allgather_object",
    "allreduce",
    "allreduce_",
    "allreduce_async",
    "allreduce_async_",
    "barrier",
    "broadcast",
    "broadcast_",
    "broadcast_async",
    "broadcast_async_",
    "broadcast_object",
    "broadcast_optimizer_state",
    "broadcast_parameters",
    "cross_rank",
    "cross_size",
    "init",
    "is_initialized",
    "local_rank",
    "local_size",
    "poll",
    "rank",
    "shutdown",
    "size",
    "synchronize",
]
