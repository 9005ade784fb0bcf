# SPDX-License-Identifier: Apache-2.0
"""longship launch on one machine: ranks, output, failures, signals, and that nothing stays behind."""

import json
import os
import pty
import re
import resource
import signal
import subprocess
import time

import pytest
from conftest import LAB, PROGRAM, wait_until
from processes import marked_processes

pytestmark = pytest.mark.usefixtures("nothing_stays_behind")

WAIT_FOR_EVER = ["sh", "-c", "echo up; exec sleep 600"]


def wait_for_lines(process, count):
    """The first lines of its output; it goes on afterwards."""
    return [process.stdout.readline() for _ in range(count)]


def test_ranks_know_their_places(longship):
    result = longship("launch", "-n", 3, "sh", "-c", "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $GROUP_RANK")
    assert result.returncode == 0
    assert sorted(result.stdout.splitlines()) == [f"[{r}] {r} 3 {r} 3 0" for r in range(3)]
    assert result.stderr == ""


def test_ranks_are_bound_to_different_cores(longship):
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        pytest.skip("needs two cores")
    show = "import os; print(sorted(os.sched_getaffinity(0)), os.environ['OMP_NUM_THREADS'])"
    lines = longship("launch", "-n", 2, "/usr/bin/python3", "-c", show).stdout.splitlines()
    sets = [set(json.loads(re.search(r"\[[\d, ]+\] ", line[4:])[0])) for line in lines]
    assert not sets[0] & sets[1]
    assert sets[0] | sets[1] == os.sched_getaffinity(0)


def test_no_bind_leaves_all_cores(longship):
    show = "import os; print(len(os.sched_getaffinity(0)))"
    lines = longship("launch", "-n", 2, "--no-bind", "--no-prefix", "/usr/bin/python3", "-c", show).stdout.split()
    assert lines == [str(len(os.sched_getaffinity(0)))] * 2


def test_more_ranks_than_cores_is_said_with_v(longship):
    ranks = len(os.sched_getaffinity(0)) + 3
    result = longship("launch", "-v", "-n", ranks, "true")
    assert result.returncode == 0
    assert "they share them" in result.stderr


def test_options_after_the_command_are_its_own(longship):
    result = longship("launch", "-n", 1, "echo", "-n", "--json", "--nodes", "7")
    assert result.stdout == "[0] --json --nodes 7\n"


def test_after_dashes_the_command_may_look_like_an_option(longship):
    assert "there is no program -x" in longship("launch", "-n", 1, "--", "-x").stderr


def test_no_prefix_is_byte_for_byte(longship):
    result = longship("launch", "-n", 1, "--no-prefix", "printf", r"a\tb\nno end")
    assert result.stdout == "a\tb\nno end"


def test_partial_lines_and_progress_bars(longship):
    result = longship("launch", "-n", 1, "printf", r"10 %%\r90 %%\rdone\nno end")
    assert result.stdout == "[0] done\n[0] no end\n"


def test_output_is_kept_per_rank(longship, tmp_path):
    longship("launch", "-n", 2, "--output", tmp_path / "logs", "sh", "-c", "echo out $RANK; echo err $RANK >&2")
    assert (tmp_path / "logs" / "rank-00001.out").read_text() == "out 1\n"
    assert (tmp_path / "logs" / "rank-00000.err").read_text() == "err 0\n"


def test_first_failure_stops_the_rest_and_is_told(longship):
    script = "if [ $RANK = 1 ]; then echo out of luck >&2; exit 7; fi; exec sleep 600"
    result = longship("launch", "-n", 3, "sh", "-c", script)
    assert result.returncode == 7
    assert re.search(r"error: rank 1 on \S+ exited with code 7; the last it said on stderr:", result.stderr)
    assert result.stderr.count("out of luck") == 2  # as it came, and in the message


def test_with_json_only_the_result_is_on_stdout(longship):
    result = longship("launch", "--json", "-n", 2, "sh", "-c", "echo a line of $RANK")
    assert json.loads(result.stdout) == {"exit_code": 0}
    assert sorted(result.stderr.splitlines()) == ["[0] a line of 0", "[1] a line of 1"]


def test_output_that_a_full_disk_does_not_take_is_told_once_and_the_ranks_go_on(longship, tmp_path):
    with open("/dev/full", "w") as full:
        process = longship.start("launch", "-n", 2, "sh", "-c", f"echo a; echo b; echo $RANK > {tmp_path}/$RANK",
                                 stdout=full)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors.count("is lost from here on: No space left on device") == 1
    assert (tmp_path / "1").read_text() == "1\n"


