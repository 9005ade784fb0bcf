# SPDX-License-Identifier: Apache-2.0
"""The hub's side of an agent's stdio, played by a test: frames as src/message/hub_messages.h tells them."""

import json
import os
import struct
import subprocess
import threading
import time


class PlayedHub:
    """Starts `longship agent --stdio` and collects what it says."""

    def __init__(self, longship, file, failpoints=None, **options):
        environment = dict(longship.environment)
        if failpoints:
            environment["LONGSHIP_FAILPOINTS"] = failpoints
        with open(longship.directory / "agent.log", "a") as log:
            self.process = longship.start("agent", "--stdio", "--site-file", file, env=environment,
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, **options)
        longship.running.remove(self.process)  # its stdio is ours, also when it is over
        self.said = []
        self.arrived = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        stream = self.process.stdout.buffer
        while len(size := stream.read(4)) == 4:
            frame = stream.read(struct.unpack("<I", size)[0])
            length = struct.unpack("<I", frame[:4])[0]
            message = json.loads(frame[4:4 + length])
            message["payload"] = frame[4 + length:]
            with self.arrived:
                self.said.append(message)
                self.arrived.notify_all()

    def send(self, kind, payload=b"", **fields):
        text = json.dumps({"kind": kind, **fields}).encode()
        frame = struct.pack("<I", len(text)) + text + payload
        self.process.stdin.buffer.write(struct.pack("<I", len(frame)) + frame)
        self.process.stdin.buffer.flush()

    def wait(self, condition, what, patience=30):
        deadline = time.monotonic() + patience
        with self.arrived:
            while True:
                found = next((message for message in self.said if condition(message)), None)
                if found:
                    return found
                left = deadline - time.monotonic()
                assert left > 0, f"waited in vain for {what}; it said {self.said}"
                assert self.process.poll() is None or left > patience - 2, f"the agent ended before {what}"
                self.arrived.wait(min(left, 0.2))

    def welcome(self, seen=0, assignments=()):
        hello = self.wait(lambda m: m["kind"] == "hello", "hello")
        self.send("welcome", seen=seen)
        self.send("want", assignments=list(assignments))
        return hello

    def facts(self):
        with self.arrived:
            return [fact for message in self.said if message["kind"] == "facts" for fact in message["facts"]]

    def wait_fact(self, kind, attempt, patience=30):
        def there(message):
            return message["kind"] == "facts" and any(
                fact["kind"] == kind and fact["attempt"] == attempt for fact in message["facts"])
        self.wait(there, f"{kind} {attempt}", patience)
        return next(f for f in self.facts() if f["kind"] == kind and f["attempt"] == attempt)

    def hang_up(self):
        self.process.stdin.close()
        return self.process.wait(timeout=30)


def assignment(attempt, script, queue="batch", **job):
    name = attempt.rsplit("-", 1)[0]
    spec = {"version": 1, "name": name, "command": ["sh", "-c", script], **job}
    return {"attempt": attempt, "job": json.dumps(spec), "owner": "ada", "queue": queue}


def site_file(directory, spool, **accept):
    path = directory / "site.toml"
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in accept.items())
    path.write_text(f'version = 1\nname = "here"\nbatch = "local"\nspool = "{spool}"\nstore = "{directory}/store"\n'
                    f'[node]\narch = "{os.uname().machine}"\ncores = 4\nmemory = "4GiB"\n'
                    f'[[queue]]\nname = "batch"\n[accept]\n{lines}')
    return path
