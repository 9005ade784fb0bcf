# SPDX-License-Identifier: Apache-2.0
"""The package as pip installs it: with the library inside, in an environment that has nothing else of Longship."""
import os
import shutil
import subprocess
import sys

from ranks import BOX_SIDE, ROOT

ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith(("LONGSHIP", "PYTHON", "PIP"))}


def run(*words, **extra):
    result = subprocess.run([*map(str, words)], env=ENVIRONMENT | extra, text=True, capture_output=True, timeout=240)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_pip_installs_a_wheel_that_carries_the_library(tmp_path):
    shutil.copytree(ROOT / "python", tmp_path / "python", ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    run(sys.executable, "-m", "pip", "wheel", "--no-index", "--no-build-isolation", "--no-deps", "-w", tmp_path, tmp_path / "python",
        LONGSHIP_LIBRARY=str(BOX_SIDE / "liblongship.so"))
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith("longship-0.1.0-py3-none-manylinux_2_28_")
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    run(sys.executable, "-m", "pip", "--python", tmp_path / "venv" / "bin" / "python", "install", "--no-index", wheel)
    script = """
import longship, longship.checkpoint, longship.horovod, pathlib
from longship._library import library
library.init()
print(library.rank(), library.size(), pathlib.Path(longship.__file__).parent.joinpath("py.typed").exists())
"""
    assert run(tmp_path / "venv" / "bin" / "python", "-c", script) == "0 1 True\n"
