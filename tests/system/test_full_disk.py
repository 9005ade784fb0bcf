# SPDX-License-Identifier: Apache-2.0
"""A full disk under the hub, and one under a site's spool, while jobs run. Whoever asks is told so in a sentence; when there
is room again everything goes on by itself; every job is committed exactly once, and no pilot is left behind."""

import contextlib
import json

import pytest
from agent_lab import site_file
from conftest import wait_until
from hub_lab import HubLab
from processes import kill, marked_processes
from small_disk import Ballast
from test_voyage import submit


@pytest.fixture
def ballast(small_disk):
    return Ballast(small_disk)


@pytest.fixture
def marked(longship, tmp_path, small_disk):
    """The small disk cannot go before everybody on it has gone."""
    longship.environment["LONGSHIP_TEST_MARK"] = str(tmp_path)
    labs = []
    yield labs.append
    for lab in labs:
        lab.stop()
    mark = f"LONGSHIP_TEST_MARK={tmp_path}"
    kill(marked_processes(mark))
    wait_until(lambda: not marked_processes(mark), "processes to end")


def pilots(tmp_path):
    return [line for line in marked_processes(f"LONGSHIP_TEST_MARK={tmp_path}") if " pilot " in line]


def job_file(directory, script):
    directory.mkdir(exist_ok=True)
    (directory / "work.sh").write_text(f"echo x >> {directory}.ran\n{script}\n")
    (directory / "job.toml").write_text('version = 1\nname = "work"\ncommand = ["sh", "work.sh"]\ncode = "."\n'
                                        '[outputs]\nkeep = ["out.txt"]\n')
    return directory / "job.toml"


def check_committed_once(hub, name, content="done\n", patience=60):
    job = hub.wait(name, patience=patience)
    assert job["state"] == "finished", job
    assert [a["outcome"] for a in job["attempts"]].count("finished") == 1, job["attempts"]
    assert hub.request("GET", f"/v1/jobs/{name}/files/out.txt") == (200, content.encode())
    return job


# --- the hub's --------------------------------------------------------------------------------------------------------


@pytest.fixture
def hub(longship, tmp_path, small_disk, marked):
    """A hub on the small disk; its site's spool is elsewhere."""
    lab = HubLab(longship, small_disk, words=["--site", site_file(tmp_path, tmp_path / "spool")])
    marked(lab)
    return lab.start()


def submit_until_refused(hub, tmp_path):
    """The names of jobs that were accepted, and the answer to the first that was not. The store has some room of its own
    in files that are there already."""
    accepted = []
    big = {"PADDING": "x" * 100_000}  # of the job file, so that this does not take long
    for number in range(200):
        job = {"version": 1, "name": "flood", "command": ["sh", "-c", f"echo {number} >> {tmp_path}/flood.ran"],
               "launch": "single", "env": big | {"NUMBER": str(number)}}
        status, body = hub.request("POST", "/v1/jobs", {"job": job})
        if status != 201:
            return accepted, status, json.loads(body)["error"]
        accepted += json.loads(body)["jobs"]
    raise AssertionError("the disk does not get full")


def test_the_hubs_disk_is_full_and_has_room_again(hub, ballast, tmp_path):
    go = tmp_path / "go"
    running = submit(hub, job_file(tmp_path / "one", f"while [ ! -e {go} ]; do sleep 0.1; done; echo done > out.txt"))
    hub.wait(running, "running")
    ballast.load(leaving=1_000_000)

    accepted, status, sentence = submit_until_refused(hub, tmp_path)
    assert status == 507
    assert "the disk that holds the hub's store is full: make room" in sentence
    refused = hub.longship("submit", job_file(tmp_path / "two", "echo done > out.txt; # other code"))
    assert refused.returncode == 1
    assert "No space left on device" in refused.stderr or "is full" in refused.stderr
    assert hub.job(running)["state"] == "running"
    assert hub.get("/v1/health")["status"] == "ok"

    go.touch()
    kept = tmp_path / "spool" / "attempts" / f"{running}.1" / "result.json"
    wait_until(kept.exists, "the job to end while nobody can write it down")
    before = hub.get("/v1/jobs?limit=1")["total"]
    ballast.drop()

    check_committed_once(hub, running)
    assert accepted
    for name in accepted:
        assert hub.wait(name)["state"] == "finished"
    assert sorted(map(int, (tmp_path / "flood.ran").read_text().split())) == list(range(len(accepted)))
    assert hub.get("/v1/jobs?limit=1")["total"] == before == 1 + len(accepted)
    check_committed_once(hub, submit(hub, tmp_path / "two" / "job.toml"))
    assert not hub.ended()
    assert hub.said().count("is full") <= 5, "it says so once for each time, not all the time"
    for name in ("one", "two"):
        assert (tmp_path / f"{name}.ran").read_text() == "x\n"
    wait_until(lambda: not pilots(tmp_path), "the pilots to leave")


