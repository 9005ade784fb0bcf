# SPDX-License-Identifier: Apache-2.0
"""longship.checkpoint: killed at any moment, with damaged files, and on other numbers of ranks than before."""
import os
import random
import signal
import struct
import subprocess
import sys
import time

import pytest
from ranks import BOX_SIDE

ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("LONGSHIP")}
ENVIRONMENT["PYTHONPATH"] = str(BOX_SIDE / "python")


def python(script, *words, **variables):
    return subprocess.run([sys.executable, "-c", script, *map(str, words)], env=ENVIRONMENT | variables, text=True,
                          capture_output=True, timeout=120)


LOAD = """
import sys
sys.modules["torch"] = None
from longship.checkpoint import Checkpoint
found = Checkpoint(sys.argv[1]).load()
print("none" if found is None else f"{found[0]} {found[1]['n']} {len(found[1]['x'])}")
"""
SAVE = """
import sys
sys.modules["torch"] = None
from longship.checkpoint import Checkpoint
ckpt = Checkpoint(sys.argv[1], keep=2)
for n in map(int, sys.argv[2:]):
    ckpt.save(n, {"n": n, "x": b"x" * 1000})
"""


def loaded(directory):
    result = python(LOAD, directory)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def save(directory, *steps):
    result = python(SAVE, directory, *steps)
    assert result.returncode == 0, result.stderr


def test_the_newest_is_loaded_and_older_ones_are_forgotten(tmp_path):
    assert loaded(tmp_path) == "none"
    save(tmp_path, 1, 2, 3, 10)
    assert loaded(tmp_path) == "10 10 1000"
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".data", ".data", ".json", ".json"]


