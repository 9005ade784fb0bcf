# SPDX-License-Identifier: Apache-2.0
"""A login node of one's own for a test: Debian's openssh-server on loopback, with keys that exist as long as it does."""

import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

PROGRAM = shutil.which("sshd") or "/usr/sbin/sshd"  # it wants to be called by its whole path

SERVER = """
ListenAddress 127.0.0.1
Port {port}
HostKey {directory}/host_key
PidFile {directory}/sshd.pid
AuthorizedKeysFile {directory}/authorized_keys
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
PermitUserEnvironment no
AcceptEnv LONGSHIP_* SLURM_CONF
{environment}
"""

CLIENT = """
Host *
  IdentityFile {directory}/client_key
  IdentitiesOnly yes
  UserKnownHostsFile {directory}/known_hosts
  StrictHostKeyChecking yes
  GlobalKnownHostsFile /dev/null
"""


class LoginNode:
    """.address is user@127.0.0.1, .port its port; .config is what `ssh -F` needs to get in without a question."""

    def __init__(self, directory, port, process):
        self.directory, self.port, self.process = Path(directory), port, process
        self.address = f"{getpass.getuser()}@127.0.0.1"
        self.config = self.directory / "client_config"

    def command(self, *words):
        return ["ssh", "-F", str(self.config), "-p", str(self.port), self.address, *words]

    def run(self, *words, **options):
        return subprocess.run(self.command(*words), text=True, capture_output=True, timeout=60, check=False, **options)

    def program_directory(self):
        """To be put first in PATH: an `ssh` that finds this node's keys, as a user's own ~/.ssh/config would."""
        place = self.directory / "bin"
        place.mkdir(exist_ok=True)
        (place / "ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.config} "$@"\n')
        (place / "ssh").chmod(0o755)
        return str(place)

    def said(self):
        return (self.directory / "log").read_text(errors="replace")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return Path(f"{path}.pub").read_text()


def wait_until_it_listens(process, port, log, patience=15):
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        assert process.poll() is None, f"sshd ended: {log.read_text()}"
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.02)
    raise AssertionError(f"sshd does not listen on port {port}: {log.read_text()}")


@contextmanager
def login_node(environment=None):
    """Yields a LoginNode; `environment` is what every session there has (SetEnv)."""
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where sshd, as root, locks itself in
    with tempfile.TemporaryDirectory(prefix="sshd-") as name:
        directory, port = Path(name), free_port()
        host, client = make_key(directory / "host_key"), make_key(directory / "client_key")
        (directory / "authorized_keys").write_text(client)
        (directory / "known_hosts").write_text(f"[127.0.0.1]:{port} {host}")
        settings = " ".join(f'"{key}={value}"' for key, value in (environment or {}).items())
        (directory / "server_config").write_text(SERVER.format(
            directory=directory, port=port, environment=f"SetEnv {settings}" if settings else ""))
        (directory / "client_config").write_text(CLIENT.format(directory=directory))
        log = directory / "log"
        with log.open("w") as output:
            process = subprocess.Popen([PROGRAM, "-D", "-e", "-f", str(directory / "server_config")],
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            wait_until_it_listens(process, port, log)
            yield LoginNode(directory, port, process)
        finally:
            process.terminate()
            process.wait(timeout=10)