def test_a_hub_that_is_started_on_a_full_disk_says_why_it_cannot(hub, ballast, tmp_path):
    go = tmp_path / "go"
    running = submit(hub, job_file(tmp_path / "one", f"while [ ! -e {go} ]; do sleep 0.1; done; echo done > out.txt"))
    hub.wait(running, "running")
    ballast.load()
    hub.kill()
    ballast.load()  # what it gave back
    go.touch()
    hub.start(wait=False)
    assert hub.process.wait(timeout=30) == 1
    last = hub.said().strip().splitlines()[-1]
    assert "No space left on device" in last or "is full" in last
    ballast.drop()
    hub.start()
    check_committed_once(hub, running)
    assert (tmp_path / "one.ran").read_text() == "x\n"
    wait_until(lambda: not pilots(tmp_path), "the pilots to leave")


def test_up_on_a_full_disk_does_not_end_without_a_word(longship, small_disk):
    (small_disk / "fill").write_bytes(b"")
    with open(small_disk / "fill", "wb", buffering=0) as fill, contextlib.suppress(OSError):
        while True:
            fill.write(b"x" * 4096)
    done = longship("up", "--background", "--dir", small_disk / "hub", "--port", 0)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr or "is its disk full?" in done.stderr


def test_the_stores_log_does_not_fill_a_small_disk(hub):
    """Changes that are many but leave little: the disk has room for all that is to be kept, not for all that was written."""
    for _ in range(600):
        name = hub.submit(needs={"nodes": 40})
        assert hub.request("POST", f"/v1/jobs/{name}/hold")[0] == 200
    assert hub.get("/v1/jobs?limit=1")["counts"]["held"] == 600


# --- the spool's ------------------------------------------------------------------------------------------------------


@pytest.fixture
def site(longship, tmp_path, small_disk, marked):
    """A hub whose site has its spool on the small disk."""
    lab = HubLab(longship, tmp_path / "hub", words=["--site", site_file(tmp_path, small_disk / "spool")])
    marked(lab)
    return lab.start()


def test_a_job_that_ends_while_the_spools_disk_is_full_keeps_its_outputs(site, ballast, small_disk, tmp_path):
    """They are written; what cannot be written is its result, its log and, for a while, the pilot's own words."""
    go = tmp_path / "go"
    name = submit(site, job_file(tmp_path / "one", f"""
        echo done > out.txt
        while [ ! -e {go} ]; do sleep 0.1; done
        echo these words do not fit"""))
    site.wait(name, "running")
    attempt = small_disk / "spool" / "attempts" / f"{name}.1"
    wait_until((attempt / ".spool" / "work" / "out.txt").exists, "its output")
    ballast.load()
    go.touch()
    wait_until((attempt / "out.txt").exists, "its output to be kept")
    wait_until(lambda: not (attempt / ".spool").exists(), "the end of the attempt")
    ballast.drop()
    job = check_committed_once(site, name, patience=90)
    assert len(job["attempts"]) == 1 and (tmp_path / "one.ran").read_text() == "x\n"
    check_committed_once(site, submit(site, job_file(tmp_path / "two", "echo done > out.txt; echo hello")))
    assert site.longship("logs", "work-2").stdout == "hello\n"
    wait_until(lambda: not pilots(tmp_path), "the pilots to leave")


def test_a_job_that_fills_the_spool_itself_fails_and_makes_room(site, tmp_path):
    name = submit(site, job_file(tmp_path / "one", "head -c 20m /dev/zero > out.txt"))
    job = site.wait(name)
    assert job["state"] == "failed"
    assert "exited with code 1" in job["reason"]
    assert "the disk is full: nothing of it is kept" in job["reason"]
    assert [a["outcome"] for a in job["attempts"]] == ["failed"]
    assert job["attempts"][0]["outputs"] == [], "half of a file"
    check_committed_once(site, submit(site, job_file(tmp_path / "two", "echo done > out.txt")))
    wait_until(lambda: not pilots(tmp_path), "the pilots to leave")


def test_jobs_that_come_while_the_spools_disk_is_full_wait_for_room(site, ballast, tmp_path):
    ballast.load()
    script = f"echo x >> {tmp_path}/ran; echo done"
    names = site.submit(count=20, name="small", command=["sh", "-c", script], launch="single")
    wait_until(lambda: "No space left on device" in site.job(names[0])["reason"], "the reason to say so")
    assert "No space left on device" in site.longship("why", names[0]).stdout
    wait_until(lambda: "No space left on device" in site.longship("site", "ls").stdout, "the site to say so")
    ballast.drop()
    for name in names:
        job = site.wait(name, patience=90)
        assert job["state"] == "finished", job
        assert [a["outcome"] for a in job["attempts"]].count("finished") == 1
        assert site.request("GET", f"/v1/jobs/{name}/log") == (200, b"done\n")
    assert (tmp_path / "ran").read_text() == "x\n" * 20
    assert site.get("/v1/sites")["sites"][0]["condition"] == ""
    assert not site.ended()
    wait_until(lambda: not pilots(tmp_path), "the pilots to leave")
