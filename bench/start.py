# SPDX-License-Identifier: Apache-2.0
"""How long /bin/true takes in a box, as typed: longship box beside ch-run (Charliecloud), bubblewrap and no box at all.

The same small Debian tree for all, once as a directory and once as a SquashFS file. As root this runs everything as an
ordinary user, which is how boxes are used, and opens /dev/fuse to it for the time of the measurement.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from lib import Bench

REPOSITORY = Path(__file__).resolve().parent.parent
KEPT = REPOSITORY / "build" / "bench"  # the tree takes half a minute to make
USER = 12345
STARTS = 20  # per measurement: a single start is too short for the clock's moods


def main():
    bench = Bench(__doc__)
    longship = Path(os.environ.get("LONGSHIP", REPOSITORY / "build" / "bin" / "longship"))
    if not longship.exists():
        sys.exit(f"{longship} is not there: ./dev build makes it")
    tree = make_tree()
    with tempfile.TemporaryDirectory(prefix="longship-bench") as scratch, fuse_for_everybody():
        scratch = Path(scratch)
        tree, program = give_to_user(tree, scratch), give_program_to_user(longship, scratch)
        image = scratch / "tree.sqfs"
        make_squashfs(tree, image)
        as_user(lambda: compare_all(bench, program, tree, image))


def compare_all(bench, longship, tree, image):
    os.chdir("/")
    os.environ.update(HOME="/nonexistent", USER="bench", LONGSHIP_STORE=f"{tree.parent}/store")
    from_directory(bench, str(longship), tree)
    from_squashfs(bench, str(longship), image)
    bench.end()


def from_directory(bench, longship, tree):
    commands = {
        "ours": [longship, "box", str(tree), "--", "/bin/true"],
        "native": ["/bin/true"],
        "ch-run": ["ch-run", str(tree), "--", "/bin/true"],
        "bwrap": ["bwrap", "--ro-bind", str(tree), "/", "--proc", "/proc", "--dev-bind", "/dev", "/dev",
                  "--bind", "/tmp", "/tmp", "/bin/true"],
    }
    times = measure(bench, commands)
    bench.absolute("directory: longship box", times["ours"], "ms", at_most=1.6)
    compare(bench, "directory", times, {"ch-run": 0.55, "bwrap": None, "native": None})


def from_squashfs(bench, longship, image):
    commands = {"ours": [longship, "box", str(image), "--", "/bin/true"],
                "ch-run": ["ch-run", str(image), "--", "/bin/true"]}
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        bench.say("SquashFS is not measured: /dev/fuse cannot be opened")
        return
    times = measure(bench, commands)
    bench.absolute("SquashFS, first start: longship box", times["ours"], "ms", at_most=6)
    compare(bench, "SquashFS, first start", times, {"ch-run": 0.5})


def compare(bench, what, times, goals):
    for peer, goal in goals.items():
        if peer in times:
            bench.figure(f"{what}: longship box / {peer}", times["ours"], times[peer], "ms", at_most=goal)


def measure(bench, commands):
    """Milliseconds per start, of those that are there and work."""
    runs = {}
    for name, command in commands.items():
        if shutil.which(command[0]) is None:
            bench.say(f"{name} is not measured: {command[0]} is not installed")
            continue
        tried = subprocess.run(command, capture_output=True, text=True)
        if tried.returncode != 0:
            if name == "ours":
                sys.exit(f"{' '.join(command)}: {tried.stderr.strip()}")
            bench.say(f"{name} is not measured: {(tried.stderr.strip().splitlines() or ['it failed'])[-1]}")
            continue
        runs[name] = starter([shutil.which(command[0])] + command[1:])
    return {name: seconds * 1e3 for name, seconds in bench.interleave(runs).items()}


def starter(command):
    def run():
        begin = time.perf_counter()
        for _ in range(STARTS):
            pid = os.posix_spawn(command[0], command, os.environ)  # vfork beneath: a fork of Python would cost more
            if os.waitpid(pid, 0)[1] != 0:
                sys.exit(f"{' '.join(command)} failed")
        return (time.perf_counter() - begin) / STARTS
    return run


def make_tree():
    tree = KEPT / "tree"
    if not tree.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        aside = KEPT / f"tree.{os.getpid()}"
        subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "bookworm", str(aside)], check=True)
        aside.rename(tree)
    return tree


def give_to_user(tree, scratch):
    """A copy that the user owns, where it can be reached: a checkout need not be readable for others."""
    if os.geteuid() != 0:
        return tree
    os.chmod(scratch, 0o755)
    copy = scratch / "tree"
    subprocess.run(["cp", "-a", str(tree), str(copy)], check=True)
    subprocess.run(["chown", "-R", f"{USER}:{USER}", str(copy)], check=True)
    return copy


def give_program_to_user(longship, scratch):
    program = scratch / "bin" / "longship"
    program.parent.mkdir()
    shutil.copy2(longship, program)
    return program


def make_squashfs(tree, image):
    subprocess.run(["mksquashfs", str(tree), str(image), "-comp", "zstd", "-Xcompression-level", "1", "-all-root",
                    "-quiet", "-no-progress"], check=True, stdout=subprocess.DEVNULL)
    os.chmod(image, 0o644)


@contextmanager
def fuse_for_everybody():
    """On most machines it is; as root we can arrange it for a while."""
    device = "/dev/fuse"
    if os.geteuid() != 0 or not os.path.exists(device):
        yield
        return
    before = os.stat(device).st_mode & 0o7777
    os.chmod(device, 0o666)
    try:
        yield
    finally:
        os.chmod(device, before)


def as_user(work):
    """In a child, so that this process can still clear up as who it was."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(USER, USER, USER)
                os.setresuid(USER, USER, USER)
            work()
            code = 0
        except SystemExit as ending:
            print(ending, file=sys.stderr)
        finally:
            sys.stdout.flush()
            os._exit(code)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(1)


if __name__ == "__main__":
    main()
