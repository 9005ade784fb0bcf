# SPDX-License-Identifier: Apache-2.0
"""Jobs through the hub on this machine, and bad days on the way. The oracle is the same for all: every job is committed
exactly once, no output is lost, and no pilot is left behind."""

import json
import os
import re
import signal
import time

import pytest
from conftest import REPOSITORY, wait_until
from hub_lab import HubLab
from processes import kill, marked_processes


@pytest.fixture
def hub(longship, tmp_path):
    longship.environment["LONGSHIP_TEST_MARK"] = str(tmp_path)
    (tmp_path / "marks").mkdir()
    longship.environment["LONGSHIP_FAILPOINT_MARKS"] = str(tmp_path / "marks")
    lab = HubLab(longship, tmp_path / "hub")
    yield lab
    lab.stop()
    # Without work a pilot goes by itself, also when its agent is gone; here nobody wants to wait for that.
    kill(marked_processes(f"LONGSHIP_TEST_MARK={tmp_path}"))


def job_file(directory, script, **keys):
    """A job of a shell script whose runs can be counted: each writes a line to directory/ran."""
    directory.mkdir(exist_ok=True)
    (directory / "work.sh").write_text(f"echo x >> {directory}/ran\n{script}\n")
    lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
    (directory / "job.toml").write_text(
        'version = 1\nname = "work"\ncommand = ["sh", "work.sh"]\ncode = "."\n' + "\n".join(lines)
        + '\n[outputs]\nkeep = ["out.txt"]\n')
    (directory / ".longshipignore").write_text("ran\nruns/\n")
    return directory / "job.toml"


def submit(hub, job):
    """Also while the hub is being killed: the client tries again under the same key, as `longship submit` does."""
    done = hub.longship("--json", "submit", job)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["jobs"][0]


def check_committed_once(hub, name, content="done\n", patience=60):
    job = hub.wait(name, patience=patience)
    assert job["state"] == "finished", job
    finished = [a for a in job["attempts"] if a["outcome"] == "finished"]
    assert len(finished) == 1, job["attempts"]
    status, body = hub.request("GET", f"/v1/jobs/{name}/files/out.txt")
    assert (status, body.decode()) == (200, content)
    return job


def pilots(tmp_path):
    return [line for line in marked_processes(f"LONGSHIP_TEST_MARK={tmp_path}") if " pilot " in line]


def test_a_job_goes_out_and_comes_back(hub, tmp_path):
    hub.start()
    job = job_file(tmp_path / "job", "echo done > out.txt; echo hello; echo trouble >&2")
    done = hub.longship("submit", job, "--wait")
    assert done.returncode == 0, done.stderr
    check_committed_once(hub, "work-1")
    assert (tmp_path / "job" / "runs" / "work-1" / "out.txt").read_text() == "done\n"
    assert "hello" in hub.longship("logs", "work-1").stdout
    assert "trouble" in hub.longship("logs", "work-1", "--err").stdout
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "out.txt.part").write_text("of")  # that of another job, which was cut off
    assert hub.longship("outputs", "work-1", "--into", tmp_path / "again").returncode == 0
    assert (tmp_path / "again" / "out.txt").read_text() == "done\n"
    nobody = hub.longship("logs", "-f", "work-1", "--rank", 7)
    assert nobody.returncode == 2 and "--rank 7: work-1 has 1 rank, counted from 0" in nobody.stderr
    assert "work-1" in hub.longship("jobs").stdout
    assert "finished" in hub.longship("show", "work-1").stdout


def test_progress_of_a_script_that_has_no_other_ranks_is_shown_while_it_runs_and_afterwards(hub, tmp_path):
    go = tmp_path / "go"
    script = f"""python3 - <<'END'
import longship, os, time
longship.progress(7, 9, loss=0.25)
while not os.path.exists("{go}"):
    time.sleep(0.05)
END
echo done > out.txt"""
    hub.start()
    name = submit(hub, job_file(tmp_path / "job", script))
    wait_until(lambda: hub.job(name)["progress"], "progress while it runs")
    shown = hub.longship("show", name).stdout
    assert re.search(r"progress +7/9 steps +loss 0\.25", shown), shown
    go.touch()
    check_committed_once(hub, name)
    assert hub.job(name)["progress"]["step"] == 7
    assert "loss 0.25" in hub.longship("show", name).stdout
    timeline = tmp_path / "timeline.json"
    told = hub.longship("report", name, "--timeline", timeline)
    assert told.returncode == 0 and "loss 0.25" in told.stdout, told
    assert json.loads(timeline.read_text())["traceEvents"]


