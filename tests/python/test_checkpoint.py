# SPDX-License-Identifier: Apache-2.0
"""longship.checkpoint: killed at any moment, with damaged files, and on other numbers of ranks than before."""
import os
import random
import signal
import struct
import subprocess
import time

import pytest
from ranks import BOX_SIDE, PYTHON

ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("LONGSHIP")}
ENVIRONMENT["PYTHONPATH"] = str(BOX_SIDE / "python")


def python(script, *words, **variables):
    return subprocess.run([PYTHON, "-c", script, *map(str, words)], env=ENVIRONMENT | variables, text=True,
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


def test_a_damaged_one_does_not_push_out_what_was_saved_after_the_one_before_it(tmp_path):
    one = SAVE.replace("keep=2", "keep=1")
    assert python(one, tmp_path, 5).returncode == 0
    next(tmp_path.glob("step-000000000005-*.data")).write_bytes(b"damaged")
    assert loaded(tmp_path) == "none"
    assert python(one, tmp_path, 3, 4).returncode == 0
    assert loaded(tmp_path) == "4 4 1000"
    assert not list(tmp_path.glob("step-000000000003*"))


@pytest.mark.parametrize("step, said", [("-1", "ValueError: step=-1: expected a number from 0"),
                                        ("10**12", "ValueError: step=1000000000000: expected a number"),
                                        ("1.5", "TypeError: step=1.5: expected a whole number"),
                                        ("None", "TypeError: step=None: expected a whole number")])
def test_a_step_that_no_name_of_a_file_can_be_made_of_is_refused(tmp_path, step, said):
    result = python(SAVE.replace("map(int, sys.argv[2:])", f"[{step}]"), tmp_path)
    assert result.returncode == 1 and result.stderr.strip().splitlines()[-1].startswith(said), result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words, variables, said", [
    ("keep=0", {}, "keep=0: at least one checkpoint has to be kept"),
    ("keep='x'", {}, "keep='x': expected a number"), ("every='soon'", {}, "every='soon': expected a number"),
    ("", {"LONGSHIP_CHECKPOINT_EVERY": "soon"}, "LONGSHIP_CHECKPOINT_EVERY=soon: not a number for every")])
def test_what_cannot_be_kept_or_waited_for_is_refused(words, variables, said):
    result = python(f"from longship.checkpoint import Checkpoint\nCheckpoint({words})", **variables)
    assert result.returncode == 1 and result.stderr.strip().endswith("ValueError: " + said), result.stderr


def test_numpys_numbers_are_steps_too(tmp_path):
    result = python(SAVE.replace("map(int, sys.argv[2:])", "[__import__('numpy').int64(7)]")
                    .replace('{"n": n,', '{"n": 7,'), tmp_path)
    assert result.returncode == 0, result.stderr
    assert loaded(tmp_path) == "7 7 1000"


