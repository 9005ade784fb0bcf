# SPDX-License-Identifier: Apache-2.0
"""Images with real software for the tests, made once per checkout by the product itself and kept in build/."""

import os
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
STORE = REPOSITORY / "build" / "test-store"


def image(program, name, suite, *packages):
    """The name of an image with these Debian packages; bootstrapped if it is not there yet."""
    environment = os.environ | {"LONGSHIP_STORE": str(STORE)}
    if subprocess.run([program, "image", "show", name], env=environment, capture_output=True, check=False).returncode:
        words = ["--packages", ",".join(packages)] if packages else []
        made = subprocess.run([program, "image", "bootstrap", f"debian:{suite}", "-t", name, *words], env=environment,
                              text=True, capture_output=True, check=False, timeout=1500)
        assert made.returncode == 0, made.stderr
    return name
