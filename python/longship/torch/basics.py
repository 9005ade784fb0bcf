# SPDX-License-Identifier: Apache-2.0
"""Who this process is among the ranks, and what the library can do: Horovod's questions."""
from __future__ import annotations

import atexit
import os
from typing import Optional, Sequence, Union

import torch

from .._library import LongshipError, library
from .. import timeline
from . import handles, quick
from . import process_sets as sets
from .freed_memory import keep_freed_memory
from .threads import threads_for


def init(
    comm: Optional[Sequence[int]] = None, process_sets: Union[None, str, Sequence[sets.ProcessSet]] = None
) -> None:
    """Meets the other ranks. A script that nobody launched is rank 0 of 1.

    ``process_sets``: :class:`ProcessSet` objects to be added at once, or ``"dynamic"``, which is always the case here.
    """
    library.init()
    atexit.register(shutdown)
    if comm is not None and sorted(comm) != list(range(size())):
        raise LongshipError("init(comm=…) takes all ranks only: use add_process_set() for a part of them")
    usable, cores = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    torch.set_num_threads(threads_for(torch.get_num_threads(), usable, cores, local_size(), os.environ))
    keep_freed_memory(os.environ)
    if isinstance(process_sets, str):
        if process_sets != "dynamic":
            raise ValueError(f'init(process_sets={process_sets!r}): a list of ProcessSet, or "dynamic"')
    else:
        for one in process_sets or ():
            sets.add_process_set(one)


def shutdown() -> None:
    """Leaves the others; done at exit by itself."""
    timeline.stop()
    handles.forget_all()
    quick.forget_all()
    sets.forget_all()
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


def cross_rank() -> int:
    """The node's place among the nodes."""
    return library.cross_rank()


def cross_size() -> int:
    """How many nodes there are."""
    return library.cross_size()


def is_homogeneous() -> bool:
    """Whether all nodes have as many ranks as this one."""
    return local_size() * cross_size() == size()


def nan_count() -> int:
    """How many all-reduces and reduce-scatters of this rank had a NaN in their result; the first was told on stderr. Large
    tensors are looked at in samples. Not in Horovod."""
    return library.nan_count()


def start_timeline(file_path: str, mark_cycles: bool = False) -> None:
    """Notes what this rank waits for from now on; :func:`stop_timeline` writes it to the file, for chrome://tracing. As
    in Horovod it is rank 0's. ``longship report --timeline`` shows all ranks of a recorded run."""
    if rank() == 0:
        timeline.start(file_path)
        quick.forget_all()


def stop_timeline() -> None:
    """The other end of :func:`start_timeline`."""
    timeline.stop()


def mpi_threads_supported() -> bool:
    """Whether MPI may be used from several threads beside this library, which does not use it."""
    return True


def mpi_enabled() -> bool:
    return False


def mpi_built() -> bool:
    return False


def gloo_enabled() -> bool:
    """True, as scripts ask it to know whether they run without MPI; the transport is Longship's own."""
    return True


def gloo_built() -> bool:
    return True


def nccl_built() -> int:
    return 0


def ddl_built() -> bool:
    return False


def ccl_built() -> bool:
    return False


def cuda_built() -> bool:
    return False


def rocm_built() -> bool:
    return False

