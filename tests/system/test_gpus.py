# SPDX-License-Identifier: Apache-2.0
"""longship box --gpus, by CDI files. They are fakes, for there is no GPU here: the nodes are /dev/null, the driver a file."""

import json

import pytest


@pytest.fixture
def cdi(longship, tmp_path):
    """Two fake GPUs: their driver's file for both, a node and a variable for each."""
    driver = tmp_path / "driver.txt"
    driver.write_text("version 1\n")
    devices = [{"name": str(number),
                "containerEdits": {"deviceNodes": [{"path": f"/opt/fake/gpu{number}", "hostPath": "/dev/null"}],
                                   "env": [f"FAKE_GPU_{number}=yes"]}} for number in range(2)]
    directory = tmp_path / "cdi"
    directory.mkdir()
    (directory / "fake.json").write_text(json.dumps({
        "cdiVersion": "0.5.0", "kind": "example.org/gpu", "devices": devices,
        "containerEdits": {"mounts": [{"hostPath": str(driver), "containerPath": "/opt/fake/driver.txt"}]}}))
    longship.environment["LONGSHIP_CDI_DIRS"] = str(directory)
    return directory


SCRIPT = "cat /opt/fake/driver.txt; ls /opt/fake; env | grep FAKE_GPU | sort; test -c /opt/fake/gpu0 && echo a device"


def test_all_gpus_with_their_driver(longship, cdi):
    done = longship("box", "--gpus", "all", "/", "--", "/bin/sh", "-c", SCRIPT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == ["version 1", "driver.txt", "gpu0", "gpu1", "FAKE_GPU_0=yes", "FAKE_GPU_1=yes",
                                            "a device"]


def test_one_gpu_by_its_name(longship, cdi, as_user):
    done = longship("box", "--gpus", "example.org/gpu=0", "/", "--", "/bin/sh", "-c", SCRIPT, **as_user)
    assert done.returncode == 0, done.stderr
    assert "gpu0" in done.stdout
    assert "gpu1" not in done.stdout


def test_a_gpu_that_is_not_there(longship, cdi):
    done = longship("box", "--gpus", "3", "/", "--", "true")
    assert done.returncode == 3
    assert "there is no GPU 3 here" in done.stderr
    assert "example.org/gpu=0, example.org/gpu=1" in done.stderr


def test_none_hides_them(longship, cdi):
    longship.environment["CUDA_VISIBLE_DEVICES"] = "0,1"
    done = longship("box", "--gpus", "none", "/", "--", "/bin/sh", "-c", "echo \"[$CUDA_VISIBLE_DEVICES]\"")
    assert done.stdout == "[]\n"


def test_a_plain_list_where_there_are_no_cdi_files(longship, tmp_path):
    (tmp_path / "data.txt").write_text("from the list\n")
    (tmp_path / "gpus.list").write_text(f"# fake\n{tmp_path}/data.txt\nFAKE_LIST=1\n")
    longship.environment |= {"LONGSHIP_CDI_DIRS": str(tmp_path / "none"), "LONGSHIP_GPU_LIST": str(tmp_path / "gpus.list")}
    done = longship("box", "--gpus", "all", "/", "--", "/bin/sh", "-c", f"cat {tmp_path}/data.txt; echo $FAKE_LIST")
    assert done.stdout == "from the list\n1\n", done.stderr


def test_a_file_that_makes_no_sense_is_named(longship, cdi):
    (cdi / "broken.yaml").write_text("cdiVersion: [\n")
    done = longship("box", "--gpus", "all", "/", "--", "true")
    assert done.returncode == 0
    assert "broken.yaml:" in done.stderr


VISIBLE = 'echo "$RANK: $CUDA_VISIBLE_DEVICES $(env | grep FAKE_GPU | sort | tr "\\n" " ")"'


def test_each_rank_has_its_own_gpus(longship, cdi):
    done = longship("launch", "-n", "2", "--gpus-per-rank", "1", "--image", "/", "--no-prefix", "sh", "-c", VISIBLE)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"{rank}: {rank} FAKE_GPU_0=yes FAKE_GPU_1=yes " for rank in (0, 1)]


def test_what_the_batch_system_gave_is_respected(longship, cdi):
    longship.environment |= {"CUDA_VISIBLE_DEVICES": "1", "SLURM_JOB_GPUS": "1"}
    done = longship("launch", "-n", "1", "--gpus-per-rank", "1", "--image", "/", "--no-prefix", "sh", "-c", VISIBLE)
    assert done.stdout == "0: 1 FAKE_GPU_1=yes \n", done.stderr
    more = longship("launch", "-n", "2", "--gpus-per-rank", "1", "--image", "/", "true")
    assert more.returncode == 3
    assert "rank 1 of this node is to have 1 GPU, and all that was given here are 1" in more.stderr


def test_a_job_says_how_many_gpus_a_rank_has(longship, cdi, job, tmp_path):
    path = job(VISIBLE + " > out.$RANK; cat /opt/fake/driver.txt", more="gpus_per_rank = 1\n[outputs]\nkeep = ['out.*']",
               top='image = "/"')
    done = longship("run", path)
    assert done.returncode == 0, done.stderr
    kept = path.parent / "runs" / "sea-1"
    assert [(kept / f"out.{rank}").read_text() for rank in (0, 1)] == [
        f"{rank}: {rank} FAKE_GPU_0=yes FAKE_GPU_1=yes \n" for rank in (0, 1)]
    assert "version 1" in done.stdout


def test_a_job_that_needs_gpus_is_told_if_there_are_none(longship, job, tmp_path):
    longship.environment["LONGSHIP_CDI_DIRS"] = str(tmp_path / "none")
    done = longship("run", job("true", more="gpus_per_rank = 1", top='image = "/"'))
    assert done.returncode == 3
    assert "the job needs 1 GPU per rank, and this machine has none" in done.stderr


def test_a_plain_list_serves_ranks_too(longship, tmp_path):
    (tmp_path / "gpus.list").write_text("FAKE_GPU_LIST=1\n")
    longship.environment |= {"LONGSHIP_CDI_DIRS": str(tmp_path / "none"), "LONGSHIP_GPU_LIST": str(tmp_path / "gpus.list")}
    done = longship("launch", "-n", "2", "--gpus-per-rank", "2", "--image", "/", "--no-prefix", "sh", "-c", VISIBLE)
    assert sorted(done.stdout.splitlines()) == ["0: 0,1 FAKE_GPU_LIST=1 ", "1: 2,3 FAKE_GPU_LIST=1 "], done.stderr
