# SPDX-License-Identifier: Apache-2.0
"""The portal's own logic without a browser, and its types."""

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PORTAL = HERE.parents[1] / "portal"


@pytest.fixture(scope="module", autouse=True)
def packages():
    assert (PORTAL / "node_modules").exists(), "portal/node_modules is not there: ./dev build makes it"


def test_the_logic_of_pages_holds():
    done = subprocess.run(["node", HERE / "unit" / "run.mjs"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr


def test_the_types_fit(tools):
    done = subprocess.run([HERE / "node_modules" / ".bin" / "tsc", "-p", PORTAL], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
