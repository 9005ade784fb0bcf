# SPDX-License-Identifier: Apache-2.0
"""Across the nodes of a real Slurm allocation. The lab's nodes share one host: SLURMD_NODENAME tells them apart."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAM, launcher_below, needs, wait_until
from slurm_lab import slurm

pytestmark = [needs("slurmctld", "slurmd", "munged", "srun"), pytest.mark.usefixtures("nothing_stays_behind")]

LAUNCH = ["launch", "--per-node", "2"]


@pytest.fixture(scope="module")
def lab():
    with slurm(nodes=2) as environment:
        yield environment


@pytest.fixture
def allocated(lab, longship):
    """Starts longship inside an allocation of both nodes, as a user at a terminal would."""
    longship.environment.update(lab)

    def start(*words, nodes=2, **options):
        return longship.start(*words, before=["salloc", "-Q", "-N", str(nodes)], **options)

    yield start
    subprocess.run(["scancel", "-u", str(os.getuid())], env=longship.environment, check=False)
    wait_until(lambda: squeue(longship) == "", "all jobs to leave the queue")


def squeue(longship):
    return subprocess.run(["squeue", "-h"], env=longship.environment, capture_output=True, text=True).stdout


def finish(process, timeout=60):
    output, errors = process.communicate(timeout=timeout)
    return process.returncode, output, errors


def test_ranks_on_both_nodes(allocated):
    code, output, errors = finish(allocated(*LAUNCH, "sh", "-c", "echo $RANK $WORLD_SIZE $LOCAL_RANK $LONGSHIP_NODE"))
    assert code == 0, errors
    assert sorted(output.splitlines()) == [
        "[node1 0] 0 4 0 node1", "[node1 1] 1 4 1 node1", "[node2 2] 2 4 0 node2", "[node2 3] 3 4 1 node2"]


def test_all_ranks_get_the_same_rendezvous(allocated):
    show = "echo $LONGSHIP_RENDEZVOUS $MASTER_ADDR:$MASTER_PORT $LONGSHIP_SECRET"
    code, output, errors = finish(allocated(*LAUNCH, "--no-prefix", "sh", "-c", show))
    assert code == 0, errors
    lines = output.splitlines()
    assert len(lines) == 4
    assert len(set(lines)) == 1
    assert re.fullmatch(r"[\d.]+:\d+ [\d.]+:\d+ [0-9a-f]{64}", lines[0])


def test_ranks_in_a_box_on_each_node(allocated):
    script = "echo $RANK $(readlink /proc/self/ns/mnt)"
    code, output, errors = finish(allocated(*LAUNCH, "--no-prefix", "--image", "/", "sh", "-c", script))
    assert code == 0, errors
    space = dict(line.split() for line in output.splitlines())
    assert space["0"] == space["1"] != space["2"] == space["3"]


def test_uneven_ranks(allocated):
    code, output, _ = finish(allocated("launch", "-n", "3", "sh", "-c", "echo $LOCAL_WORLD_SIZE"))
    assert code == 0
    assert sorted(output.splitlines()) == ["[node1 0] 2", "[node1 1] 2", "[node2 2] 1"]


def test_one_node_of_the_allocation(allocated):
    code, output, errors = finish(allocated("launch", "--nodes", "1", "-n", "2", "sh", "-c", "echo $LONGSHIP_NODE"))
    assert code == 0, errors
    assert sorted(output.splitlines()) == ["[node1 0] node1", "[node1 1] node1"]


def test_more_nodes_than_there_are(allocated):
    code, _, errors = finish(allocated("launch", "--nodes", "3", "-n", "3", "true"))
    assert code == 3
    assert "--nodes 3: there are 2 here" in errors


def test_failing_rank_arrives_with_its_last_words(allocated):
    script = "if [ $RANK = 3 ]; then echo out of luck >&2; exit 9; fi; exec sleep 600"
    code, _, errors = finish(allocated(*LAUNCH, "sh", "-c", script))
    assert code == 9
    assert "error: rank 3 on node2 exited with code 9; the last it said on stderr:" in errors
    assert "longship:   out of luck" in errors


def test_killed_rank_on_the_other_node(allocated):
    code, _, errors = finish(allocated(*LAUNCH, "sh", "-c", "if [ $RANK = 2 ]; then kill -9 $$; fi; exec sleep 600"))
    assert code == 137
    assert "rank 2 on node2 was killed by SIGKILL" in errors


def test_box_that_cannot_be_entered_is_told_by_its_node(allocated, tmp_path):
    (tmp_path / "not-an-image").write_text("text")
    code, _, errors = finish(allocated(*LAUNCH, "--image", tmp_path / "not-an-image", "true"))
    assert code in (1, 3)
    assert re.search(r"error: node[12]: ", errors), errors


def test_long_lines_and_floods_arrive_whole(allocated):
    script = "import sys; [print(f'{i:06}' * 700) for i in range(300)]"
    code, output, _ = finish(allocated(*LAUNCH, "/usr/bin/python3", "-c", script))
    assert code == 0
    lines = [line.split("] ", 1) for line in output.splitlines()]
    assert len(lines) == 4 * 300
    assert all(len(text) == 4200 and text == text[:6] * 700 for _, text in lines)


def test_ctrl_c_reaches_all_nodes(allocated):
    script = "trap 'echo saving; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    process = allocated(*LAUNCH, "sh", "-c", script)
    for _ in range(4):
        process.stdout.readline()
    os.kill(launcher_below(process), signal.SIGINT)
    code, output, _ = finish(process)
    assert code == 130
    assert output.count("saving") == 4


def test_killed_launcher_leaves_nothing(allocated):
    script = "trap '' TERM; setsid sleep 600 & echo up; while :; do sleep 600; done"
    process = allocated(*LAUNCH, "sh", "-c", script)
    for _ in range(4):
        process.stdout.readline()
    os.kill(launcher_below(process), signal.SIGKILL)
    finish(process)


def test_killed_helper_is_told(allocated):
    process = allocated(*LAUNCH, "sh", "-c", "echo $RANK $PPID; exec sleep 600")
    keepers = dict(process.stdout.readline().split()[2:] for _ in range(4))
    helper = int(Path(f"/proc/{keepers['2']}/stat").read_text().split()[3])
    os.kill(helper, signal.SIGKILL)
    code, _, errors = finish(process)
    assert code == 1
    assert "before all ranks had ended" in errors


def test_scancel_leaves_nothing(allocated, longship):
    process = allocated(*LAUNCH, "sh", "-c", "trap '' TERM; echo up; while :; do sleep 600; done")
    for _ in range(4):
        process.stdout.readline()
    subprocess.run(["scancel", squeue(longship).split()[0]], env=longship.environment, check=True)
    code, _, _ = finish(process)
    assert code != 0


def batch(longship, tmp_path, *words, nodes=2):
    """The same in a batch script; its output and exit code once it has ended."""
    script = tmp_path / "job.sh"
    command = " ".join(f"'{word}'" for word in [PROGRAM, *words])
    script.write_text(f"#!/bin/sh\n{command} > out.txt 2> err.txt\necho $? > code.part\nmv code.part code.txt\n")
    subprocess.run(["sbatch", "-N", str(nodes), "--no-requeue", "-o", "/dev/null", script], cwd=tmp_path,
                   env=longship.environment, check=True, capture_output=True)
    wait_until((tmp_path / "code.txt").exists, "the batch job to end", patience=60)
    return int((tmp_path / "code.txt").read_text()), (tmp_path / "out.txt").read_text(), (tmp_path / "err.txt").read_text()


@pytest.mark.usefixtures("allocated")
def test_in_a_batch_script(longship, tmp_path):
    code, output, errors = batch(longship, tmp_path, *LAUNCH, "sh", "-c", "echo $LONGSHIP_NODE; exit $((RANK / 3 * 6))")
    assert code == 6, errors
    assert {line.split()[-1] for line in output.splitlines()} == {"node1", "node2"}


@pytest.mark.usefixtures("allocated")
def test_batch_script_on_one_node_needs_no_srun(longship, tmp_path):
    code, output, errors = batch(longship, tmp_path, "launch", "-n", "2", "sh", "-c", "echo $LONGSHIP_NODE $SLURM_STEP_ID",
                                 nodes=1)
    assert code == 0, errors
    assert {line[4:].strip() for line in output.splitlines()} <= {"node1", "node2"}


JOB = """
version = 1
name = "sum"
command = ["/usr/bin/python3", "sum.py"]
code = "."
[needs]
nodes = 2
ranks_per_node = 2
[outputs]
keep = ["sum-*.txt"]
"""

SUM = """
import os, torch
import longship.torch as hvd
hvd.init()
total = hvd.allreduce(torch.ones(100_000) * (hvd.rank() + 1), op=hvd.Sum, name="x")
assert bool((total == 10).all())
if hvd.rank() == 0:
    open("sum-of-ranks.txt", "w").write(str(int(total[0])))
