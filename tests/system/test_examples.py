# SPDX-License-Identifier: Apache-2.0
"""The examples that people copy, at a small size and on this machine's own Python: they learn, and ranks do not change the result."""

import json
import subprocess
import sys

import pytest
from conftest import REPOSITORY

EXAMPLES = REPOSITORY / "examples"
PYTHON = "/usr/bin/python3"  # the one that has torch


@pytest.fixture
def train(longship, tmp_path):
    """A function: an example's train.py on so many ranks, in a directory of its own, which it returns."""
    def run(example, ranks, *words):
        directory = tmp_path / f"{example}-{ranks}"
        directory.mkdir()
        done = longship("launch", "-n", ranks, "--no-bind", PYTHON, EXAMPLES / example / "train.py", *words, cwd=directory, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return directory
    return run


def metrics(directory):
    return [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]


def test_the_gan_is_the_same_from_one_rank_and_from_four(train):
    words = ["--showers", "32", "--epochs", "1", "--batch", "8", "--judged", "8"]
    alone, together = (train("gan3d", ranks, *words) for ranks in (1, 4))
    for one, four in zip(metrics(alone), metrics(together), strict=True):
        assert one == pytest.approx(four, rel=1e-3)
    shapes = [json.loads((directory / "physics.json").read_text()) for directory in (alone, together)]
    assert shapes[0]["generated"]["depth"] == pytest.approx(shapes[1]["generated"]["depth"], abs=1e-3)
    assert (together / "plots.svg").read_text().count("<g id=") > 10


def test_synthetic_showers_have_the_shape_they_are_documented_to_have():
    sys.path.insert(0, str(EXAMPLES / "gan3d"))
    try:
        import numpy as np
        import showers
    finally:
        sys.path.pop(0)
    energies = np.array([showers.energy_of(number) for number in range(200)])
    cells = np.stack([showers.shower(number) for number in range(200)])
    assert (showers.shower(7) == cells[7]).all()
    total = cells.sum((1, 2, 3))
    assert 0.9 < (total / (showers.SAMPLING * energies)).mean() <= 1.0  # what leaves the calorimeter is not seen
    depth = (cells.sum((1, 2)) @ np.arange(showers.CELLS)) / total
    low, high = depth[energies < 100].mean(), depth[energies > 400].mean()
    assert 1 < high - low < 4  # deeper by the logarithm of the energy
    assert 0.88 < (cells == 0).mean() < 0.96


def test_the_resnets_are_the_published_ones():
    counted = "from model import resnet; print([sum(p.numel() for p in resnet(depth).parameters()) for depth in (18, 50)])"
    done = subprocess.run([PYTHON, "-c", counted], cwd=EXAMPLES / "resnet", capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[11689512, 25557032]", done.stderr


def test_a_resnet_50_takes_a_step_on_two_ranks(train):
    assert metrics(train("resnet", 2, "--depth", "50", "--images", "20", "--batch", "2", "--epochs", "1"))[-1]["ranks"] == 2


def test_a_resnet_learns_on_two_ranks(train):
    told = metrics(train("resnet", 2, "--images", "160", "--epochs", "2", "--side", "16"))
    losses = [line["loss"] for line in told if "loss" in line]
    assert losses[-1] < losses[0]
    assert told[-1]["ranks"] == 2


def test_a_batch_that_ranks_cannot_share_is_refused(longship, tmp_path):
    done = longship("launch", "-n", "2", "--no-bind", PYTHON, EXAMPLES / "gan3d" / "train.py", "--batch", "7", cwd=tmp_path)
    assert done.returncode == 2
    assert "--batch 7 cannot be shared by 2 ranks" in done.stderr
