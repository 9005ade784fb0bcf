# SPDX-License-Identifier: Apache-2.0
"""Memory that one step frees is kept for the next one.

A training allocates in each step what it freed in the one before: activations and gradients, which PyTorch on the CPU takes
from the C library. That gives large pieces back to the kernel at once, and gets them again as pages of zeros, which the
kernel has to make: a third of a ResNet-18's step. Told to keep them it takes no more memory than the step needs anyway.
"""
from __future__ import annotations

import ctypes
from typing import Mapping

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)
_LARGEST = 32 << 20  # bytes: what is larger goes back in any case, glibc takes no more for an answer
_MOST = 512 << 20  # bytes that are kept at most at the end of the heap


def has_been_decided(environment: Mapping[str, str]) -> bool:
    """Whoever has told the C library what it shall do knows better."""
    own = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_")
    return any(environment.get(name) for name in own) or "glibc.malloc" in environment.get("GLIBC_TUNABLES", "")


def keep_freed_memory(environment: Mapping[str, str]) -> None:
    """Of this process, from now on. Where the C library is another one nothing changes."""
    if has_been_decided(environment):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST)
        mallopt(_TRIM_THRESHOLD, _MOST)
