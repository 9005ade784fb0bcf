# SPDX-License-Identifier: Apache-2.0
"""One build serves every torch: the tests of the torch front once more, with the newest one from Python's package index."""
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import ROOT

sys.path.insert(0, str(ROOT / "tests" / "lab"))
from newest_torch import newest_torch  # noqa: E402

HERE = Path(__file__).parent
FRONT = ["test_operations.py", "test_quick.py", "test_torch.py", "test_training.py", "test_checkpoint.py", "test_horovod.py"]

pytestmark = pytest.mark.skipif(not os.environ.get("LONGSHIP_TEST_ALL"), reason="torch from the package index is large: --all")


def test_the_torch_front_with_the_newest_torch(tmp_path):
    try:
        python = newest_torch()
    except RuntimeError as why:
        pytest.skip(str(why))
    version = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=True)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'again'}"]
    done = subprocess.run([*words, *(HERE / name for name in FRONT)], capture_output=True, text=True,
                          env=os.environ | {"LONGSHIP_TEST_PYTHON": str(python)})
    assert done.returncode == 0, f"torch {version.stdout}{done.stdout[-8000:]}"
