# SPDX-License-Identifier: Apache-2.0
"""What all system tests share: the real program, places of their own, and the check that nothing stays behind."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
LAB = REPOSITORY / "tests" / "lab"
PROGRAM = Path(os.environ.get("LONGSHIP", REPOSITORY / "build" / "bin" / "longship"))

sys.path.insert(0, str(LAB))
from processes import marked_processes  # noqa: E402

# Whoever is started in the background of a script, or by nohup, ignores these, and so would all that the tests start: what
# ignores a signal from the beginning cannot trap it.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

if not PROGRAM.exists():
    pytest.exit(f"{PROGRAM} is not there: ./dev build makes it, LONGSHIP names another", returncode=2)


class Longship:
    """The program under test. Called, it runs to its end; start() leaves it running."""

    def __init__(self, environment, directory):
        self.environment = environment
        self.directory = directory
        self.running = []

    def __call__(self, *words, timeout=120, **options):
        options.setdefault("cwd", self.directory)
        options.setdefault("env", self.environment)
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run([PROGRAM, *map(str, words)], text=True, capture_output=True, timeout=timeout, **options)

    def start(self, *words, before=(), **options):
        options.setdefault("cwd", self.directory)
        options.setdefault("env", self.environment)
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen([*before, PROGRAM, *map(str, words)], text=True, **options)
        self.running.append(process)
        return process

    def close(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.communicate()


def clean_environment(home):
    """As a user has it: no batch system, no launcher, no store of images from outside."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "LONGSHIP", "OMP_", "PYTHON"))}
    # A mount waits for the next box; a test that looks for what is left need not wait with it.
    return kept | {"HOME": str(home), "LONGSHIP_STORE": str(home / "store"), "NO_COLOR": "1", "LONGSHIP_LINGER": "0.2"}


@pytest.fixture
def longship(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    program = Longship(clean_environment(home), tmp_path)
    yield program
    program.close()


@pytest.fixture
def as_user(longship, tmp_path):  # after longship, whose home is given away too
    """Keyword arguments that make subprocess run something as an ordinary user who owns tmp_path."""
    if os.getuid() != 0:
        return {}
    user = pwd.getpwnam("nobody")
    for path in [tmp_path, *tmp_path.rglob("*")]:
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
    for parent in tmp_path.parents:
        if parent.owner() == "root" and not parent.stat().st_mode & 0o001 and parent != Path("/root"):
            parent.chmod(parent.stat().st_mode | 0o011)
    if not os.access(PROGRAM, os.X_OK) or not all(p.stat().st_mode & 0o001 for p in PROGRAM.resolve().parents):
        pytest.skip(f"an ordinary user cannot reach {PROGRAM}")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def wait_until(condition, what, patience=30.0):
    """Waits for something that has no better way to tell; its failure says what was waited for."""
    deadline = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {patience:.0f} s in vain: {what}"
        time.sleep(0.02)
    return found


def launcher_below(process):
    """The pid of longship, by whichever of its programs, that salloc started."""
    programs = PROGRAM.resolve().parents[1]

    def look():
        found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True)
        return [int(pid) for pid in found.stdout.split() if Path(os.readlink(f"/proc/{pid}/exe")).is_relative_to(programs)]
    return wait_until(look, "the launcher")[0]


def longship_traces():
    """What a run could leave on this machine: mounts, shared memory, temporary directories."""
    mounts = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    shared = {str(path) for path in Path("/dev/shm").glob("*")}
    temporary = {str(path) for path in Path("/tmp").glob("longship*")}
    return {"mounts": mounts, "shared memory": shared, "temporary directories": temporary}


@pytest.fixture
def nothing_stays_behind(longship, tmp_path):
    """At the end of the test no process, mount, shared memory or temporary directory of it may be left."""
    mark = f"LONGSHIP_TEST_MARK={tmp_path}"
    longship.environment["LONGSHIP_TEST_MARK"] = str(tmp_path)
    # What $TMPDIR names is looked at as a whole: nobody else writes there.
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    temporary.chmod(0o1777)
    longship.environment["TMPDIR"] = str(temporary)
    before = longship_traces()["mounts"]
    yield
    wait_until(lambda: not marked_processes(mark), f"processes to end: {marked_processes(mark)}", patience=10)
    left = {path for path in longship_traces()["mounts"] - before if str(tmp_path) in path or "longship" in path}
    assert not left, f"mounts are left: {left}"
    assert not list(temporary.iterdir()), f"temporary files are left: {list(temporary.iterdir())}"


@pytest.fixture
def program_with(tmp_path):
    """Writes a small shell or Python program and returns the words that run it."""

    def write(text, name="program.py"):
        path = tmp_path / name
        path.write_text(text)
        path.chmod(0o755)
        return ["/usr/bin/python3" if name.endswith(".py") else "/bin/sh", str(path)]

    return write


@pytest.fixture
def job(tmp_path):
    """Writes job.toml beside its code and returns its path."""

    def write(script, more="", ranks=2, top=""):
        directory = tmp_path / "project"
        directory.mkdir(exist_ok=True)
        (directory / "job.sh").write_text(script)
        (directory / "job.toml").write_text(
            f'version = 1\nname = "sea"\ncommand = ["sh", "job.sh"]\ncode = "."\n{top}\n'
            f"[needs]\nranks_per_node = {ranks}\n{more}\n")
        return directory / "job.toml"

    return write


@pytest.fixture
def small_disk(tmp_path):
    """A place with room for 8 MB."""
    if os.getuid() != 0:
        pytest.skip("mounting a small disk needs root")
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", place], check=True)
    yield place
    # What keeps an image mounted for the next box goes a moment after the last one.
    wait_until(lambda: subprocess.run(["umount", place]).returncode == 0, "nobody to use the small disk")


def needs(*programs):
    """A mark for tests that drive other people's programs."""
    missing = [name for name in programs if shutil.which(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")
