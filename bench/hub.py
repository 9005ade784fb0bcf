# SPDX-License-Identifier: Apache-2.0
"""Small tasks through the hub: no-ops, and /bin/true, beside HyperQueue, GNU parallel and xargs.

A task of ours is submitted through the HTTP API, leased to an agent, carried out by a pilot process of its own, and
committed to disk (SQLite, full sync) before it counts. A no-op is the same without the process: the pilot commits at
once. HyperQueue is its own LocalCluster with a worker of as many cores, in memory, not durable: PyPI's build has no
journal and no no-op, so its figure beside our no-ops is /bin/true too. GNU parallel has no server.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from lib import Bench, scratch_directory

REPOSITORY = Path(__file__).resolve().parent.parent
TOOLS = REPOSITORY / ".tools" / "hyperqueue"
CORES = len(os.sched_getaffinity(0))


def main():
    bench = Bench(__doc__, lambda parser: (
        parser.add_argument("--noops", type=int, default=60000, help="no-op tasks per measurement"),
        parser.add_argument("--tasks", type=int, default=2000, help="/bin/true tasks per measurement")))
    noops, tasks = bench.options.noops, bench.options.tasks
    longship = Path(os.environ.get("LONGSHIP", REPOSITORY / "build" / "bin" / "longship"))
    with scratch_directory() as scratch:
        runs = {"parallel": lambda: tasks / gnu_parallel(tasks), "xargs": lambda: tasks / xargs(tasks)}
        with hub(longship, scratch / "pretend", pretend=True) as pretending, \
                hub(longship, scratch / "real") as real, hyperqueue(bench) as peer:
            runs["no-op"] = lambda: noops / pretending.carry_out(noops)
            runs["true"] = lambda: tasks / real.carry_out(tasks)
            image = small_image(bench, longship)
            if image:
                runs["boxed"] = lambda: tasks / real.carry_out(tasks, image=image)
            if peer:
                runs["hyperqueue"] = lambda: tasks / peer(tasks)
            rates = bench.interleave(runs, rounds=5)
    report(bench, rates)
    bench.end()


def report(bench, rates):
    peer = rates.get("hyperqueue")
    bench.at_least("no-op tasks through the hub, durable", rates["no-op"], "tasks/s", 20000)
    bench.at_least("/bin/true through the hub, durable", rates["true"], "tasks/s", 1500)
    if peer:
        bench.figure("no-op through the hub / /bin/true in HyperQueue", rates["no-op"], peer, "tasks/s")
        bench.figure("/bin/true: hub / HyperQueue", rates["true"], peer, "tasks/s", at_least=1)
    for name in ("parallel", "xargs"):
        bench.figure(f"/bin/true: hub / {name}", rates["true"], rates[name], "tasks/s",
                     at_least=1 if name == "parallel" else None)
    if "boxed" in rates:
        bench.figure("/bin/true in a box: hub / GNU parallel without a box", rates["boxed"], rates["parallel"], "tasks/s")


class Running:
    def __init__(self, directory):
        self.url = json.loads((directory / "hub.json").read_text())["url"]
        self.token = (directory / "token").read_text().strip()

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method, headers={
            "Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
            data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=600) as response:
            return json.loads(response.read())

    def carry_out(self, count, image=None):
        """Seconds from the submission until the last of them is committed."""
        job = {"version": 1, "name": "bench", "command": ["/bin/true"], "launch": "single",
               "needs": {"threads_per_rank": 1}} | ({"image": image} if image else {})
        done = self.finished()
        begin = time.perf_counter()
        self.ask("POST", "/v1/jobs", {"job": job, "code": None, "count": count})
        while self.finished() < done + count:
            time.sleep(0.01)
        return time.perf_counter() - begin

    def finished(self):
        counts = self.ask("GET", "/v1/jobs?limit=1")["counts"]
        if counts.get("failed"):
            sys.exit(f"tasks failed: {self.ask('GET', '/v1/jobs?state=failed&limit=1')}")
        return counts.get("finished", 0)


@contextmanager
def hub(longship, directory, pretend=False):
    environment = os.environ | {"LONGSHIP_HUB_DIR": str(directory)} | ({"LONGSHIP_PILOT_PRETENDS": "1"} if pretend else {})
    with open(f"{directory}.log", "w") as log:
        process = subprocess.Popen([longship, "up", "--port", "0"], env=environment, stdin=subprocess.DEVNULL,
                                   stdout=log, stderr=log)
    try:
        while not (directory / "hub.json").exists():
            if process.poll() is not None:
                sys.exit(f"longship up ended: {Path(f'{directory}.log').read_text()}")
            time.sleep(0.05)
        yield Running(directory)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


@contextmanager
def hyperqueue(bench):
    """A function that runs so many tasks and tells the seconds; None if it cannot be had."""
    if not (TOOLS / "bin" / "python").exists():
        made = subprocess.run([sys.executable, "-m", "venv", TOOLS]).returncode == 0 and subprocess.run(
            [TOOLS / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "hyperqueue==0.27.0"]).returncode == 0
        if not made:
            shutil.rmtree(TOOLS, ignore_errors=True)
            bench.say("HyperQueue is not measured: it cannot be installed")
            yield None
            return
    server = subprocess.Popen([TOOLS / "bin" / "python", "-c", HYPERQUEUE, str(CORES)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def run(count):
        server.stdin.write(f"{count}\n")
        server.stdin.flush()
        for line in server.stdout:
            if line.startswith("seconds "):
                return float(line.split()[1])
        sys.exit("HyperQueue ended")

    try:
        yield run
    finally:
        server.stdin.close()
        server.wait()


HYPERQUEUE = """
import sys, time
from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig

with LocalCluster() as cluster:
    cluster.start_worker(WorkerConfig(cores=int(sys.argv[1])))
    client = cluster.client()
    for line in sys.stdin:
        job = Job()
        for _ in range(int(line)):
            job.program(["/bin/true"], stdout=None, stderr=None)
        begin = time.perf_counter()
        client.wait_for_jobs([client.submit(job)])
        print("seconds", time.perf_counter() - begin, flush=True)
"""


def gnu_parallel(count):
    begin = time.perf_counter()
    subprocess.run(["parallel", "-j", str(CORES), "/bin/true"], input="\n".join(map(str, range(count))), text=True,
                   check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


def xargs(count):
    begin = time.perf_counter()
    subprocess.run(["xargs", "-P", str(CORES), "-n", "1", "/bin/true"], input="\n".join(map(str, range(count))), text=True,
                   check=True)
    return time.perf_counter() - begin


def small_image(bench, longship):
    name = "bench-small"
    if subprocess.run([longship, "image", "show", name], capture_output=True).returncode != 0:
        made = subprocess.run([longship, "image", "bootstrap", "debian:bookworm", "-t", name], capture_output=True, text=True)
        if made.returncode != 0:
            bench.say(f"boxed tasks are not measured: {made.stderr.strip().splitlines()[-1]}")
            return None
    return name


if __name__ == "__main__":
    main()
