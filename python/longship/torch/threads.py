# SPDX-License-Identifier: Apache-2.0
"""How many threads a rank computes with, and whether they leave a core for anything else."""
from __future__ import annotations

from typing import Mapping


def threads_for(now: int, usable: int, cores: int, local_size: int, environment: Mapping[str, str]) -> int:
    """The number of threads for one of ``local_size`` ranks on a node of ``cores`` cores, ``usable`` of which this rank
    is bound to, where torch would take ``now``.

    A launcher that binds ranks to cores of their own has decided already, and so has whoever set OMP_NUM_THREADS. But
    ranks that all may use all cores would each start a thread for every core, and be many times slower.
    """
    if environment.get("OMP_NUM_THREADS") or environment.get("MKL_NUM_THREADS"):
        return now
    share = usable if usable < cores else max(1, cores // local_size)
    return min(now, share)


def shares_core(usable: int, local_size: int, size: int) -> bool:
    """Whether the library reduces on the core of the training: all ranks are on one node, and this one may use one core. Ranks
    may differ in it."""
    return local_size == size and usable == 1
