# SPDX-License-Identifier: Apache-2.0
"""What a step frees stays with the process, counted in page faults; whoever has told the C library otherwise is obeyed."""
import pytest

FAULTS = """
import resource
import longship.torch as hvd
import torch

hvd.init()
for step in range(30):
    if step == 10:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(4 << 20)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
LARGE_PAGES = 20 * 8  # of what is allocated in the steps that count: the kernel may give it in pages of 2 MiB, or of 4 KiB


def faults(ranks, **own):
    return int(ranks.run(FAULTS, 1, **own)[-1])  # of those that ran so far the last


@pytest.mark.parametrize("own", [
    {"MALLOC_TRIM_THRESHOLD_": "131072"},
    {"GLIBC_TUNABLES": "glibc.malloc.trim_threshold=131072"},
])
def test_freed_memory_is_kept_for_the_next_step_unless_somebody_has_decided_otherwise(ranks, own):
    kept, given_back = faults(ranks), faults(ranks, **own)
    assert given_back >= LARGE_PAGES
    # A small piece that stays may lie down in the middle of a large one, and then a step needs another: now and then, not always.
    assert kept < given_back / 4
