# SPDX-License-Identifier: Apache-2.0
"""What benches run in ranks keeps working: briefly, for its numbers are another matter."""
import json
import pathlib

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"


@pytest.mark.parametrize("kind", ["shared", "private"])
def test_a_rank_of_bench_allreduce(ranks, kind):
    said = ranks.run(
        f"""
import runpy, sys
sys.argv = ["lib_allreduce.py", "{kind}", "1024", "65536"]
sys.path.insert(0, "{BENCH}")
runpy.run_path("{BENCH}/lib_allreduce.py", run_name="__main__")
""",
        2,
    )
    assert set(json.loads(said[0].splitlines()[-1])) == {"1024", "65536"}


@pytest.mark.parametrize("model", ["gan3d", "resnet"])
def test_a_rank_of_bench_training(ranks, model):
    ranks.run(
        f"""
import sys
sys.path.insert(0, "{BENCH}")
import torch
import lib_training
torch.set_num_threads(1)
for name in ("longship", "keeping", "meeting"):
    candidate = lib_training.CANDIDATES[name]()
    step = {{"gan3d": lib_training.gan3d_step, "resnet": lib_training.resnet_step}}["{model}"](candidate, torch)
    step()
    step()
""",
        2,
    )


def test_a_rank_of_bench_training_between_nodes(ranks):
    said = ranks.run(
        f"""
import sys
sys.path.insert(0, "{BENCH}")
import lib_training_network
lib_training_network.MOST_STEPS = 2
lib_training_network.work("longship PowerSGD")
""",
        2,
        nodes=2,
    )
    assert json.loads(said[0])["steps"] == 2
    assert said[1] == ""
