# SPDX-License-Identifier: Apache-2.0
"""The portal in Chromium, in front of the real hub with jobs that really run: started once, since that takes seconds."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(REPOSITORY / "tests" / "lab"))

from browser import Browser  # noqa: E402
from hub_lab import HubLab  # noqa: E402
from processes import kill, marked_processes  # noqa: E402

_spec = importlib.util.spec_from_file_location("system_conftest", REPOSITORY / "tests" / "system" / "conftest.py")
system = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(system)

JOB = """version = 1
name = "{name}"
command = {command}
code = "."
[needs]
ranks_per_node = {ranks}
threads_per_rank = 1
walltime = "1h"
[outputs]
keep = {keep}
"""

# Goes on until it is cancelled, and tells of every step.
WALK = """
import longship, math, time
import longship.torch as hvd
hvd.init()
for step in range(1, 100000):
    longship.progress(step, 100000, **{"loss": 0.2 + 2 * math.exp(-step / 100), "samples/s": 4000 + 100 * math.sin(step)})
    print(f"step {step}", flush=True)
    time.sleep(0.05)
"""

# Much more than fits on a page, with one line that is unlike all others near its beginning.
TALK = """
for line in range(60000):
    print(f"line {line:06}: nothing to see here" if line != 1234 else "line 001234: the needle is here")
"""


def pytest_configure(config):
    config.addinivalue_line("markers", "may_complain(text): the browser may say this in its console")


@pytest.fixture(scope="session")
def tools():
    """playwright-core, axe-core and tsc, as package-lock.json says."""
    lock, stamp = HERE / "package-lock.json", HERE / "node_modules" / ".longship-lock"
    if not stamp.exists() or stamp.read_bytes() != lock.read_bytes():
        subprocess.run(["npm", "ci"], cwd=HERE, check=True, capture_output=True)
        stamp.write_bytes(lock.read_bytes())


@pytest.fixture(scope="session")
def browser(tools):
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def new_hub(tmp_path_factory):
    """Makes hubs, each with a home of its own; nothing of them is left at the end."""
    made = []

    def make():
        place = tmp_path_factory.mktemp("hub")
        (place / "home").mkdir()
        longship = system.Longship(system.clean_environment(place / "home"), place)
        longship.environment["LONGSHIP_TEST_MARK"] = str(place)
        lab = HubLab(longship, place / "hub")
        made.append((lab, place))
        return lab.start()

    yield make
    for lab, place in made:
        lab.stop()
        lab.longship.close()
        kill(marked_processes(f"LONGSHIP_TEST_MARK={place}"))


class Jobs:
    """The jobs that most tests look at, by what they are good for."""

    def __init__(self, hub, place):
        self.hub = hub
        self.place = place
        self.waiting = hub.submit(name="large", command=["true"], needs={"nodes": 99})
        self.trained = self.train()
        self.ended(self.trained, "finished")
        self.talker = self.submit("talker", TALK)
        self.failed = self.submit("failing", "raise SystemExit('no such luck')")
        self.ended(self.talker, "finished")
        self.ended(self.failed, "failed")
        self.walker = self.submit("walker", WALK)  # last: it keeps one of the machine's cores
        hub.wait(self.walker, "running")
        system.wait_until(lambda: hub.job(self.walker)["progress"], "the first progress of the walker")

    def ended(self, job, how):
        found = self.hub.wait(job, patience=180)
        said = self.hub.request("GET", f"/v1/jobs/{job}/log?stream=err")[1].decode(errors="replace")
        assert found["state"] == how, (found["reason"], said)

    def submit(self, name, script, ranks=1, keep=()):
        folder = self.place / name
        folder.mkdir()
        (folder / "work.py").write_text(script)
        return self._submit(folder, name, ["/usr/bin/python3", "work.py"], ranks, keep)

    def train(self):
        """examples/digits on two ranks, with this machine's own torch."""
        folder = self.place / "digits"
        folder.mkdir()
        shutil.copy(REPOSITORY / "examples" / "digits" / "train.py", folder)
        command = ["/usr/bin/python3", "train.py", "--epochs", "12"]
        return self._submit(folder, "digits", command, 2, ["model.pt", "metrics.jsonl"])

    def _submit(self, folder, name, command, ranks, keep):
        text = JOB.format(name=name, command=json.dumps(command), ranks=ranks, keep=json.dumps(list(keep)))
        (folder / "job.toml").write_text(text)
        done = self.hub.longship("--json", "submit", folder / "job.toml")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["jobs"][0]


@pytest.fixture(scope="session")
def hub(new_hub):
    return new_hub()


@pytest.fixture(scope="session")
def jobs(hub, tmp_path_factory):
    return Jobs(hub, tmp_path_factory.mktemp("jobs"))


@pytest.fixture
def open_page(browser, request):
    """Opens tabs; at the end of the test their consoles must be empty, and nothing else than the hub was asked."""
    opened = []

    def open_one(hub, path="/", token=True, **options):
        page = browser.open(hub.url, **options)
        opened.append(page)
        return page.go(f"{path}#token={hub.token}" if token else path)

    yield open_one
    allowed = [mark.args[0] for mark in request.node.iter_markers("may_complain")]
    problems = [line for page in opened for line in page.problems() if not any(text in line for text in allowed)]
    for page in opened:
        page.close()
    assert not problems, problems


@pytest.fixture
def page(open_page, hub, jobs):
    return open_page(hub)