def test_a_rank_that_has_not_met_the_others_does_not_do_alone_what_is_for_all(tmp_path):
    script = """
import sys
sys.modules["torch"] = None
import longship
from longship.checkpoint import Checkpoint, Sampler
ckpt = Checkpoint(sys.argv[1])
for what in (lambda: ckpt.save(1, {}), lambda: list(Sampler(4))):
    try:
        what()
    except longship.LongshipError as error:
        assert "this is one of 2 ranks, which have not met: call longship.torch.init() first" in str(error), error
    else:
        raise AssertionError
print(ckpt.load())
"""
    save(tmp_path, 1)
    result = python(script, tmp_path, RANK="1", WORLD_SIZE="2")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("(1, {")


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
        process = subprocess.Popen([PYTHON, "-c", FOR_EVER, str(tmp_path)], env=ENVIRONMENT, text=True,
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


class NoMemory:
    def __reduce__(self):
        raise MemoryError


try:
    ckpt.save(1, {"says nothing": NoMemory()})
except hvd.LongshipError as error:
    assert "cannot save the checkpoint of step 1: MemoryError" in str(error), error
else:
    raise AssertionError
assert ckpt.latest() is None
""",
        2,
    )


PARTS = """
import os, random, torch
import longship.torch as hvd
from longship import checkpoint
hvd.init()
rank, size = hvd.rank(), hvd.size()
ckpt = checkpoint.Checkpoint(os.environ["WHERE"], background=True)
model = torch.nn.Sequential(torch.nn.Linear(40, 30), torch.nn.Linear(30, 20))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
sampler = checkpoint.Sampler(100, seed=5)
found = ckpt.load()
step = 0
if found is not None:
    step, state = found
    model.load_state_dict(state["model"]); optimizer.load_state_dict(state["optimizer"])
    sampler.load_state_dict(state["sampler"])
    assert sampler.state_dict()["position"] == state["seen"] and state["shape"] == (1, 2)
    assert torch.equal(model[0].weight, torch.full((30, 40), float(step))), "every part is where it was"
    assert torch.equal(optimizer.state[model[0].weight]["momentum_buffer"], torch.full((30, 40), float(step)))
    if os.environ["BEFORE"] == str(size):
        checkpoint.restore_random_state(ckpt.own["random"])
        assert ckpt.own["rank"] == rank and torch.rand(3).tolist() == ckpt.own["next"]
    else:
        assert ckpt.own is None
sampler.set_epoch(sampler.epoch)
step += 1
mine = list(sampler)[:5]
sampler.done(5)
every = hvd.allgather_object(mine)
assert len({one for part in every for one in part}) == 5 * size, "no sample twice"
with torch.no_grad():
    for p in model.parameters():
        p.fill_(float(step))
        optimizer.state[p]["momentum_buffer"] = torch.full_like(p, float(step))
random_state = checkpoint.random_state()
own = {"rank": rank, "random": random_state, "next": torch.rand(3).tolist()}
ckpt.save(step, {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "sampler": sampler.state_dict(),
                 "seen": sampler.state_dict()["position"], "shape": (1, 2)}, own=own)
with torch.no_grad():
    model[0].weight.zero_()  # what is being written does not notice
if step % 2 == 0:
    ckpt.wait()
    assert ckpt.latest() == step
print(step)
"""


def test_every_rank_writes_a_part_in_the_background(ranks, tmp_path):
    where, before = tmp_path / "checkpoints", 0
    for step, (size, nodes) in enumerate([(2, 1), (2, 2), (3, 1), (1, 1)], start=1):
        outputs = ranks.run(PARTS, size, nodes=nodes, WHERE=str(where), BEFORE=str(before))
        assert [output.strip() for output in outputs] == [str(step)] * size
        assert len(list(where.glob(f"step-{step:012d}-*.data"))) == size
        ranks.processes.clear()
        before = size
    # A part that is not what it was: the one before is taken, as a whole.
    newest = min(where.glob("step-000000000003-*.data"), key=lambda path: path.name)
    (where / "step-000000000004.json").unlink()
    newest.write_bytes(newest.read_bytes()[:-1])
    assert ranks.run(PARTS, 2, WHERE=str(where), BEFORE="2")[0].strip() == "3"


def test_states_that_are_not_alike_are_refused(ranks):
    ranks.run(
        """
import torch
import longship.torch as hvd
from longship.checkpoint import Checkpoint
hvd.init()
ckpt = Checkpoint("where", background=True)
hvd.barrier()
ckpt.save(1, {"w": torch.zeros(1000 + hvd.rank())})
try:
    ckpt.wait()
except hvd.LongshipError as error:
    assert "the tensors of rank 1 have other shapes or types than those of rank 0" in str(error), error
else:
    raise AssertionError
assert ckpt.latest() is None
""",
        2,
    )


def test_a_checkpoint_of_the_first_version_is_read(tmp_path):
    import hashlib
    import json
    import pickle

    data = pickle.dumps({"n": 9, "x": b"old"}, protocol=4)
    (tmp_path / "step-000000000009-0badcafe.data").write_bytes(data)
    (tmp_path / "step-000000000009.json").write_text(json.dumps({
        "version": 1, "step": 9, "data": "step-000000000009-0badcafe.data", "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(), "format": "pickle"}))
    assert loaded(tmp_path) == "9 9 3"


def test_the_sampler_covers_everything_once():
    script = """
import os
from longship.checkpoint import Sampler
for size in (1, 2, 3, 7):
    os.environ["WORLD"] = str(size)
    import longship.checkpoint.among_ranks as among
    seen = []
    for rank in range(size):
        among.rank, among.size = (lambda r=rank: r), (lambda s=size: s)
        one = Sampler(20, seed=1)
        one.done(2)  # 2 * size of them
        part = list(one)
        assert len(part) == len(one)
        seen.append(part)
    assert len({len(part) for part in seen}) == 1, "ranks would wait for each other"
    left = {index for part in seen for index in part}
    assert len(left) == 20 - 2 * size, (size, left)
    assert list(Sampler(20, seed=1)) != list(Sampler(20, seed=2))
    a, b = Sampler(5, shuffle=False), Sampler(5)
    b.set_epoch(1)
    assert b.state_dict() == {"epoch": 1, "position": 0, "seed": 0}
"""
    result = python(script)
    assert result.returncode == 0, result.stderr