def test_a_job_that_fails_is_told_with_its_last_words_and_its_exit_code(hub, tmp_path):
    hub.start()
    done = hub.longship("submit", job_file(tmp_path / "job", "echo no such luck >&2; exit 7"), "--wait")
    assert done.returncode == 7
    assert hub.job("work-1")["state"] == "failed"
    assert "exited with code 7" in hub.job("work-1")["reason"]
    assert "errors: longship logs work-1 --err" in hub.longship("show", "work-1").stdout
    nothing = hub.longship("logs", "work-1")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "work-1, rank 0, has written nothing to stdout; with --err comes what it wrote to stderr" in nothing.stderr
    told = hub.longship("logs", "work-1", "--err")
    assert "no such luck" in told.stdout and told.stderr == ""
    assert "(there are: waiting, held, assigned, running, finished, failed, cancelled)" in hub.longship("jobs", "--state", "x").stderr


def test_crashes_are_tried_again_as_often_as_the_job_says(hub, tmp_path):
    hub.start()
    job = job_file(tmp_path / "job", f"test $(wc -l < {tmp_path}/job/ran) -ge 3 || exit 1; echo done > out.txt")
    job.write_text(job.read_text() + "[retry]\ncrashes = 3\n")
    name = submit(hub, job)
    check_committed_once(hub, name)
    assert [a["outcome"] for a in hub.job(name)["attempts"]] == ["failed", "failed", "finished"]


def test_cancel_stops_the_ranks_and_frees_the_place(hub, tmp_path):
    hub.start()
    name = submit(hub, job_file(tmp_path / "job", "sleep 1000"))
    hub.wait(name, "running")
    assert hub.longship("cancel", name).returncode == 0
    assert hub.wait(name)["state"] == "cancelled"
    mark = f"LONGSHIP_TEST_MARK={tmp_path}"
    wait_until(lambda: not [p for p in marked_processes(mark) if "sleep" in p], "the rank to end")


def test_a_job_that_fits_nowhere_says_why(hub):
    hub.start()
    name = hub.submit(needs={"nodes": 40})
    why = hub.longship("why", name)
    assert "40 nodes" in why.stdout
    assert "40 nodes" in hub.job(name)["reason"]


def test_a_held_job_waits_until_it_is_released(hub, tmp_path):
    hub.start()
    blocker = hub.submit(needs={"nodes": 40})
    assert hub.longship("hold", blocker).returncode == 0
    assert hub.job(blocker)["state"] == "held"
    assert hub.longship("release", blocker).returncode == 0
    assert hub.job(blocker)["state"] == "waiting"


FAILPOINTS = sorted({name for room in ("hub", "agent", "pilot")
                     for path in (REPOSITORY / "src" / room).glob("*.cpp")
                     for name in re.findall(r'failpoint\("([a-z_.]+)"\)', path.read_text())})


# The hub passes these with every batch of events, also while it starts: each at several of the first times.
TIMES = {"hub.received": (3, 6, 10), "hub.committed": (3, 6, 10), "hub.replied": (3, 6, 10), "hub.written": (2, 3, 4)}
KILLS = [(point, time) for point in FAILPOINTS for time in TIMES.get(point, (1,))]


@pytest.mark.parametrize("point, when", KILLS)
def test_killed_between_two_steps_a_job_is_still_committed_once(hub, tmp_path, point, when):
    """kill -9 of hub and agent, or of the pilot, at every place where one durable step follows another."""
    hub.start()
    hub.stop()  # its port is known now
    hub.start(failpoints=f"{point}=kill:{when}", wait=False)
    while not hub.answers():
        if hub.ended():
            hub.start()

    def hand_in():
        return hub.longship.start("--json", "submit", job_file(tmp_path / "job", "echo done > out.txt"))

    submitting = hand_in()
    name = None

    def is_finished():
        nonlocal name, submitting
        if hub.ended():
            hub.start()
        if name is None and submitting.poll() is not None:
            said, errors = submitting.communicate()
            if "cannot reach the hub" in errors:  # killed before it heard anything of the job: one tries again
                submitting = hand_in()
                return False
            assert submitting.returncode == 0, errors
            name = json.loads(said)["jobs"][0]
        try:
            return name and hub.job(name)["state"] == "finished"
        except (OSError, AssertionError):
            return False  # it is being restarted

    wait_until(is_finished, "the job to finish", patience=60)
    wait_until((tmp_path / "marks" / point).exists, "somebody to be killed there")
    time.sleep(0.3)  # the mark is made just before
    if hub.ended():
        hub.start()
    check_committed_once(hub, name)
    assert hub.get("/v1/jobs")["total"] == 1