def test_failure_as_json(longship):
    result = longship("launch", "--json", "-n", 2, "sh", "-c", "test $RANK = 0 || exit 5; exec sleep 600")
    assert result.returncode == 5
    assert json.loads(result.stdout)["failed_rank"] == 1


def test_killed_rank(longship):
    process = longship.start("launch", "-n", 2, "sh", "-c", "echo $$; exec sleep 600")
    pid = int(wait_for_lines(process, 1)[0].split()[1])
    os.kill(pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 137
    assert "was killed by SIGKILL" in errors


def test_command_that_is_not_there(longship):
    result = longship("launch", "-n", 2, "no-such-command")
    assert result.returncode == 127
    assert "there is no program no-such-command in PATH" in result.stderr  # no box was asked for


@pytest.mark.parametrize("words, code, said", [
    (["-n", "2"], 2, "nothing to run"),
    (["true"], 2, "how many ranks"),
    (["-n", "0", "true"], 2, "--ranks: Value 0 not in range 1"),
    (["-n", "2", "--frobnicate", "true"], 2, "--frobnicate"),
    (["-n", "2", "--per-node", "2", "true"], 2, "excludes"),
    (["-n", "2", "--nodes", "2", "true"], 3, "outside of an allocation"),
    (["-n", "2", "--output", "/proc/version/x", "true"], 1, "/proc/version/x: Not a directory"),
    (["-n", "2", "--image", "no-such-image", "true"], 1, "no-such-image"),
    (["-n", "2", "--image", "./no-such-directory", "true"], 1, "no-such-directory"),
    (["-n", "2", "--image", "/", "--bind", ":x", "true"], 2, "--bind"),
    (["-n", "2", "--env", "=x", "true"], 2, "--env"),
])
def test_wrong_words(longship, words, code, said):
    result = longship("launch", *words)
    assert (result.returncode, said in result.stderr) == (code, True), result.stderr


def test_more_ranks_than_files_are_allowed_are_refused_with_the_limit(longship, tmp_path):
    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    result = longship("launch", "-n", 100_000, "touch", tmp_path / "started", preexec_fn=few_files)
    assert result.returncode == 3
    assert re.search(r"100000 ranks are too many for this node: each takes 4 open files of its launcher, and with a limit of "
                     r"256 \(RLIMIT_NOFILE\) 5\d ranks fit; the hard limit is no higher", result.stderr), result.stderr
    assert not (tmp_path / "started").exists()
    fit = int(re.search(r"(\d+) ranks fit", result.stderr)[1])
    assert longship("launch", "-n", fit, "true", preexec_fn=few_files).returncode == 0


def test_more_ranks_than_processes_are_allowed_leave_nothing(longship, as_user):
    def few_processes():
        resource.setrlimit(resource.RLIMIT_NPROC, (40, 40))
    if os.getuid() == 0 and not as_user:
        pytest.skip("root has no such limit")
    result = longship("launch", "-n", 100, "sleep", "600", preexec_fn=few_processes, **as_user)
    assert result.returncode == 3
    assert re.search(r"100 ranks are too many for this node: after \d+ no further process is allowed, by the limit of this user "
                     r"\(RLIMIT_NPROC 40, `ulimit -u`\)", result.stderr), result.stderr


def test_ctrl_c_reaches_the_ranks_and_is_130(longship):
    script = "trap 'echo saving; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    process = longship.start("launch", "-n", 2, "sh", "-c", script)
    wait_for_lines(process, 2)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert output.count("saving") == 2
    assert "interrupted" in errors


def test_second_ctrl_c_does_not_wait(longship):
    process = longship.start("launch", "-n", 2, "sh", "-c", "trap '' TERM; echo up; while :; do sleep 600; done")
    wait_for_lines(process, 2)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)  # two of the same signal at once would be one
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=4)  # the grace alone is five seconds
    assert process.returncode == 130


def test_sigterm_is_143(longship):
    process = longship.start("launch", "-n", 2, *WAIT_FOR_EVER)
    wait_for_lines(process, 2)
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 143


@pytest.mark.parametrize("place", [[], ["--image", "/"]], ids=["unboxed", "boxed"])
def test_killed_launcher_leaves_nothing(longship, place):
    # The ranks ignore SIGTERM and have children that left their process group.
    script = "trap '' TERM; setsid sleep 600 & echo up; while :; do sleep 600; done"
    process = longship.start("launch", "-n", 2, *place, "sh", "-c", script)
    wait_for_lines(process, 2)
    process.kill()
    process.communicate(timeout=30)  # the pipes end only with the last process that holds them


