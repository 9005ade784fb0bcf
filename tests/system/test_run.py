# SPDX-License-Identifier: Apache-2.0
"""longship run on one machine: what is kept, and the bad days, after each of which nothing may stay behind."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import wait_until

pytestmark = pytest.mark.usefixtures("nothing_stays_behind")

WAIT_FOR_EVER = "echo up; exec sleep 600"


def runs_of(job_file):
    return sorted(path.name for path in (job_file.parent / "runs").glob("*"))


def spools_of(job_file):
    return list((job_file.parent / "runs").glob("*/.spool"))


def test_outputs_logs_and_result_are_kept(longship, job):
    file = job("echo hello from $RANK; echo $RANK > model-$RANK.txt; echo x > scratch", '[outputs]\nkeep = ["model-*"]')
    result = longship("run", file)
    assert result.returncode == 0, result.stderr
    run = file.parent / "runs" / "sea-1"
    assert (run / "model-1.txt").read_text() == "1\n"
    assert (run / "output" / "rank-00001.out").read_text() == "hello from 1\n"
    assert not (run / "scratch").exists()
    assert json.loads((run / "result.json").read_text())
    assert not spools_of(file)


def test_with_json_only_the_result_is_on_stdout(longship, job):
    result = longship("--json", "run", job("echo hello"))
    assert json.loads(result.stdout)["state"] == "finished"
    assert "[1] hello" in result.stderr


def test_what_a_job_calls_its_outputs_does_not_steer_the_terminal(longship, job):
    file = job("touch \"$(printf 'a\\033[31m')\"", '[outputs]\nkeep = ["a*"]', ranks=1)
    result = longship("run", file)
    assert result.returncode == 0, result.stderr
    assert r"/a\x1b[31m  0 B" in result.stdout


def test_runs_are_numbered(longship, job):
    file = job("true")
    for _ in range(3):
        assert longship("run", file).returncode == 0
    assert runs_of(file) == ["sea-1", "sea-2", "sea-3"]


def test_set_changes_a_value_for_one_run(longship, job):
    result = longship("run", job("echo of $WORLD_SIZE"), "--set", "needs.ranks_per_node=3")
    assert result.stdout.count("of 3") == 3


def test_ranks_run_in_a_copy_of_the_code(longship, job):
    file = job("echo spoiled > job.sh", ranks=1)
    assert longship("run", file).returncode == 0
    assert (file.parent / "job.sh").read_text() == "echo spoiled > job.sh"


def test_typo_in_the_job_file(longship, job):
    file = job("true")
    file.write_text(file.read_text().replace("ranks_per_node", "ranks_per_nod"))
    result = longship("run", file)
    assert result.returncode in (1, 2)
    assert 'job.toml:7: needs.ranks_per_nod: unknown key: did you mean "ranks_per_node"?' in result.stderr
    assert not runs_of(file)


def test_image_that_does_not_exist(longship, job):
    file = job("true", top='image = "no-such-image"')
    result = longship("run", file)
    assert result.returncode == 1
    assert "no-such-image" in result.stderr
    assert not runs_of(file)


def test_code_with_a_huge_file_fails_at_once_and_names_it(longship, job):
    file = job("true")
    with (file.parent / "checkpoint.bin").open("wb") as huge:
        huge.truncate(5 << 30)
    result = longship("run", file)
    assert result.returncode in (1, 2)
    assert "checkpoint.bin" in result.stderr
    assert ".longshipignore" in result.stderr
    assert not spools_of(file)


def test_failing_rank_hands_its_code_on(longship, job):
    result = longship("run", job("if [ $RANK = 1 ]; then echo rocks >&2; exit 21; fi; exec sleep 600"))
    assert result.returncode == 21
    assert "rank 1 on" in result.stderr
    assert "rocks" in result.stderr


def test_killed_rank(longship, job):
    result = longship("run", job("if [ $RANK = 0 ]; then kill -9 $$; fi; exec sleep 600"))
    assert result.returncode == 137
    assert "was killed by SIGKILL" in result.stderr


def test_walltime_ends_the_job(longship, job):
    result = longship("run", job("exec sleep 600", 'walltime = "1s"'))
    assert result.returncode != 0
    assert "walltime" in result.stderr


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_while_running(longship, job, number, code):
    file = job(WAIT_FOR_EVER)
    process = longship.start("run", file)
    process.stdout.readline()
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == code
    assert not spools_of(file)


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.03, 0.1, 0.3])
def test_interrupted_at_any_moment(longship, job, delay):
    file = job(WAIT_FOR_EVER, '[outputs]\nkeep = ["data-*"]')
    for number in range(200):  # so that bundling and unpacking take a while
        (file.parent / f"data-{number}").write_bytes(os.urandom(100_000))
    process = longship.start("run", file)
    try:
        process.wait(timeout=delay)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode in (130, -signal.SIGINT)  # the latter before anything was begun
    assert not spools_of(file)


def test_killed_run_leaves_no_process_and_the_next_one_cleans_up(longship, job):
    file = job("trap '' TERM; setsid sleep 600 & echo up; while :; do sleep 600; done")
    process = longship.start("run", file)
    process.stdout.readline()
    process.kill()
    process.communicate(timeout=30)
    (file.parent / "job.sh").write_text("true")
    assert longship("run", file).returncode == 0
    wait_until(lambda: not spools_of(file), "the abandoned spool to go")


def test_full_disk_is_said_and_no_result_is_half_written(longship, job, small_disk):
    script = "head -c 6000000 /dev/zero > model-a || exit 1; head -c 6000000 /dev/zero > model-b"
    file = job(script, '[outputs]\nkeep = ["model-*"]', ranks=1)
    result = longship("run", file, "--into", small_disk)
    assert result.returncode != 0
    assert "No space left on device" in result.stderr
    assert not list(Path(small_disk).glob("*/.spool"))
    for written in Path(small_disk).glob("*/result.json"):
        json.loads(written.read_text())


@pytest.mark.parametrize("pattern", ["../*", "/etc/passwd", "a/../../*"])
def test_output_pattern_that_leaves_its_place_is_refused(longship, job, pattern):
    file = job("true", f'[outputs]\nkeep = ["{pattern}"]')
    result = longship("run", file)
    assert result.returncode != 0
    assert "outputs.keep" in result.stderr or "keep" in result.stderr


def test_link_to_elsewhere_is_not_kept(longship, job, tmp_path):
    (tmp_path / "secret").write_text("secret")
    file = job(f"ln -s {tmp_path}/secret model", '[outputs]\nkeep = ["model"]', ranks=1)
    longship("run", file)
    kept = file.parent / "runs" / "sea-1" / "model"
    assert not kept.exists() or kept.read_text() != "secret"
