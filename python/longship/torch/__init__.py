# SPDX-License-Identifier: Apache-2.0
"""Distributed training with PyTorch, under the names of ``horovod.torch``::

    import longship.torch as hvd

    hvd.init()
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)

Tensors are matched between ranks by name. Functions that are not given one count their calls, which is right as long as
all ranks make the same calls; where they do not, name the tensors, and the error will name the rank that differs.
"""
from typing import Any

from .._library import INSTEAD_OF_ELASTIC, LongshipError
from .allgather import allgather, allgather_async, grouped_allgather, grouped_allgather_async
from .allreduce import (
    Adasum,
    Average,
    Max,
    Min,
    Product,
    Sum,
    allreduce,
    allreduce_,
    allreduce_async,
    allreduce_async_,
    grouped_allreduce,
    grouped_allreduce_,
    grouped_allreduce_async,
    grouped_allreduce_async_,
)
from .alltoall import alltoall, alltoall_async
from .basics import (
    ccl_built,
    cross_rank,
    cross_size,
    cuda_built,
    ddl_built,
    gloo_built,
    gloo_enabled,
    init,
    is_homogeneous,
    is_initialized,
    local_rank,
    local_size,
    mpi_built,
    mpi_enabled,
    mpi_threads_supported,
    nan_count,
    nccl_built,
    rank,
    rocm_built,
    shutdown,
    size,
    start_timeline,
    stop_timeline,
)
from .broadcast import broadcast, broadcast_, broadcast_async, broadcast_async_
from .compression import Compression, Compressor
from .ddp import ddp_hook
from .handles import poll, synchronize
from .join import barrier, join
from .local_sgd import LocalSGD
from .optimizer import DistributedOptimizer
from .power_sgd import PowerSGD
from .process_sets import ProcessSet, add_process_set, global_process_set, remove_process_set
from .reducers import Reducer
from .reducescatter import (
    grouped_reducescatter,
    grouped_reducescatter_async,
    reducescatter,
    reducescatter_async,
)
from .sparse import sparse_allreduce_async
from .state import allgather_object, broadcast_object, broadcast_optimizer_state, broadcast_parameters
from .sync_batch_norm import SyncBatchNorm
from .top_k import TopK

HorovodInternalError = LongshipError  # what Horovod's scripts catch


def __getattr__(name: str) -> Any:
    why = f"; {INSTEAD_OF_ELASTIC}" if name == "elastic" else ""
    raise AttributeError(f"longship.torch has no {name}{why}")


__all__ = [
    "Adasum",
    "Average",
    "Compression",
    "Compressor",
    "DistributedOptimizer",
    "HorovodInternalError",
    "LocalSGD",
    "LongshipError",
    "Max",
    "Min",
    "PowerSGD",
    "ProcessSet",
    "Product",
    "Reducer",
    "Sum",
    "SyncBatchNorm",
    "TopK",
    "add_process_set",
    "allgather",
    "allgather_async",
    "allgather_object",
    "allreduce",
    "allreduce_",
    "allreduce_async",
    "allreduce_async_",
    "alltoall",
    "alltoall_async",
    "barrier",
    "broadcast",
    "broadcast_",
    "broadcast_async",
    "broadcast_async_",
    "broadcast_object",
    "broadcast_optimizer_state",
    "broadcast_parameters",
    "ccl_built",
    "cross_rank",
    "cross_size",
    "cuda_built",
    "ddl_built",
    "ddp_hook",
    "global_process_set",
    "gloo_built",
    "gloo_enabled",
    "grouped_allgather",
    "grouped_allgather_async",
    "grouped_allreduce",
    "grouped_allreduce_",
    "grouped_allreduce_async",
    "grouped_allreduce_async_",
    "grouped_reducescatter",
    "grouped_reducescatter_async",
    "init",
    "is_homogeneous",
    "is_initialized",
    "join",
    "local_rank",
    "local_size",
    "mpi_built",
    "mpi_enabled",
    "mpi_threads_supported",
    "nan_count",
    "nccl_built",
    "poll",
    "rank",
    "reducescatter",
    "reducescatter_async",
    "remove_process_set",
    "rocm_built",
    "shutdown",
    "size",
    "sparse_allreduce_async",
    "start_timeline",
    "stop_timeline",
    "synchronize",
]
