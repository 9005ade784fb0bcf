# SPDX-License-Identifier: Apache-2.0
"""What benches run in ranks keeps working: briefly, for its numbers are another matter. A bench that is cut off has told what it
knew, and leaves nothing."""
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys

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


# It starts what convert.py starts: a shell that writes into memory, and has children of its own.
CUT_OFF = """
import os, sys
sys.path.insert(0, sys.argv[1])
from lib import MEMORY, Bench, scratch_directory
sys.argv[1:] = ["--json"]
bench = Bench("a bench")
with scratch_directory(MEMORY) as memory, scratch_directory() as disk:
    bench.figure("start", 1.23456, 2.5, "ms", at_most=0.4)
    script = f"(while :; do mkdir -p {memory}/a/b; echo x > {memory}/a/b/c; echo $$; done) | while read pid; do echo x > {disk}/$pid; done"
    child = os.posix_spawn("/bin/sh", ["sh", "-c", script], os.environ)
    print(memory, disk, flush=True)
    os.waitpid(child, 0)
bench.end()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_a_bench_that_a_signal_ends_has_told_its_figures_and_leaves_nothing(tmp_path, number):
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    bench = subprocess.Popen([sys.executable, "-c", CUT_OFF, BENCH], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=environment)
    places = [pathlib.Path(word) for word in bench.stdout.readline().split()]
    assert places[0].parent == pathlib.Path("/dev/shm") and places[1].parent == tmp_path and all(map(pathlib.Path.exists, places))
    bench.send_signal(number)
    bench.send_signal(number)  # by one who is impatient
    rest, said = bench.communicate(timeout=60)
    assert (bench.returncode, rest, said) == (128 + number, "", "start: 1.235 : 2.5 ms = 0.4938 x, goal <= 0.4 x: NO\n")
    assert not any(map(pathlib.Path.exists, places))
    assert subprocess.run(["pgrep", "-f", str(places[1])], capture_output=True).returncode == 1, "what it started still runs"


ROUNDS = """
import sys
sys.path.insert(0, sys.argv[1])
import lib
lib.SECONDS_BETWEEN_LINES = 0 if sys.argv[2] == "long" else 10
del sys.argv[1:]
bench = lib.Bench("a bench")
bench.absolute("a start", bench.interleave({"ours": lambda: 0.5})["ours"], "s", at_most=1)
bench.end()
"""


@pytest.mark.parametrize("length", ["short", "long"])
def test_the_log_of_a_bench_has_a_line_per_round_if_it_takes_long(length):
    done = subprocess.run([sys.executable, "-c", ROUNDS, BENCH, length], capture_output=True, text=True, check=True)
    rounds = ["warming up", *(f"round {number} of 7" for number in range(1, 8))] if length == "long" else []
    assert done.stderr.splitlines() == [*rounds, "a start: 0.5 s, goal <= 1 s: yes"]
    assert done.stdout == ("name     ours  peer  unit  ratio  goal    met\n"
                           "a start   0.5     -  s         -  <= 1 s  yes\n")


def test_a_terminal_has_one_line_for_the_rounds():
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", ROUNDS, BENCH, "short"], stdout=subprocess.DEVNULL, stderr=theirs, check=True,
                   env=os.environ | {"TERM": "xterm"})
    os.close(theirs)
    said = os.read(ours, 65536).decode()
    os.close(ours)
    assert said.split("\r\x1b[K") == ["", "warming up", *(f"round {number} of 7" for number in range(1, 8)),
                                     "a start: 0.5 s, goal <= 1 s: yes\r\n"]
