# SPDX-License-Identifier: Apache-2.0
"""For scripts that keep ``DistributedDataParallel``: its buckets are reduced by Longship.

    model = DistributedDataParallel(model)
    model.register_comm_hook(None, longship.torch.ddp_hook)
"""
# DistributedDataParallel looks at the annotations of its hooks, so they cannot be strings here.
import queue
import threading
from typing import Any, Optional, Tuple

import torch
import torch.distributed

from .allreduce import Average, narrow_allreduce_async_
from .compression import Compression, narrow_type
from .handles import synchronize
from .tensors import on_gpu


class _Waiter:
    """Waits for buckets in a thread of its own, because DDP wants a future that becomes ready by itself."""

    def __init__(self) -> None:
        self._buckets: "queue.SimpleQueue[Tuple[int, Any, Any, torch.dtype, torch.futures.Future]]" = queue.SimpleQueue()
        threading.Thread(target=self._wait, name="longship-ddp", daemon=True).start()

    def add(self, *bucket: Any) -> None:
        self._buckets.put(bucket)  # type: ignore[arg-type]

    def _wait(self) -> None:
        while True:
            handle, compression, context, dtype, future = self._buckets.get()
            try:
                reduced = compression.decompress(synchronize(handle), context)
                future.set_result(reduced.to(dtype))
            except Exception as error:  # DDP raises it in the training's own thread
                future.set_exception(error)


_waiter: Optional[_Waiter] = None
_Bucket: Any = getattr(torch.distributed, "GradBucket", Any)  # a torch without torch.distributed has no DDP either


def _future(gradients: torch.Tensor) -> torch.futures.Future:
    """One that lets the script's stream wait, if they are on a GPU."""
    return torch.futures.Future(devices=[gradients.device]) if on_gpu(gradients) else torch.futures.Future()


def ddp_hook(state: Any, bucket: _Bucket) -> torch.futures.Future[torch.Tensor]:  # type: ignore[valid-type]
    """A communication hook: the average of each bucket over all ranks. ``state``: None, or one of :class:`Compression`."""
    global _waiter
    if _waiter is None:
        _waiter = _Waiter()
    compression = state if state is not None else Compression.none
    gradients = bucket.buffer()
    wire = narrow_type(compression) if gradients.dtype == torch.float32 and not on_gpu(gradients) else None
    if wire is not None:  # the library rounds what it sends
        compression = Compression.none
    compressed, context = compression.compress(gradients)
    # Buckets are made anew after the first pass; the size keeps the old ones apart from the new.
    name = f"ddp.{bucket.index()}.{gradients.numel()}"
    future: torch.futures.Future = _future(gradients)
    _waiter.add(narrow_allreduce_async_(compressed, wire, name, Average), compression, context, gradients.dtype, future)
    return future
