# SPDX-License-Identifier: Apache-2.0
"""A hub of one's own for a test: the real program in a temporary directory on a free port, killed and restarted at will."""

import json
import signal
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from processes import kill, marked_processes


class HubLab:
    """`longship up` (or hub, with command="hub"), and a client of its API that needs nothing but the standard library."""

    def __init__(self, longship, directory, command="up", words=()):
        self.longship = longship
        self.directory = Path(directory)
        self.command = command
        self.words = list(words)
        self.process = None
        self.port = 0
        longship.environment["LONGSHIP_HUB_DIR"] = str(self.directory)

    # --- its life ---

    def start(self, failpoints=None, wait=True):
        environment = dict(self.longship.environment)
        if failpoints:
            environment["LONGSHIP_FAILPOINTS"] = failpoints
        self.log = open(f"{self.directory}.log", "a")
        where = ["--port", str(self.port)] if self.command == "up" else ["--listen", f"127.0.0.1:{self.port}"]
        self.process = self.longship.start(self.command, *where, *self.words, env=environment, stdout=self.log,
                                           stderr=self.log)
        if wait:
            self._wait_until_it_answers()
        return self

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=30)

    def ended(self):
        return self.process.poll() is not None

    def restart(self):
        """The same port: agents and people find it where it was."""
        self.kill()
        return self.start()

    def said(self):
        return Path(f"{self.directory}.log").read_text(errors="replace")

    def answers(self):
        try:
            told = json.loads((self.directory / "hub.json").read_text())
            # A killed hub leaves its file, by which clients wait for the next one: it must stay, and not mislead us.
            if told["pid"] != self.process.pid:
                raise ValueError("the file of the hub before")
            self.url = told["url"]
            self.token = (self.directory / "token").read_text().strip()
            self.port = int(self.url.rsplit(":", 1)[1])
            return self.get("/v1/health")["status"] == "ok"
        except (OSError, ValueError, KeyError):
            time.sleep(0.05)
            return False

    def _wait_until_it_answers(self, patience=30):
        deadline = time.monotonic() + patience
        while not self.answers():
            assert not self.ended(), f"the hub ended: {self.said()}"
            assert time.monotonic() < deadline, f"the hub does not answer: {self.said()}"

    # --- its API ---

    def request(self, method, path, body=None, headers=None, token=None):
        """(status, body): no exception for an HTTP error."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method, headers={
            "Authorization": f"Bearer {token or self.token}", "Content-Type": "application/json", **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def get(self, path):
        status, body = self.request("GET", path)
        assert status == 200, (path, status, body)
        return json.loads(body)

    def submit(self, **job):
        """A job given as its JSON; returns its id. `code` is not carried: use `longship submit` for that."""
        count = job.pop("count", 1)
        job = {"version": 1, "name": "test", "command": ["true"], **job}
        status, body = self.request("POST", "/v1/jobs", {"job": job, "code": None, "count": count})
        assert status == 201, (status, body)
        jobs = json.loads(body)["jobs"]
        return jobs[0] if count == 1 else jobs

    def job(self, name):
        return self.get(f"/v1/jobs/{name}")

    def wait(self, name, *states, patience=60):
        """Until the job is in one of the states (or has ended at all)."""
        states = states or ("finished", "failed", "cancelled")
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            try:
                job = self.job(name)
                if job["state"] in states:
                    return job
            except (OSError, AssertionError):
                pass  # it is being restarted
            time.sleep(0.1)
        raise AssertionError(f"{name} is not {' or '.join(states)} after {patience} s: {self.job(name)}")


@contextmanager
def running_hub(longship, tmp_path):
    """With its own agent; what it started ends with it."""
    longship.environment["LONGSHIP_TEST_MARK"] = str(tmp_path)
    lab = HubLab(longship, tmp_path / "hub")
    yield lab.start()
    lab.stop()
    kill(marked_processes(f"LONGSHIP_TEST_MARK={tmp_path}"))
