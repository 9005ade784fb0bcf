# SPDX-License-Identifier: Apache-2.0
"""A registry of one's own for a test: Debian's docker-registry in a temporary directory, with password and TLS if wanted."""

import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from token_server import ISSUER, SERVICE

CONFIGURATION = """
version: 0.1
log: {{level: warn}}
storage:
  filesystem: {{rootdirectory: {directory}/data}}
  delete: {{enabled: true}}
http:
  addr: 127.0.0.1:{port}
{tls}
{auth}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_certificate(directory):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", f"{directory}/key.pem",
                    "-out", f"{directory}/cert.pem"], check=True, capture_output=True)


def bcrypt_line(user, password):
    return subprocess.run(["htpasswd", "-nbB", user, password], check=True, capture_output=True, text=True).stdout.strip()


class Registry:
    def __init__(self, host, directory, certificate):
        self.host, self.directory, self.certificate = host, Path(directory), certificate


@contextmanager
def registry(user=None, password=None, tls=False, tokens=None):
    """Yields a Registry; .host is what stands before the slash of a reference. `tokens`: a token_server.TokenServer that it
    sends its callers to."""
    with tempfile.TemporaryDirectory(prefix="registry-") as directory:
        port = free_port()
        lines = {"tls": "", "auth": ""}
        if tls:
            make_certificate(directory)
            lines["tls"] = f"  tls: {{certificate: {directory}/cert.pem, key: {directory}/key.pem}}"
        if user:
            Path(directory, "htpasswd").write_text(bcrypt_line(user, password) + "\n")
            lines["auth"] = f"auth: {{htpasswd: {{realm: lab, path: {directory}/htpasswd}}}}"
        if tokens:
            lines["auth"] = (f"auth: {{token: {{realm: '{tokens.realm}', service: \"{SERVICE}\", issuer: {ISSUER}, "
                             f"rootcertbundle: {tokens.directory}/token-cert.pem}}}}")
        config = Path(directory, "config.yml")
        config.write_text(CONFIGURATION.format(directory=directory, port=port, **lines))
        with open(f"{directory}/log", "w") as log:
            process = subprocess.Popen(["docker-registry", "serve", config], stdout=log, stderr=log)
        try:
            _wait_until_it_listens(port, process, f"{directory}/log")
            # "localhost" is trusted without TLS; with TLS the name in the certificate counts.
            yield Registry(f"localhost:{port}", directory, f"{directory}/cert.pem" if tls else None)
        finally:
            process.terminate()
            process.wait()


def _wait_until_it_listens(port, process, log):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        assert process.poll() is None, Path(log).read_text()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"the registry does not answer: {Path(log).read_text()}")