print(os.environ["LONGSHIP_NODE"], hvd.rank(), hvd.size(), hvd.local_rank())
hvd.shutdown()
"""


def write_job(directory, job=JOB, script=SUM):
    directory.mkdir()
    (directory / "job.toml").write_text(job)
    (directory / "sum.py").write_text(script)
    return directory / "job.toml"


def test_job_with_collectives_runs_on_all_nodes(allocated, tmp_path):
    job = write_job(tmp_path / "sum")
    code, output, errors = finish(allocated("run", job), timeout=120)
    assert code == 0, errors
    for words in ["node1 0 4 0", "node1 1 4 1", "node2 2 4 0", "node2 3 4 1"]:
        assert words in output
    kept = list((tmp_path / "sum" / "runs" / "sum-1").rglob("sum-of-ranks.txt"))
    assert [path.read_text() for path in kept] == ["10"]


def test_failing_job_hands_its_code_on(allocated, tmp_path):
    job = write_job(tmp_path / "sum", script="import os, sys, time\nif os.environ['RANK'] == '2': sys.exit(11)\ntime.sleep(600)")
    code, _, errors = finish(allocated("run", job), timeout=120)
    assert code == 11
    assert "rank 2 on node2" in errors


STUDY = """version = 1
name = "bowl"
{work}
parallel = 4
objective = {{ metric = "score", file = "m.jsonl" }}
budget = {{ trials = {trials} }}
[space]
x = {{ low = 0.0, high = 1.0 }}
"""
TRIAL = 'cd "${LONGSHIP_TRIAL_DIRECTORY:-.}"; echo "{\\"score\\": $1}" > m.jsonl; echo $SLURMD_NODENAME >> $NODES; '


def study_of(longship, tmp_path, trials, last="sleep 0.2", work='command = ["sh", "trial.sh", "{x}"]'):
    longship.environment["NODES"] = str(tmp_path / "nodes")
    (tmp_path / "trial.sh").write_text(TRIAL + last + "\n")
    (tmp_path / "study.toml").write_text(STUDY.format(work=work, trials=trials))
    return tmp_path / "study.toml"


def nodes_seen(tmp_path):
    seen = tmp_path / "nodes"
    return seen.read_text().split() if seen.exists() else []


def test_many_small_trials_are_spread_over_the_nodes(allocated, longship, tmp_path):
    code, _, errors = finish(allocated("study", "run", study_of(longship, tmp_path, trials=8)), timeout=120)
    assert code == 0, errors
    seen = nodes_seen(tmp_path)
    assert len(seen) == 8 and min(seen.count("node1"), seen.count("node2")) >= 2, seen


def test_a_small_job_is_a_trial_on_one_of_the_nodes(allocated, longship, tmp_path):
    code = tmp_path / "code"
    code.mkdir()
    (tmp_path / "job.toml").write_text('version = 1\nname = "work"\ncode = "code"\ncommand = ["sh", "trial.sh", "{x}"]\n'
                                       '[outputs]\nkeep = ["m.jsonl"]\n')
    study = study_of(longship, tmp_path, trials=4, work='job = "job.toml"')
    (tmp_path / "trial.sh").rename(code / "trial.sh")
    code, _, errors = finish(allocated("study", "run", study), timeout=120)
    assert code == 0, errors
    assert sorted(nodes_seen(tmp_path)) == ["node1", "node1", "node2", "node2"]


def test_a_killed_study_leaves_no_trial_on_a_node(allocated, longship, tmp_path):
    process = allocated("study", "run", study_of(longship, tmp_path, trials=4, last="exec sleep 600"))
    wait_until(lambda: len(nodes_seen(tmp_path)) == 4, "all trials to run")
    os.kill(launcher_below(process), signal.SIGKILL)
    finish(process)
