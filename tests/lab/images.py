# SPDX-License-Identifier: Apache-2.0
"""Images with real software for the tests, made once per checkout by the product itself and kept in build/."""

import json
import os
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
STORE = REPOSITORY / "build" / "test-store"


def is_there(program, name):
    """A record of a Longship that did not look for software yet is as good as none: it is made again."""
    environment = os.environ | {"LONGSHIP_STORE": str(STORE)}
    shown = subprocess.run([program, "--json", "image", "show", name], env=environment, capture_output=True, check=False)
    if shown.returncode:
        return False
    if "software" in json.loads(shown.stdout)["facts"]:
        return True
    subprocess.run([program, "image", "rm", name], env=environment, capture_output=True, check=True)
    return False


def image(program, name, suite, *packages):
    """The name of an image with these Debian packages; bootstrapped if it is not there yet."""
    environment = os.environ | {"LONGSHIP_STORE": str(STORE)}
    if subprocess.run([program, "image", "show", name], env=environment, capture_output=True, check=False).returncode:
        words = ["--packages", ",".join(packages)] if packages else []
        made = subprocess.run([program, "image", "bootstrap", f"debian:{suite}", "-t", name, *words], env=environment,
                              text=True, capture_output=True, check=False, timeout=1500)
        assert made.returncode == 0, made.stderr
    return name


def mpi_ring(program, family):
    """mpi-ring:openmpi or mpi-ring:mpich, built as examples/mpi tells; its MPI is found by looking."""
    name = f"mpi-ring:{family}"
    environment = os.environ | {"LONGSHIP_STORE": str(STORE)}
    if not is_there(program, name):
        packages = {"openmpi": ["libopenmpi-dev", "openmpi-bin"], "mpich": ["libmpich-dev", "mpich"]}[family]
        image(program, f"mpi-base:{family}", "bookworm", "gcc", "libc6-dev", *packages)
        directory = REPOSITORY / "examples" / "mpi" / "image"
        made = subprocess.run([program, "image", "build", "-t", name, "-f", directory / family / "Dockerfile", directory],
                              env=environment, text=True, capture_output=True, check=False, timeout=600)
        assert made.returncode == 0, made.stderr
    return name


def mpich_of(program, suite):
    """mpich:SUITE, only the library and its launcher: another version than the host's, of the same ABI."""
    name = f"mpich:{suite}"
    is_there(program, name)
    return image(program, name, suite, "mpich")
