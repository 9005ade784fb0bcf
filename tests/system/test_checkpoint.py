# SPDX-License-Identifier: Apache-2.0
"""examples/digits killed in the middle: it goes on from its checkpoint, also on another number of ranks."""

import json
import signal
import subprocess

import pytest
from conftest import REPOSITORY, wait_until

TRAIN = REPOSITORY / "examples" / "digits" / "train.py"
EPOCHS = 12

pytestmark = pytest.mark.skipif(
    subprocess.run(["/usr/bin/python3", "-c", "import torch, sklearn"], capture_output=True).returncode != 0,
    reason="not installed: python3-torch, python3-sklearn",
)


@pytest.mark.usefixtures("nothing_stays_behind")
def test_a_killed_training_goes_on_and_ends_with_the_same_number_of_epochs(longship, tmp_path):
    checkpoints, work = tmp_path / "checkpoints", tmp_path / "work"
    work.mkdir()
    longship.environment.update(LONGSHIP_CHECKPOINTS=str(checkpoints), LONGSHIP_CHECKPOINT_EVERY="0")
    command = ["/usr/bin/python3", TRAIN, "--epochs", EPOCHS]
    first = longship.start("launch", "-n", "2", *command, cwd=work)
    wait_until(lambda: len(list(checkpoints.glob("*.json"))) >= 2, "two checkpoints", patience=120)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert not (work / "model.pt").exists()

    second = longship("launch", "-n", "3", *command, cwd=work, timeout=300)
    assert second.returncode == 0, second.stderr
    assert "going on after epoch" in second.stdout
    metrics = [json.loads(line) for line in (work / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in metrics[:-1]] == list(range(1, EPOCHS + 1))
    assert metrics[-1]["accuracy"] > 0.8