def test_killed_keeper_ends_the_launch(longship):
    process = longship.start("launch", "-n", 2, *WAIT_FOR_EVER)
    wait_for_lines(process, 2)
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True)
    os.kill(int(children.stdout), signal.SIGKILL)
    process.communicate(timeout=30)
    assert process.returncode == 137


def test_daemon_of_a_rank_ends_with_the_launch(longship, tmp_path):
    result = longship("launch", "-n", 1, "sh", "-c", "setsid sleep 600 & setsid sh -c 'sleep 600 & sleep 600' & true")
    assert result.returncode == 0
    assert not marked_processes(str(tmp_path))


def test_reader_that_goes_away_is_not_the_end_of_the_ranks(longship, tmp_path):
    script = "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; touch finished"
    process = longship.start("launch", "-n", 1, "sh", "-c", script)
    process.stdout.readline()
    process.stdout.close()
    process.wait(timeout=30)
    assert (tmp_path / "finished").exists()
    assert process.returncode == 0


def test_reader_that_is_slow_does_not_keep_ctrl_c_away(longship):
    process = longship.start("launch", "-n", 2, "sh", "-c", "yes")
    process.stdout.readline()
    time.sleep(0.5)  # the pipe and the launcher's queue fill up
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=30)
    assert process.returncode == 130


def test_flood_needs_little_memory(longship):
    process = longship.start("launch", "-n", 2, "sh", "-c", "yes | head -c 50000000", stdout=subprocess.DEVNULL)
    status = wait_until(lambda: _peak(process.pid), "the launcher's memory")
    while process.poll() is None:
        status = _peak(process.pid) or status
    assert process.returncode == 0
    assert status < 32 << 20


def _peak(pid):
    try:
        return int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{pid}/status").read())[1]) << 10
    except (OSError, TypeError):
        return None


def test_a_terminals_errors_have_colours_unless_they_are_not_wanted(longship):
    def said(**variables):
        ours, theirs = pty.openpty()
        process = longship.start("launch", "-n", 1, stderr=theirs, env=longship.environment | variables)
        os.close(theirs)
        process.wait(timeout=30)
        text = os.read(ours, 1000)
        os.close(ours)
        return text

    assert b"\x1b" not in said()  # NO_COLOR is set
    longship.environment.pop("NO_COLOR")
    assert b"\x1b" not in said(TERM="dumb")
    assert said(TERM="xterm").startswith(b"\x1b[31mlongship: error:\x1b[0m nothing to run")


def test_names_in_messages_do_not_steer_the_terminal(longship):
    wrong = longship("launch", "-n", 1, "--output", "/proc/\x1b[31mred\u009b1m", "true")
    assert wrong.returncode == 1
    assert r"/proc/\x1b[31mred\xc2\x9b1m" in wrong.stderr


def test_colours_only_on_a_terminal(longship):
    longship.environment.pop("NO_COLOR")
    ours, theirs = pty.openpty()
    process = longship.start("launch", "-n", 1, "echo", "hello", stdout=theirs)
    os.close(theirs)
    process.wait(timeout=30)
    assert re.match(rb"\x1b\[\d+m\[0\] \x1b\[0mhello", os.read(ours, 1000))
    os.close(ours)


def test_ranks_of_a_box_share_it(longship):
    result = longship("launch", "-n", 2, "--no-prefix", "--image", "/", "readlink", "/proc/self/ns/mnt")
    assert result.returncode == 0, result.stderr
    spaces = set(result.stdout.split())
    assert len(spaces) == 1
    assert spaces != {os.readlink("/proc/self/ns/mnt")}


def test_torchrun_script_finds_its_rendezvous(longship, program_with):
    pytest.importorskip("torch")
    script = program_with("""
import torch, torch.distributed as dist
dist.init_process_group("gloo")
value = torch.ones(1) * (dist.get_rank() + 1)
dist.all_reduce(value)
print(int(value))
""")
    result = longship("launch", "-n", 2, "--no-prefix", *script)
    assert result.stdout.split() == ["3", "3"], result.stderr


def test_as_an_ordinary_user(longship, as_user):
    result = longship("launch", "-n", 2, "--image", "/", "sh", "-c", "id -u; exit 4", **as_user)
    assert result.returncode == 4, result.stderr


def test_without_user_namespaces_is_said(longship, as_user):
    result = subprocess.run(
        ["/usr/bin/python3", LAB / "no_user_namespaces.py", PROGRAM, "launch", "-n", "2",
         "--image", "/", "true"],
        cwd=longship.directory, env=longship.environment, capture_output=True, text=True, timeout=60, **as_user)
    assert result.returncode == 3, result.stderr
    assert "namespace" in result.stderr

