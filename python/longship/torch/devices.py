# SPDX-License-Identifier: Apache-2.0
"""Tensors in a GPU's memory. NCCL does what it can do; the rest goes by way of main memory: slower, but right.

There is no GPU where this is developed. It is tested with a fake of NCCL and host memory in the place of a GPU's
(tests/python/test_devices.py), and has never run on a real one.

Each GPU has a stream for communication beside the script's own. An operation waits there for what the script had put into
its stream before, and the script's stream waits for the operation when the script does: so buckets are reduced while the
backward pass goes on.
"""
from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, Optional, Tuple

import torch

from .. import _operation as abi
from .._library import LongshipError, library
from .handles import begin
from .process_sets import ProcessSet, number_of
from .tensors import contiguous, on_gpu, put_back, type_of

_streams: Dict[torch.device, Any] = {}


def current_stream(device: torch.device) -> Any:
    return torch.cuda.current_stream(device)


def new_stream(device: torch.device) -> Any:
    return torch.cuda.Stream(device)


def by_nccl(tensor: torch.Tensor, process_set: ProcessSet) -> bool:
    """Whether NCCL can be used for it. The first time, by all ranks of the set: they meet."""
    if not on_gpu(tensor):
        return False
    if process_set.in_nccl is None:
        process_set.in_nccl = _open(number_of(process_set))
    return process_set.in_nccl


def reduced_by_nccl(tensor: torch.Tensor, op: int, scales: Tuple[float, float], process_set: ProcessSet) -> bool:
    """The same for a reduction. Scales are multiplied in the stream, which only numbers with a fraction can be."""
    if op == abi.ADASUM or tensor.dtype == torch.bool:
        return False
    return (tensor.is_floating_point() or scales == (1.0, 1.0)) and by_nccl(tensor, process_set)


def _open(number: int) -> bool:
    try:
        library.nccl_open(number)
        return True
    except LongshipError as error:  # on all ranks of the set
        warnings.warn(f"tensors on GPUs go by way of main memory: {error}", RuntimeWarning, stacklevel=2)
        return False


def begin_on_device(
    kind: int,
    label: str,
    tensor: torch.Tensor,
    process_set: ProcessSet,
    scales: Tuple[float, float] = (1.0, 1.0),
    output: Optional[torch.Tensor] = None,
    finish: Optional[Callable[[torch.Tensor], Any]] = None,
    **fields: Any,
) -> int:
    """Begins an operation of NCCL, in place or into ``output``; ``synchronize`` returns that, or what ``finish`` makes of it."""
    working = contiguous(tensor).detach()
    if scales[0] != 1.0:
        working = working.mul_(scales[0]) if output is None else working * scales[0]
    result = working if output is None else output

    def done(handle: int) -> Any:
        if output is not None:
            library.gathered(handle, 0, 0)  # used up
        # What the script does from now on with the result comes after the operation.
        current_stream(result.device).wait_stream(_streams[result.device])
        if scales[1] != 1.0:
            result.mul_(scales[1])
        if output is None:
            return tensor if working.data_ptr() == tensor.data_ptr() else put_back(working, tensor)
        return output if finish is None else finish(output)

    return begin(
        kind,
        label,
        (working, output),
        done,
        address=working.data_ptr(),
        count=working.numel(),
        element=type_of(working),
        process_set=number_of(process_set),
        device=1,
        stream=_lane(working.device),
        output=0 if output is None else output.data_ptr(),
        **fields,
    )


def _lane(device: torch.device) -> int:
    """The stream for communication, come to where the script's own is."""
    stream = _streams.get(device)
    if stream is None:
        stream = _streams[device] = new_stream(device)
    stream.wait_stream(current_stream(device))
    return stream.cuda_stream
