# SPDX-License-Identifier: Apache-2.0
"""Operations on tensors that all ranks take part in."""
from __future__ import annotations

import atexit
import itertools
from typing import Any, Dict, Iterator, NamedTuple, Optional

import torch

from .._library import LongshipError, library
from ..trace import region
from .compression import Compression

# As the library numbers them.
Sum, Average, Min, Max, Product = range(5)

_TYPES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int32: 2,
    torch.int64: 3,
    torch.float16: 4,
    torch.bfloat16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bool: 0,
}


def init() -> None:
    """Meets the other ranks. A script that nobody launched is rank 0 of 1."""
    library.init()
    atexit.register(shutdown)


def shutdown() -> None:
    """Leaves the others; done at exit by itself."""
    _pending.clear()
    library.shutdown()


def is_initialized() -> bool:
    return library.is_initialized()


def rank() -> int:
    return library.rank()


def size() -> int:
    return library.size()


def local_rank() -> int:
    """The rank among those of this node."""
    return library.local_rank()


def local_size() -> int:
    """How many ranks this node has."""
    return library.local_size()


def cross_size() -> int:
    """How many nodes there are, if all have as many ranks."""
    return size() // local_size()


def cross_rank() -> int:
    """The node's number, if all have as many ranks."""
    return rank() // local_size()


class _Pending(NamedTuple):
    """What has to stay alive until an operation is done, and what is to be done then."""

    kind: str
    working: torch.Tensor  # contiguous; the library reads and writes it
    result: torch.Tensor  # what the caller gets


_pending: Dict[int, _Pending] = {}
_counters: Dict[str, Iterator[int]] = {}


def named(kind: str, name: Optional[str]) -> str:
    """The name under which ranks match an operation; without one, calls of a kind are counted."""
    if name is not None:
        return f"{kind}.{name}"
    return f"{kind}.noname.{next(_counters.setdefault(kind, itertools.count(1)))}"


def _type_of(tensor: torch.Tensor) -> int:
    if tensor.device.type != "cpu":
        raise LongshipError(f"a tensor on {tensor.device}: only tensors in main memory can be communicated")
    try:
        return _TYPES[tensor.dtype]
    except KeyError:
        raise LongshipError(f"tensors of {tensor.dtype} cannot be communicated") from None


def _op(average: Optional[bool], op: Optional[int]) -> int:
    """Horovod's two ways to say it; the default is the average."""
    if average is not None and op is not None:
        raise ValueError("give either op or average, not both")
    if op is not None:
        return op
    return Sum if average is False else Average


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().contiguous()


def _begin_allreduce(working: torch.Tensor, result: torch.Tensor, name: Optional[str], op: int) -> int:
    handle = library.allreduce_begin(
        named("allreduce", name), working.data_ptr(), working.numel(), _type_of(working), op
    )
    _pending[handle] = _Pending("allreduce", working, result)
    return handle


def allreduce_async_(
    tensor: torch.Tensor, average: Optional[bool] = None, name: Optional[str] = None, op: Optional[int] = None
) -> int:
    """Begins to reduce in place; ``synchronize(handle)`` waits for it."""
    return _begin_allreduce(_plain(tensor), tensor, name, _op(average, op))


def allreduce_async(
    tensor: torch.Tensor, average: Optional[bool] = None, name: Optional[str] = None, op: Optional[int] = None
) -> int:
    """Begins to reduce into a new tensor, which ``synchronize(handle)`` returns."""
    copy = tensor.detach().clone(memory_format=torch.contiguous_format)
    return _begin_allreduce(copy, copy, name, _op(average, op))


def allreduce_(
    tensor: torch.Tensor, average: Optional[bool] = None, name: Optional[str] = None, op: Optional[int] = None
) -> torch.Tensor:
    """Reduces in place over all ranks."""
    working = _plain(tensor)
    code = _op(average, op)
    with region("allreduce", "communication"):
        library.allreduce(
            named("allreduce", name), working.data_ptr(), working.numel(), _type_of(working), code
        )
    return _put_back(working, tensor)


def allreduce(
    tensor: torch.Tensor,
    average: Optional[bool] = None,
    name: Optional[str] = None,
    compression: Any = None,
    op: Optional[int] = None,
) -> torch.Tensor:
    """The average (or ``op``) over all ranks, as a new tensor."""
    compression = compression or Compression.none
    compressed, context = compression.compress(tensor.detach())
    if compressed.data_ptr() == tensor.data_ptr():
        compressed = compressed.clone(memory_format=torch.contiguous_format)
    return compression.decompress(allreduce_(compressed, average, name, op), context)


def broadcast_async_(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None) -> int:
    working = _plain(tensor)
    handle = library.broadcast_begin(
        named("broadcast", name), working.data_ptr(), working.numel(), _type_of(working), root_rank
    )
    _pending[handle] = _Pending("broadcast", working, tensor)
    return handle


def broadcast_async(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None) -> int:
    return broadcast_async_(tensor.detach().clone(memory_format=torch.contiguous_format), root_rank, name)


def broadcast_(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None) -> torch.Tensor:
    """Overwrites the tensor with the one of ``root_rank``."""
    return synchronize(broadcast_async_(tensor, root_rank, name))


def broadcast(tensor: torch.Tensor, root_rank: int, name: Optional[str] = None) -> torch.Tensor:
    """The tensor of ``root_rank``, as a new one."""
    return synchronize(broadcast_async(tensor, root_rank, name))


def allgather_async(tensor: torch.Tensor, name: Optional[str] = None) -> int:
    working = _plain(tensor)
    handle = library.allgather_begin(
        named("allgather", name), working.data_ptr(), working.numel(), _type_of(working)
    )
    _pending[handle] = _Pending("allgather", working, tensor)
    return handle


def allgather(tensor: torch.Tensor, name: Optional[str] = None) -> torch.Tensor:
    """All ranks' tensors, joined along the first dimension, in which they may differ."""
    return synchronize(allgather_async(tensor, name))


def poll(handle: int) -> bool:
    """Whether ``synchronize`` would return at once."""
    return library.poll(handle)


def synchronize(handle: int) -> torch.Tensor:
    """Waits for an operation that was begun, and returns its result."""
    pending = _pending.pop(handle, None)
    if pending is None:
        raise LongshipError(f"there is no operation with handle {handle}")
    with region(pending.kind, "communication"):
        library.wait(handle)
    if pending.kind == "allgather":
        return _collect(handle, pending.working)
    return _put_back(pending.working, pending.result)


def barrier() -> None:
    """Nobody returns before everybody has called it."""
    with region("barrier", "communication"):
        library.barrier(named("barrier", None))


def _put_back(working: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """The library worked on a copy if the tensor was not contiguous."""
    if working.data_ptr() != result.data_ptr():
        with torch.no_grad():
            result.copy_(working)
    return result


def _collect(handle: int, like: torch.Tensor) -> torch.Tensor:
    row = like.shape[1:] if like.dim() > 0 else torch.Size([])
    per_row = max(1, row.numel()) if len(row) > 0 else 1
    total = sum(library.gathered_counts(handle))
    gathered = torch.empty((total // per_row, *row), dtype=like.dtype)
    library.gathered(handle, gathered.data_ptr(), gathered.numel() * gathered.element_size())
    return gathered
