# SPDX-License-Identifier: Apache-2.0
"""examples/digits as a newcomer runs it: a real network, in an image, on ranks of this machine and of a Slurm."""

import json
import shutil
import subprocess

import pytest
from conftest import PROGRAM, REPOSITORY, needs
from images import STORE, image
from slurm_lab import slurm


@pytest.fixture
def digits(longship, tmp_path):
    """A copy of the example that uses the tests' own image."""
    name = image(PROGRAM, "torch-bookworm", "bookworm", "python3-torch", "python3-numpy", "python3-sklearn")
    longship.environment["LONGSHIP_STORE"] = str(STORE)
    shutil.copytree(REPOSITORY / "examples" / "digits", tmp_path / "digits", ignore=shutil.ignore_patterns("runs"))
    return ["run", tmp_path / "digits" / "job.toml", "--set", f"image={name}", "--json"]


def check(directory, ended):
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout.splitlines()[-1])
    assert result["state"] == "finished"
    assert {output["name"] for output in result["outputs"]} == {"model.pt", "metrics.jsonl"}
    run = directory / "digits" / "runs" / result["run"]
    accuracy = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])["accuracy"]
    assert accuracy >= 0.95
    assert not (run / ".spool").exists()
    return result


@pytest.mark.usefixtures("nothing_stays_behind")
def test_digits_in_an_image_on_two_ranks(longship, digits, tmp_path):
    result = check(tmp_path, longship(*digits, timeout=300))
    assert result["ranks"] == 2
    assert len(result["report"]["by_rank"]) == 2
    shown = longship("report", tmp_path / "digits" / "runs" / result["run"])
    assert shown.returncode == 0 and "compute" in shown.stdout


def test_digits_as_an_ordinary_user(longship, digits, as_user, tmp_path):
    """No root, and here no FUSE either: the image is unpacked once, into the user's own cache."""
    if as_user:  # a store that this user may write to, with the image that is there already
        store = tmp_path / "home" / "store"
        (store / "blobs").mkdir(parents=True, exist_ok=True)
        (store / "blobs" / "sha256").symlink_to(STORE / "blobs" / "sha256")
        (store / "images").symlink_to(STORE / "images")
        for path in [store, store / "blobs"]:
            shutil.chown(path, as_user["user"], as_user["group"])
        longship.environment["LONGSHIP_STORE"] = str(store)
    check(tmp_path, longship(*digits, timeout=600, **as_user))


@needs("slurmctld", "slurmd", "munged", "srun")
@pytest.mark.usefixtures("nothing_stays_behind")
def test_digits_in_boxes_on_two_slurm_nodes(longship, digits, tmp_path):
    """2 nodes x 2 ranks: shared memory within a node, TCP between the two."""
    with slurm(nodes=2) as environment:
        words = ["salloc", "-Q", "-N", "2", PROGRAM, *map(str, digits), "--set", "needs.nodes=2"]
        ended = subprocess.run(words, env=longship.environment | environment, cwd=tmp_path, text=True,
                               capture_output=True, timeout=400, check=False)
    result = check(tmp_path, ended)
    assert (result["nodes"], result["ranks"]) == (2, 4)
    assert {rank["node"] for rank in result["report"]["by_rank"]} == {"node1", "node2"}
