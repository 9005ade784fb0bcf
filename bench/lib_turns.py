# SPDX-License-Identifier: Apache-2.0
"""Groups of ranks that stay and take turns: what is measured starts once, and is stopped (SIGSTOP) while others are measured.

    with Turns(directory) as turns:
        turns.start("ours", ["longship", "launch", …], ranks=2)     # each rank calls take_turns()
        turns.run("ours", 10)                                       # [what the function returned, by rank]

So nobody is in the way of another, not even who polls while it waits, and imports are paid for once.
"""
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

PATIENCE = 300  # seconds for anything


def take_turns(path, function):
    """In a rank: calls the function with each number that it is sent, and sends back what it returns."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(path)
        link.sendall(f"{os.getpid()}\n".encode())
        for line in link.makefile():
            link.sendall((json.dumps(function(int(line))) + "\n").encode())
    sys.stdout.flush()
    os._exit(0)  # Horovod and gloo take their time to say good-bye


class Group:
    def __init__(self, directory, name, words):
        self.path = Path(directory) / name
        self.complaints = (Path(directory) / f"{name}.err").open("w+")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen()
        self.listener.settimeout(PATIENCE)
        self.pids = []
        self.process = subprocess.Popen([*map(str, words), str(self.path)], stdout=subprocess.DEVNULL, stderr=self.complaints,
                                        start_new_session=True)

    def greet(self, ranks):
        try:
            self.links = [self.listener.accept()[0] for _ in range(ranks)]
        except TimeoutError:
            self.fail("did not start")
        for link in self.links:
            link.settimeout(PATIENCE)
        self.files = [link.makefile() for link in self.links]
        self.pids = [int(file.readline()) for file in self.files]

    def run(self, number):
        self.signal(signal.SIGCONT)
        for link in self.links:
            link.sendall(f"{number}\n".encode())
        told = [file.readline() for file in self.files]
        self.signal(signal.SIGSTOP)
        if not all(told):
            self.fail("ended early")
        return [json.loads(line) for line in told]

    def signal(self, number):
        for pid in self.pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                self.fail("is gone")

    def fail(self, why):
        self.complaints.seek(0)
        sys.exit(f"{' '.join(map(str, self.process.args))}: {why}\n{self.complaints.read()}")

    def end(self):
        """The ranks first, which a launcher may have put into groups of their own."""
        for kill, number in [*((os.kill, pid) for pid in self.pids), (os.killpg, self.process.pid)]:
            try:
                kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.listener.close()
        self.complaints.close()


class Turns:
    def __init__(self, directory):
        self.directory = directory
        self.groups = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for group in self.groups.values():
            group.end()

    def start(self, name, words, ranks):
        self.groups[name] = Group(self.directory, name, words)
        self.groups[name].greet(ranks)

    def run(self, name, number):
        return self.groups[name].run(number)