def test_kill_of_hub_and_agent_leaves_the_pilot_alone(hub, tmp_path):
    hub.start()
    go = tmp_path / "go"
    name = submit(hub, job_file(tmp_path / "job", f"while [ ! -e {go} ]; do sleep 0.1; done; echo done > out.txt"))
    hub.wait(name, "running")
    hub.kill()
    go.touch()
    time.sleep(1)
    hub.start()
    job = check_committed_once(hub, name)
    assert len(job["attempts"]) == 1
    assert (tmp_path / "job" / "ran").read_text() == "x\n"


def test_a_killed_pilot_is_noticed_and_the_job_goes_on_elsewhere(hub, tmp_path):
    hub.start()
    first = tmp_path / "first"
    name = submit(hub, job_file(tmp_path / "job", f"if [ ! -e {first} ]; then touch {first}; sleep 1000; fi; echo done > out.txt"))
    wait_until(first.exists, "the first attempt")
    hub.wait(name, "running")
    kill(pilots(tmp_path))
    job = hub.wait(name, patience=120)
    check_committed_once(hub, name)
    assert [a["outcome"] for a in job["attempts"]] == ["lost", "finished"]


def test_a_second_hub_on_the_same_store_is_refused(hub, longship):
    hub.start()
    second = longship("up", "--port", "0")
    assert second.returncode != 0
    assert str(hub.process.pid) in second.stderr or hub.url in second.stderr


def test_a_strangers_token_opens_nothing(hub):
    hub.start()
    assert hub.request("GET", "/v1/jobs", token="x" * 64)[0] == 401
    assert hub.request("POST", "/v1/jobs", {"job": {}}, token="x" * 64)[0] == 401


def test_many_small_tasks_are_each_committed_once(hub, tmp_path):
    hub.start()
    hub.submit(count=300, name="small", command=["/bin/sh", "-c", f"echo x >> {tmp_path}/ran"], launch="single")
    wait_until(lambda: hub.get("/v1/jobs?limit=1")["counts"].get("finished", 0) == 300, "300 tasks", patience=120)
    assert (tmp_path / "ran").read_text() == "x\n" * 300


ONLY_WITH_ALL = pytest.mark.skipif(not os.environ.get("LONGSHIP_TEST_ALL"), reason="takes as long as a lease: --all")


@ONLY_WITH_ALL
@pytest.mark.parametrize("late", ["finished", "still running"])
def test_a_pilot_that_was_stopped_for_longer_than_its_lease_does_not_count_twice(hub, tmp_path, late):
    """The job goes on elsewhere and is committed there; then the first pilot wakes, with an attempt that has finished
    meanwhile or has not."""
    hub.start()
    first, go = tmp_path / "first", tmp_path / "go"
    script = (f"if [ ! -e {first} ]; then touch {first}; while [ ! -e {go} ]; do sleep 0.1; done; echo late > out.txt; "
              f"exit; fi; echo done > out.txt")
    job = job_file(tmp_path / "job", script)
    job.write_text(job.read_text() + "[needs]\nthreads_per_rank = 1\n")  # there is room for another beside it
    name = submit(hub, job)
    wait_until(first.exists, "the first attempt")
    hub.wait(name, "running")
    stopped = [int(line.split()[0]) for line in pilots(tmp_path) if "/pilots/" in line.split(" pilot ")[1]]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    shown = check_committed_once(hub, name, patience=150)
    assert [a["outcome"] for a in shown["attempts"]] == ["lost", "finished"]
    assert "has not been heard of for 75 seconds" in shown["attempts"][0]["reason"]
    if late == "finished":
        go.touch()
        wait_until(lambda: not [p for p in marked_processes(f"LONGSHIP_TEST_MARK={tmp_path}") if "work.sh" in p],
                   "the first attempt's rank to end")
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    wait_until(lambda: not pilots(tmp_path), "all pilots to leave")
    shown = check_committed_once(hub, name)
    assert [a["outcome"] for a in shown["attempts"]] == ["lost", "finished"]
    assert (shown["attempt"], (tmp_path / "job" / "ran").read_text()) == (2, "x\nx\n")
    if late == "finished":
        assert "does not count" in json.dumps(shown["events"])
