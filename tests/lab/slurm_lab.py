# SPDX-License-Identifier: Apache-2.0
"""A Slurm of one's own for a test: started in a temporary directory on free ports, gone afterwards."""

import os
import random
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

SCRIPT = Path(__file__).parent / "slurm" / "slurm-lab.sh"


def free_ports(count):
    """The first of `count` ports that nobody listens on now, below those the kernel gives out by itself."""
    for _ in range(200):
        first = random.randrange(10000, 32000 - count)
        if all(_is_free(first + i) for i in range(0, count, 10)) and all(_is_free(first + i) for i in range(10)):
            return first
    raise RuntimeError("no free ports for a Slurm")


def _is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@contextmanager
def slurm(nodes=2, cpus=4):
    """Yields the environment in which sbatch, salloc and srun find this Slurm."""
    # A short path: munged's socket has to fit into 108 bytes.
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as directory:
        os.chmod(directory, 0o755)
        settings = os.environ | {
            "LAB": directory, "NODES": str(nodes), "CPUS": str(cpus), "PORT0": str(free_ports(401)),
        }
        log = Path(directory) / "lab.log"
        with log.open("w") as output:  # not a pipe: the daemons inherit it
            started = subprocess.run([SCRIPT, "start"], env=settings, stdout=output, stderr=output, check=False)
        try:
            assert started.returncode == 0, log.read_text()
            yield {"SLURM_CONF": f"{directory}/slurm.conf"}
        finally:
            with log.open("a") as output:
                subprocess.run([SCRIPT, "stop"], env=settings, stdout=output, stderr=output, check=False)
