# SPDX-License-Identifier: Apache-2.0
"""Sites: what is found on a machine, and batch systems as they really are."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAM, needs
from slurm_lab import slurm

SLURM = needs("slurmctld", "slurmd", "munged", "srun")
TESTS = PROGRAM.resolve().parents[1] / "tests" / "test_batch"


@pytest.fixture(scope="module")
def lab():
    with slurm(nodes=2) as environment:
        yield environment


def test_what_probe_writes_is_a_site_file(longship, tmp_path):
    done = longship("site", "probe", "--name", "here", "--batch", "local", "-o", "site.toml")
    assert done.returncode == 0, done.stderr
    assert "# " in (tmp_path / "site.toml").read_text()
    shown = longship("site", "show", "site.toml", "--json")
    assert shown.returncode == 0, shown.stderr
    site = json.loads(shown.stdout)
    assert site["name"] == "here" and site["batch"] == "local"
    assert site["node"]["cores"] == len(os.sched_getaffinity(0))
    assert site["queue"][0]["name"] == "local"
    assert "here" in longship("site", "show", "site.toml").stdout


def test_a_corrected_file_is_not_written_over(longship, tmp_path):
    (tmp_path / "site.toml").write_text("mine")
    done = longship("site", "probe", "--batch", "local", "-o", "site.toml")
    assert done.returncode == 1 and "--force" in done.stderr
    assert (tmp_path / "site.toml").read_text() == "mine"
    assert longship("site", "probe", "--batch", "local", "-o", "site.toml", "--force").returncode == 0


def test_a_mistake_is_named_with_its_line(longship, tmp_path):
    (tmp_path / "site.toml").write_text('version = 1\nname = "a"\nbatch = "slrum"\n')
    done = longship("site", "show", "site.toml")
    assert done.returncode == 2
    assert 'site.toml:3: batch: expected one of local, slurm, lsf, pbs, found "slrum": did you mean "slurm"?' in done.stderr


@pytest.mark.parametrize("hub, token, said", [
    ("foo", "t\n", "foo is not an address: it begins with http:// or https://"),
    ("http://127.0.0.1:1", " \n", "token is empty: \"longship site add\" wrote it")])
def test_an_agent_that_could_never_reach_its_hub_ends_at_once(longship, tmp_path, hub, token, said):
    assert longship("site", "probe", "--batch", "local", "-o", "site.toml").returncode == 0
    (tmp_path / "token").write_text(token)
    done = longship("agent", "--site-file", "site.toml", "--hub", hub, "--token-file", "token", timeout=30)
    assert done.returncode == 2 and said in done.stderr


@SLURM
def test_probe_finds_the_partitions_of_a_real_slurm(longship, lab):
    longship.environment.update(lab, SCRATCH="/scratch/me", SINFO_FORMAT="%N")
    done = longship("site", "probe", "--json")
    assert done.returncode == 0, done.stderr
    site = json.loads(done.stdout)
    assert site["name"] == "lab" and site["batch"] == "slurm"
    assert site["spool"] == "/scratch/me/longship" and site["store"] == "/scratch/me/longship/store"
    assert site["node"]["cores"] == 4 and site["node"]["gpus"] == 2 and site["node"]["memory"] == 2000 << 20
    assert "pmix" in site["host"]["pmi"]
    queues = {queue["name"]: queue for queue in site["queue"]}
    assert queues["debug"]["max_nodes"] == 2 and queues["debug"]["max_walltime"] == ""
    assert queues["short"]["max_nodes"] == 1 and queues["short"]["max_walltime"] == "10m"


@SLURM
def test_slurm_keeps_the_contract_of_batch_systems(lab):
    """tests/batch/conformance.h on a real Slurm, and what only that can show: its controller killed and started again."""
    if not TESTS.exists():
        pytest.skip(f"{TESTS} is not there: ./dev build makes it")
    settings = os.environ | lab | {"LONGSHIP_TEST_SLURM": str(Path(lab["SLURM_CONF"]).parent)}
    done = subprocess.run([TESTS, "--gtest_filter=*/Slurm"], env=settings, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-5000:]
    passed = re.search(r"\[  PASSED  \] (\d+) tests", done.stdout)
    assert passed and int(passed[1]) >= 14, done.stdout[-2000:]


@SLURM
def test_an_answer_of_sbatch_that_was_lost_is_found_by_the_pilots_name(lab, tmp_path):
    """sbatch succeeds but says nothing and fails, as when the connection breaks: the submission is an error, the pilot there."""
    if not TESTS.exists():
        pytest.skip(f"{TESTS} is not there: ./dev build makes it")
    settings = os.environ | lab | {"LONGSHIP_TEST_SLURM": str(Path(lab["SLURM_CONF"]).parent),
                                   "LONGSHIP_FAILPOINTS": "batch.slurm.submitted=fail"}
    done = subprocess.run([TESTS, "--gtest_filter=*LostAnswer*/Slurm"], env=settings, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout[-5000:]