def test_the_same_step_again_replaces_it(tmp_path):
    save(tmp_path, 4, 4)
    assert loaded(tmp_path) == "4 4 1000"
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("damage", ["data cut", "data changed", "data gone", "manifest cut", "manifest of another kind"])
def test_a_damaged_one_is_recognised_and_the_one_before_taken(tmp_path, damage):
    save(tmp_path, 1, 2)
    data, manifest = next(tmp_path.glob("step-000000000002-*.data")), tmp_path / "step-000000000002.json"
    if damage == "data cut":
        os.truncate(data, data.stat().st_size - 1)
    elif damage == "data changed":
        content = bytearray(data.read_bytes())
        content[len(content) // 2] ^= 1
        data.write_bytes(content)
    elif damage == "data gone":
        data.unlink()
    elif damage == "manifest cut":
        os.truncate(manifest, 20)
    else:
        manifest.write_text('["not", "a", "manifest"]')
    assert loaded(tmp_path) == "1 1 1000"


def test_a_manifest_cannot_name_a_file_elsewhere(tmp_path):
    save(tmp_path / "own", 1, 2)
    (tmp_path / "other").write_bytes(b"secret")
    manifest = tmp_path / "own" / "step-000000000002.json"
    data = next((tmp_path / "own").glob("step-000000000002-*.data")).name
    manifest.write_text(manifest.read_text().replace(data, "../other"))
    assert loaded(tmp_path / "own") == "1 1 1000"


FOR_EVER = """
import sys
sys.modules["torch"] = None
from longship.checkpoint import Checkpoint
ckpt = Checkpoint(sys.argv[1], keep=2)
found = ckpt.load()
n = 0 if found is None else found[0]
assert found is None or (found[1]["n"] == n and found[1]["x"] == bytes([n % 251]) * 3_000_000)
print("began", n, flush=True)
while True:
    n += 1
    ckpt.save(n, {"n": n, "x": bytes([n % 251]) * 3_000_000})
    print("saved", n, flush=True)
"""


def test_killed_at_any_moment_nothing_that_was_saved_is_lost(tmp_path):
    """The process is killed at random moments; the next one goes on from the last it had announced, or later."""
    moments = random.Random(4)
    announced = 0
    for _ in range(12):
        process = subprocess.Popen([sys.executable, "-c", FOR_EVER, str(tmp_path)], env=ENVIRONMENT, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        first = process.stdout.readline().split()
        assert first[:1] == ["began"], process.stderr.read()
        assert int(first[1]) >= announced
        time.sleep(moments.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        output, _ = process.communicate()
        announced = max([announced, int(first[1])] + [int(line.split()[1]) for line in output.splitlines() if len(line.split()) == 2])
    assert announced > 0
    save(tmp_path, announced + 100)
    assert not list(tmp_path.glob(".aside-*")), "what killed saves left is removed by the next"
    assert len(list(tmp_path.glob("*.data"))) == 2


def control_page(path, asked):
    path.write_bytes(struct.pack("<QII", 0x6C72746370696873, 1, asked))


DUE = """
import os, struct, sys
sys.modules["torch"] = None
from longship.checkpoint import Checkpoint, wanted
ckpt = Checkpoint(sys.argv[1])
print(wanted(), ckpt.due())
with open(os.environ["LONGSHIP_CONTROL"], "r+b") as page:
    page.seek(12)
    page.write(struct.pack("<I", 1))
print(wanted(), ckpt.due())
ckpt.save(1, {})
print(wanted(), ckpt.due())
"""


def test_due_when_it_is_asked_for_and_not_again_after_it_was_saved(tmp_path):
    control_page(tmp_path / "control", 0)
    result = python(DUE, tmp_path / "checkpoints", LONGSHIP_CONTROL=str(tmp_path / "control"))
    assert result.stdout == "False False\nTrue True\nTrue False\n", result.stderr


def test_due_after_the_time_that_the_job_says(tmp_path):
    script = """
import sys
sys.modules["torch"] = None
import time
from longship.checkpoint import Checkpoint
ckpt = Checkpoint()
assert not ckpt.due()
time.sleep(0.3)
assert ckpt.due()
ckpt.save(7, {"a": 1})
assert not ckpt.due() and ckpt.latest() == 7
"""
    result = python(script, LONGSHIP_CHECKPOINTS=str(tmp_path / "c"), LONGSHIP_CHECKPOINT_EVERY="0.25",
                    LONGSHIP_CHECKPOINT_KEEP="1")
    assert result.returncode == 0, result.stderr


def test_without_a_directory_nothing_is_due_and_saving_says_why(tmp_path):
    script = """
import longship
ckpt = longship.checkpoint.Checkpoint(every=0.0)
assert not ckpt.due() and ckpt.load() is None and ckpt.latest() is None
try:
    ckpt.save(1, {})
except longship.LongshipError as error:
    assert "no directory for checkpoints" in str(error)
else:
    raise AssertionError
"""
    result = python(script)
    assert result.returncode == 0, result.stderr


TRAINING = """
import os, torch
import longship.torch as hvd
from longship.checkpoint import Checkpoint
hvd.init()
ckpt = Checkpoint(os.environ["WHERE"], every=0.0 if hvd.rank() == 0 else None)
found = ckpt.load()
step, state = found if found is not None else (0, {"w": torch.zeros(5)})
assert torch.equal(state["w"], torch.full((5,), float(step)))
every = hvd.allgather_object(step)
assert len(set(every)) == 1, every
for _ in range(3):
    step += 1
    assert ckpt.due(), "rank 0 decides for all"
    ckpt.save(step, {"w": torch.full((5,), float(step)), "rank": hvd.rank()})
assert ckpt.latest() == step
hvd.barrier()
print(step)
"""


def test_goes_on_with_another_number_of_ranks(ranks, tmp_path):
    for size, nodes, expected in [(2, 1, "3"), (3, 2, "6"), (1, 1, "9"), (4, 2, "12")]:
        outputs = ranks.run(TRAINING, size, nodes=nodes, WHERE=str(tmp_path / "checkpoints"))
        assert [output.strip() for output in outputs] == [expected] * size
        ranks.processes.clear()


def test_a_failed_save_is_an_exception_on_every_rank(ranks, tmp_path):
    ranks.run(
        """
import torch
import longship.torch as hvd
from longship.checkpoint import Checkpoint
hvd.init()
ckpt = Checkpoint("where")
hvd.barrier()
try:
    ckpt.save(1, {"cannot be pickled": (lambda: 0)})
except hvd.LongshipError as error:
    assert "cannot save the checkpoint of step 1" in str(error), error
else:
    raise AssertionError
assert ckpt.latest() is None
""",
        2,
    )
