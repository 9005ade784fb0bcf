# SPDX-License-Identifier: Apache-2.0
"""longship pilot against a spool that the test writes by hand: the agent's side is spelled out here."""

import os
import shutil
import signal
import subprocess
import tarfile
import time

import pytest
from conftest import wait_until
from processes import marked_processes
from spool import Spool

pytestmark = pytest.mark.usefixtures("nothing_stays_behind")

WAIT_FOR_EVER = "echo up; exec sleep 600"


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path / "spool")


@pytest.fixture
def pilot(longship, spool):
    return lambda **options: longship.start("pilot", spool.pilot, **options)


def end(process, patience=30):
    out, err = process.communicate(timeout=patience)
    return process.returncode, out + err


def processes_in(directory):
    """Processes whose working directory is below this one."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.readlink(f"/proc/{entry}/cwd").startswith(str(directory)):
                found.append(entry)
        except OSError:
            pass
    return found


def children_called(name, parent):
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and open(f"/proc/{entry}/comm").read().strip() == name:
                if int(open(f"/proc/{entry}/stat").read().rsplit(")", 1)[1].split()[1]) == parent:
                    found.append(int(entry))
        except OSError:
            pass
    return found


def test_an_attempt_with_code_and_outputs(pilot, spool):
    code = spool.bundle({"train.sh": "echo hello from $RANK of $WORLD_SIZE; echo w > model-$RANK.pt\n"})
    job = spool.job("sh train.sh", needs={"ranks_per_node": 2}, outputs={"keep": ["model-*"]})
    spool.log.append(spool.take("sea-1.1", job, code=code))
    process = pilot()
    ended = spool.wait_for("ended")
    assert ended["outcome"] == "finished", ended
    assert [o["name"] for o in ended["outputs"]] == ["model-0.pt", "model-1.pt"]
    running = spool.wait_for("running")
    assert running["ranks"] == 2 and len(running["nodes"]) == 1
    assert (spool.attempt("sea-1.1") / "output" / "rank-00001.out").read_text() == "hello from 1 of 2\n"
    assert (spool.attempt("sea-1.1") / "model-0.pt").read_text() == "w\n"
    assert (spool.attempt("sea-1.1") / "result.json").exists()
    assert not (spool.attempt("sea-1.1") / ".spool").exists()
    spool.log.append({"kind": "leave"})
    assert end(process)[0] == 0
    assert spool.said()[-1] == {"kind": "left", "reason": "it was told to leave"}


def test_attempts_follow_each_other_and_failures_are_told(pilot, spool):
    spool.log.append(spool.take("sea-1.1", spool.job("exit 7")), spool.take("sea-2.1", spool.job("kill -9 $$")),
                     spool.take("sea-3.1", spool.job("true", outputs={"keep": ["model.pt"]})),
                     spool.take("sea-4.1", spool.job("true")), {"kind": "leave"})
    assert end(pilot())[0] == 0
    ended = {m["attempt"]: m for m in spool.said("ended")}
    assert ended["sea-1.1"]["outcome"] == "failed" and ended["sea-1.1"]["exit_code"] == 7
    assert "rank 0 on" in ended["sea-1.1"]["reason"]
    assert ended["sea-2.1"]["exit_code"] == 137
    assert "it did not write model.pt" in ended["sea-3.1"]["reason"]
    assert ended["sea-4.1"]["outcome"] == "finished"


def test_small_tasks_leave_files_only_if_they_say_something(pilot, spool):
    small = {"launch": "single"}
    spool.log.append(spool.take("sea-1.1", spool.job("true", **small)),
                     spool.take("sea-2.1", spool.job("echo $LONGSHIP_JOB in $A; echo oh >&2; touch litter", env={"A": "b"},
                                                     **small)),
                     spool.take("sea-3.1", spool.job("ls; exit 3", **small)),
                     spool.take("sea-4.1", spool.job("(setsid sleep 600 &)", **small)),
                     spool.take("sea-5.1", {"version": 1, "name": "sea", "command": ["no-such-program"], **small}),
                     {"kind": "leave"})
    assert end(pilot())[0] == 0
    ended = {m["attempt"]: (m["outcome"], m["exit_code"]) for m in spool.said("ended")}
    assert ended == {"sea-1.1": ("finished", 0), "sea-2.1": ("finished", 0), "sea-3.1": ("failed", 3),
                     "sea-4.1": ("finished", 0), "sea-5.1": ("failed", 127)}
    assert not spool.attempt("sea-1.1").exists()
    assert (spool.attempt("sea-2.1") / "output" / "rank-00000.out").read_text() == "sea-2 in b\n"
    assert (spool.attempt("sea-2.1") / "output" / "rank-00000.err").read_text() == "oh\n"
    assert not spool.attempt("sea-3.1").exists()  # it found nothing that sea-2 left
    assert "cannot run no-such-program: No such file" in (
        spool.attempt("sea-5.1") / "output" / "rank-00000.err").read_text()
    assert not (spool.pilot / "work").exists()


@pytest.fixture
def tiny(longship, spool, tmp_path):
    """The record of an image that has a shell, in the store of the site."""
    shell = shutil.which("busybox")
    if shell is None or b"statically" not in subprocess.run(["file", "-L", shell], capture_output=True).stdout:
        pytest.skip("needs a static busybox")
    with tarfile.open(tmp_path / "tiny.tar", "w") as archive:
        for name in ("bin/sh", "bin/busybox"):
            archive.add(shell, name)
    longship.environment["LONGSHIP_STORE"] = str(spool.root / "store")
    made = longship("image", "import", tmp_path / "tiny.tar", "-t", "tiny")
    assert made.returncode == 0, made.stderr
    return (spool.root / "store" / "images" / "tiny.json").read_text()


def test_small_tasks_with_an_image_are_in_one_box(pilot, spool, tiny):
    small = {"launch": "single", "image": "tiny"}
    take = lambda attempt, script: spool.take(attempt, spool.job(script, **small), image=tiny)
    spool.log.append(take("sea-1.1", "echo $LONGSHIP_JOB in a box: $LONGSHIP_IN_BOX, at $PWD; touch litter; exec >&2; busybox ls /"),
                     take("sea-2.1", "busybox ls; [ -d /opt/longship/python ] && busybox mkdir $LONGSHIP_RECORD -p; exit 3"),
                     take("sea-3.1", "(busybox setsid busybox sleep 600 &)"),
                     spool.take("sea-4.1", spool.job("ls /usr/bin/env", launch="single")),
                     spool.take("sea-5.1", {"version": 1, "name": "sea", "command": ["no-such-program"], **small}, image=tiny),
                     spool.take("sea-6.1", spool.job("true", **small), image=tiny.replace("sha256:", "sha256:0000")),
                     {"kind": "leave"})
    assert end(pilot())[0] == 0
    ended = {m["attempt"]: m for m in spool.said("ended")}
    assert {a: (m["outcome"], m["exit_code"]) for a, m in ended.items() if a < "sea-5"} == {
        "sea-1.1": ("finished", 0), "sea-2.1": ("failed", 3), "sea-3.1": ("finished", 0), "sea-4.1": ("finished", 0)}
    said = lambda attempt, stream: (spool.attempt(attempt) / "output" / f"rank-00000.{stream}").read_text()
    assert said("sea-1.1", "out") == "sea-1 in a box: 1, at /job\n"
    assert "bin" in said("sea-1.1", "err") and "boot" not in said("sea-1.1", "err")
    assert not (spool.attempt("sea-2.1") / "output").exists()  # it found nothing that sea-1 left
    assert (spool.attempt("sea-2.1") / "record").is_dir()
    assert ended["sea-5.1"]["exit_code"] == 127 and "cannot run no-such-program" in said("sea-5.1", "err")
    assert ended["sea-6.1"]["outcome"] == "lost" and ended["sea-6.1"]["reason"]
    assert not (spool.pilot / "work").exists()


def test_a_small_task_reports_how_far_it_is(pilot, spool):
    job = {"version": 1, "name": "sea", "launch": "single",
           "command": ["python3", "-c", "import longship; longship.progress(7, 9, loss=0.25)"]}
    spool.log.append(spool.take("sea-1.1", job), {"kind": "leave"})
    assert end(pilot())[0] == 0
    ended = spool.wait_for("ended")
    assert ended["outcome"] == "finished" and ended["metrics"]["step"] == 7, ended


def test_a_small_task_whose_words_cannot_be_kept_has_not_finished(pilot, spool):
    spool.attempt("sea-1.1").mkdir()
    (spool.attempt("sea-1.1") / "output").write_text("in the way")
    spool.log.append(spool.take("sea-1.1", spool.job("echo hello", launch="single")),
                     spool.take("sea-2.1", spool.job("echo hello", launch="single")), {"kind": "leave"})
    assert end(pilot())[0] == 0
    ended = {m["attempt"]: m for m in spool.said("ended")}
    assert ended["sea-1.1"]["outcome"] == "lost"
    assert "what it said could not be kept: cannot make " in ended["sea-1.1"]["reason"]
    assert ended["sea-2.1"]["outcome"] == "finished"
    assert (spool.attempt("sea-2.1") / "output" / "rank-00000.out").read_text() == "hello\n"


@pytest.mark.parametrize("launch", ["ranks", "single"])
def test_stop_of_a_running_attempt(pilot, spool, launch):
    spool.log.append(spool.take("sea-1.1", spool.job(WAIT_FOR_EVER, launch=launch)))
    process = pilot()
    spool.wait_for("running")
    wait_until(lambda: (spool.attempt("sea-1.1") / "output" / "rank-00000.out").exists(), "the rank is up")
    spool.log.append({"kind": "stop", "attempt": "sea-1.1", "reason": "cancelled"}, {"kind": "leave"})
    assert end(process)[0] == 0
    assert spool.wait_for("ended")["outcome"] == "cancelled"
    assert not processes_in(spool.root)


def test_walltime_asks_for_a_checkpoint_and_ends_the_attempt(pilot, spool):
    job = spool.job("echo $LONGSHIP_CHECKPOINTS $LONGSHIP_RESUME; echo '{}' > $LONGSHIP_CHECKPOINTS/step-1.json; exec sleep 600",
                    needs={"walltime": "2s"}, checkpoint={"every": "1m"})
    spool.log.append(spool.take("sea-1.1", job), spool.take("sea-1.2", job, resume=True), {"kind": "leave"})
    assert end(pilot())[0] == 0
    for ended in spool.said("ended"):
        assert (ended["outcome"], ended["checkpoint"]) == ("timed_out", True), ended
        assert ended["reason"] == "its walltime of 2s was over"
    said = (spool.attempt("sea-1.2") / "output" / "rank-00000.out").read_text()
    assert said == f"{spool.root}/checkpoints/sea-1 1\n"


def test_sigterm_is_the_end_of_the_allocation(pilot, spool):
    spool.log.append(spool.take("sea-1.1", spool.job(WAIT_FOR_EVER)), spool.take("sea-2.1", spool.job("true")))
    process = pilot()
    spool.wait_for("running")
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGTERM)
    assert end(process)[0] == 0
    ended = {m["attempt"]: m["outcome"] for m in spool.said("ended")}
    assert ended == {"sea-1.1": "lost", "sea-2.1": "lost"}  # long before the time was over
    assert not processes_in(spool.root)


@pytest.mark.parametrize("launch", ["ranks", "single"])
def test_a_batch_system_signals_every_process_and_no_job_fails_of_it(longship, pilot, spool, launch):
    spool.log.append(spool.take("sea-1.1", spool.job(WAIT_FOR_EVER, launch=launch)))
    process = pilot()
    wait_until(lambda: processes_in(spool.root), "the rank is up")
    everyone = [int(line.split()[0]) for line in marked_processes(longship.environment["LONGSHIP_TEST_MARK"])]
    for pid in sorted(everyone, reverse=True):  # the ranks first, the pilot last
        os.kill(pid, signal.SIGTERM)
    assert end(process)[0] == 0
    ended = spool.wait_for("ended")
    assert (ended["outcome"], ended["reason"]) == ("lost", "the batch system ended the allocation")


def test_what_carries_an_attempt_out_may_be_killed(longship, pilot, spool):
    spool.log.append(spool.take("sea-1.1", spool.job(WAIT_FOR_EVER)), spool.take("sea-2.1", spool.job("true")))
    process = pilot()
    wait_until(lambda: processes_in(spool.root), "the rank is up")
    runner = wait_until(lambda: children_called("longship-runner", process.pid), "the runner")[0]
    os.kill(runner, signal.SIGKILL)
    ended = spool.wait_for("ended", "sea-1.1")
    assert ended["outcome"] == "lost" and "was killed by SIGKILL" in ended["reason"]
    assert spool.wait_for("ended", "sea-2.1")["outcome"] == "finished"
    spool.log.append({"kind": "leave"})
    assert end(process)[0] == 0


@pytest.mark.parametrize("launch", ["ranks", "single"])
def test_killed_and_started_again_it_runs_nothing_twice(pilot, spool, tmp_path, launch):
    count = tmp_path / "count"
    count.write_text("")
    job = spool.job(f"echo x >> {count}; exec sleep 600", launch=launch)
    spool.log.append(spool.take("sea-1.1", job), spool.take("sea-2.1", spool.job("true", launch=launch)))
    process = pilot()
    wait_until(count.read_text, "the rank is up")
    process.kill()
    process.wait()
    wait_until(lambda: not processes_in(spool.root), "everything of the killed pilot ended")
    again = pilot()
    assert spool.wait_for("ended", "sea-1.1")["outcome"] == "lost"
    assert spool.wait_for("ended", "sea-2.1")["outcome"] == "finished"
    spool.log.append({"kind": "leave"})
    assert end(again)[0] == 0
    assert count.read_text() == "x\n"
    assert not (spool.attempt("sea-1.1") / ".spool").exists()


@pytest.mark.parametrize("point,outcome", [("began", "lost"), ("taken", "finished"), ("running", "lost"),
                                           ("ran", "lost"), ("kept", "lost"), ("ending", "lost"), ("ended", "finished")])
def test_killed_between_any_two_steps(longship, pilot, spool, point, outcome):
    job = spool.job("echo x > model.pt", outputs={"keep": ["model.pt"]})
    spool.log.append(spool.take("sea-1.1", job))
    failing = pilot(env=longship.environment | {"LONGSHIP_FAILPOINTS": f"pilot.{point}=kill"})
    assert end(failing)[0] == -signal.SIGKILL
    again = pilot()
    spool.log.append({"kind": "leave"})
    assert end(again)[0] == 0
    assert [m["outcome"] for m in spool.said("ended")] == [outcome]
    assert len(spool.said("running")) == 1


def test_duplicated_delayed_and_torn_records(pilot, spool):
    take = spool.take("sea-1.1", spool.job("true"))
    spool.log.append({"kind": "stop", "attempt": "sea-3.1", "reason": "cancelled"})
    spool.log.append(take)
    spool.log.append(take, take)
    process = pilot()
    spool.wait_for("ended", "sea-1.1")
    finish = spool.log.append_torn(spool.take("sea-2.1", spool.job("true")))
    time.sleep(0.3)  # it looks at the torn record several times
    assert not spool.said("running", "sea-2.1")
    finish()
    assert spool.wait_for("ended", "sea-2.1")["outcome"] == "finished"
    spool.log.append(spool.take("sea-3.1", spool.job("true")), take, {"kind": "dance"})
    spool.log.append(spool.take("sea-3.1", spool.job("true")), take)
    assert spool.wait_for("ended", "sea-3.1")["outcome"] == "cancelled"
    spool.log.append({"kind": "leave"})
    code, said = end(process)
    assert code == 0 and 'no message to a pilot is called "dance"' in said
    assert len(spool.said("ended")) == 3


def test_stopped_for_longer_than_its_lease_and_continued(pilot, spool):
    spool.log.append(spool.take("sea-1.1", spool.job("echo done > model.pt", outputs={"keep": ["model.pt"]})))
    process = pilot()
    spool.wait_for("began")
    process.send_signal(signal.SIGSTOP)
    spool.log.append({"kind": "stop", "attempt": "sea-1.1", "reason": "superseded"}, {"kind": "leave"})
    time.sleep(1)
    process.send_signal(signal.SIGCONT)
    assert end(process)[0] == 0
    assert len(spool.said("ended", "sea-1.1")) == 1  # whatever it is, it is said once, and the hub decides


def test_a_second_pilot_in_the_same_directory_is_refused(pilot, spool):
    first = pilot()
    spool.wait_for("began")
    code, said = end(pilot())
    assert code == 1 and "another pilot is at work" in said
    spool.log.append({"kind": "leave"})
    assert end(first)[0] == 0


def test_what_is_not_in_place_is_lost_with_a_sentence(pilot, spool):
    good = spool.bundle({"a": "a"})
    missing = {"digest": "sha256:" + "0" * 64, "size": 1}
    spool.attempt("sea-3.1").mkdir()
    (spool.root / "code" / f"{'1' * 64}.tar.zst").write_bytes(
        (spool.root / "code" / (good["digest"][7:] + ".tar.zst")).read_bytes())
    spool.log.append(spool.take("sea-1.1", spool.job("true"), code=missing),
                     spool.take("sea-2.1", spool.job("true"), code={"digest": "sha256:" + "1" * 64, "size": 1}),
                     spool.take("sea-3.1", spool.job("true")),
                     spool.take("sea-4.1", spool.job("true", data=[{"dataset": "/no/such", "at": "/no/such"}])),
                     {"kind": "leave"})
    assert end(pilot())[0] == 0
    ended = {m["attempt"]: m for m in spool.said("ended")}
    assert {m["outcome"] for m in ended.values()} == {"lost"}, ended
    assert "the code: " in ended["sea-1.1"]["reason"] and "No such file" in ended["sea-1.1"]["reason"]
    assert "digest" in ended["sea-2.1"]["reason"] or "sha256" in ended["sea-2.1"]["reason"]
    assert "another pilot began it" in ended["sea-3.1"]["reason"]
    assert "there is nothing at this path" in ended["sea-4.1"]["reason"]


def test_names_that_lead_elsewhere_are_refused(pilot, spool):
    spool.log.append(spool.take("sea-1.1", spool.job("true", outputs={"keep": ["../../x"]})))
    spool.log.append(spool.take("../sea-2.1", spool.job("true")))
    spool.log.append({"kind": "leave"})
    code, said = end(pilot())
    assert code == 0 and 'is no attempt' in said
    assert [m["outcome"] for m in spool.said("ended")] == ["failed"]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a small file system")
def test_full_disk(longship, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", small], check=True)
    try:
        spool = Spool(small / "spool")
        spool.log.append(spool.take("sea-1.1", spool.job(
            f"head -c 4m /dev/zero > {small}/ballast; echo x > model.pt", outputs={"keep": ["model.pt"]})))
        process = longship.start("pilot", spool.pilot)
        spool.wait_for("running")
        wait_until(lambda: (small / "ballast").exists(), "the disk is full")
        time.sleep(2)
        (small / "ballast").unlink()
        ended = spool.wait_for("ended")
        assert ended["outcome"] in ("failed", "lost") and ended["reason"]
        spool.log.append(spool.take("sea-2.1", spool.job("true")), {"kind": "leave"})
        assert end(process)[0] == 0
        assert spool.wait_for("ended", "sea-2.1")["outcome"] == "finished"
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.mark.parametrize("words", [[], ["--pretend"]])
def test_many_small_tasks(longship, spool, words, capsys):
    count = 10_000 if words else 500
    job = {"version": 1, "name": "sea", "command": ["/bin/true"], "launch": "single"}
    for start in range(0, count, 500):
        spool.log.append(*(spool.take(f"sea-{n + 1}.1", job) for n in range(start, start + 500)))
    spool.log.append({"kind": "leave"})
    begun = time.monotonic()
    result = longship("pilot", spool.pilot, *words)
    seconds = time.monotonic() - begun
    assert result.returncode == 0, result.stderr
    ended = spool.said("ended")
    assert len(ended) == count and all(m["outcome"] == "finished" for m in ended)
    with capsys.disabled():
        print(f"\n  {'pretended' if words else '/bin/true'}: {count / seconds:,.0f} tasks/s by one pilot")
