# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: what a job goes on from after its time was over, or a node was lost.

    ckpt = longship.checkpoint.Checkpoint()
    step, state = ckpt.load() or (0, None)
    ...
    if ckpt.due():
        ckpt.save(step, {"model": model.state_dict(), "optimizer": optimizer.state_dict()})

A checkpoint is a file of each rank, written aside, synced and renamed, and a manifest with their sizes and checksums, which
appears last. What has no manifest, or differs from it, is not a checkpoint: the one before is taken. So a job can be
killed at any moment. The tensors of the state are divided between the ranks; all ranks read, also if there are more or
fewer of them than before.
"""
from .checkpoints import Checkpoint, wanted
from .random_state import random_state, restore_random_state
from .sampler import Sampler

__all__ = ["Checkpoint", "Sampler", "random_state", "restore_random_state", "wanted"]
