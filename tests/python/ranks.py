# SPDX-License-Identifier: Apache-2.0
"""Starts scripts on several ranks by hand: the environment that a launcher would set, and nothing else."""
import os
import pathlib
import secrets
import socket
import subprocess
import sys
import textwrap

PATIENCE = 400  # seconds until a rank hangs for sure: a new torch takes a minute to load on a busy machine
ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("LONGSHIP_TEST_PYTHON", sys.executable)  # another one, with another torch
BOX_SIDE = pathlib.Path(os.environ.get("LONGSHIP_PREFIX", ROOT / "build")).resolve() / "lib" / "longship"


class Ranks:
    """Processes of one job; ``start`` returns at once, ``finish`` waits and returns what each printed."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self.processes = []

    def start(self, script: str, size: int, nodes: int = 1, **extra: str) -> list:
        path = self.directory / "script.py"
        path.write_text(textwrap.dedent(script))
        listener = socket.create_server(("127.0.0.1", 0))
        listener.set_inheritable(True)
        secret = secrets.token_hex(16)
        for rank in range(size):
            environment = dict(
                os.environ,
                RANK=str(rank),
                WORLD_SIZE=str(size),
                LONGSHIP_NODE=f"node{rank * nodes // size}",
                LONGSHIP_RENDEZVOUS=f"127.0.0.1:{listener.getsockname()[1]}",
                LONGSHIP_SECRET=secret,
                OMP_NUM_THREADS="1",
                PYTHONPATH=str(BOX_SIDE / "python"),
                **extra,
            )
            if rank == 0:
                environment["LONGSHIP_RENDEZVOUS_FD"] = str(listener.fileno())
            self.processes.append(
                subprocess.Popen(
                    [PYTHON, str(path)],
                    env=environment,
                    cwd=self.directory,
                    pass_fds=[listener.fileno()] if rank == 0 else [],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        listener.close()
        return self.processes

    def finish(self, timeout: float = PATIENCE) -> list:
        results = [process.communicate(timeout=timeout) for process in self.processes]
        for process, (_, errors) in zip(self.processes, results):
            assert process.returncode == 0, errors
        return [output for output, _ in results]

    def run(self, script: str, size: int, **options) -> list:
        self.start(script, size, **options)
        return self.finish()

    def kill(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
