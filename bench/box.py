# SPDX-License-Identifier: Apache-2.0
"""What a box costs: /bin/true as typed, the memory that stays, and `import torch`, beside ch-run (Charliecloud), bubblewrap
and no box at all.

The same small Debian tree for all, once as a directory and once as a SquashFS file. "First" is a start that finds no
mount of the image on the machine, "next" one that finds another box of the same image running, as every further rank on
a node does. `import torch` comes from the image of the tests (tests/lab/images.py), natively from this machine's own
python3-torch of the same version; cold means that all caches were dropped before, for which it takes root.

As root this runs everything as an ordinary user, which is how boxes are used, and opens /dev/fuse to it for the time of
the measurement.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager
from pathlib import Path

from lib import Bench, timed

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests" / "lab"))
from fuse import fuse_for_everybody  # noqa: E402

KEPT = REPOSITORY / "build" / "bench"  # the tree takes half a minute to make
USER = 12345
STARTS = 20  # per measurement: a single start is too short for the clock's moods
FIRST_STARTS = 5
COLD_ROUNDS = 5
IMPORT = ["-c", "import torch"]


def main(about=__doc__, only_starts=False):
    bench = Bench(about)
    longship = Path(os.environ.get("LONGSHIP", REPOSITORY / "build" / "bin" / "longship"))
    if not longship.exists():
        sys.exit(f"{longship} is not there: ./dev build makes it")
    tree = make_tree()
    torch_image = None if only_starts else make_torch_image(bench, longship)
    with tempfile.TemporaryDirectory(prefix="longship-bench") as scratch, fuse_for_everybody():
        scratch = Path(scratch)
        tree, program = give_to_user(tree, scratch), give_program_to_user(longship, scratch)
        image = scratch / "tree.sqfs"
        make_squashfs(tree, image)
        torch_image = link_for_user(torch_image, scratch)
        with cache_dropper() as drop_caches:
            as_user(lambda: compare_all(bench, str(program), tree, image, torch_image, drop_caches))


def compare_all(bench, longship, tree, image, torch_image, drop_caches):
    os.chdir("/")
    os.environ.update(HOME="/nonexistent", USER="bench", LONGSHIP_STORE=f"{tree.parent}/store")
    from_directory(bench, longship, tree)
    if os.access("/dev/fuse", os.R_OK | os.W_OK):
        from_squashfs(bench, longship, image)
        if torch_image:
            import_torch(bench, longship, torch_image, drop_caches)
    else:
        bench.say("SquashFS is not measured: /dev/fuse cannot be opened")
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
    """Ours twice: with a new identity of the file each time nobody has it mounted; with a box running somebody has."""
    new = image.with_name("new.sqfs")
    shutil.copyfile(image, new)

    def renew():
        os.utime(new)
        pause()
    ours = {"first": starter([longship, "box", str(new), "--", "/bin/true"], FIRST_STARTS, renew, LONGSHIP_LINGER="0"),
            "next": starter([longship, "box", str(image), "--", "/bin/true"])}
    with running([longship, "box", str(image), "--", "/bin/sleep", "1000"], image):
        peer = runs(bench, {"ch-run": ["ch-run", str(image), "--", "/bin/true"]}, FIRST_STARTS, pause)
        times = {name: seconds * 1e3 for name, seconds in bench.interleave(ours | peer).items()}
        bench.absolute("SquashFS, first start: longship box", times["first"], "ms", at_most=6)
        compare(bench, "SquashFS, first start", times | {"ours": times["first"]}, {"ch-run": 0.5})
        bench.absolute("SquashFS, next start: longship box", times["next"], "ms", at_most=1.8)
        compare(bench, "SquashFS, next start", times | {"ours": times["next"]}, {"ch-run": 0.15})
        show_memory(bench, "SquashFS", keeper_of(image))


def import_torch(bench, longship, image, drop_caches):
    if subprocess.run(["/usr/bin/python3", *IMPORT], capture_output=True).returncode != 0:
        bench.say("import torch is not measured: this machine has no python3-torch to compare with")
        return
    boxed = [longship, "box", str(image), "--", "/usr/bin/python3", *IMPORT]
    commands = {"ours": boxed, "native": ["/usr/bin/python3", *IMPORT],
                "ch-run": ["ch-run", str(image), "--", "/usr/bin/python3", *IMPORT]}
    with running([longship, "box", str(image), "--", "/bin/sleep", "1000"], image):  # as the other ranks of a node
        times = bench.interleave(runs(bench, commands, 1))
        compare(bench, "import torch, SquashFS, warm", times, {"native": 1.1, "ch-run": None}, "s")
        show_memory(bench, "import torch, SquashFS", keeper_of(image))
    if not drop_caches:
        bench.say("import torch is not measured cold: only root can drop the caches")
        return
    cold = {name: after(drop_caches, run) for name, run in runs(bench, commands, 1, LONGSHIP_LINGER="0").items()}
    times = bench.interleave(cold, COLD_ROUNDS)
    compare(bench, "import torch, SquashFS, cold", times, {"native": 1.3, "ch-run": None}, "s")


def after(prepare, run):
    def both():
        prepare()
        return run()
    return both


@contextmanager
def running(command, image):
    """A process of ours that stays meanwhile; nothing is measured before it has the image open."""
    process = subprocess.Popen(command)
    try:
        deadline = time.monotonic() + 30
        while keeper_of(image) is None:
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"{' '.join(command)} did not start")
            time.sleep(0.01)
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def keeper_of(image):
    """The process that answers for the image: whoever has it open."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.path.samefile(link, image):
                return int(link.parts[2])
        except OSError:
            pass
    return None


def show_memory(bench, what, helper):
    """What it took at most, and what stays beside the job when nobody reads any more."""
    bench.figure(f"{what}: memory of the helper, at most", kilobytes(helper, "status", "VmHWM") / 1000, None, "MB")
    time.sleep(3)  # it gives memory back after a second without work
    bench.absolute(f"{what}: memory of the helper, that stays", kilobytes(helper, "smaps_rollup", "Pss") / 1000, "MB",
                   at_most=2)


def kilobytes(pid, file, name):
    for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    sys.exit(f"the memory of process {pid} cannot be read")


def compare(bench, what, times, goals, unit="ms"):
    for peer, goal in goals.items():
        if peer in times:
            bench.figure(f"{what}: longship box / {peer}", times["ours"], times[peer], unit, at_most=goal)


def measure(bench, commands):
    """Milliseconds per start."""
    return {name: seconds * 1e3 for name, seconds in bench.interleave(runs(bench, commands)).items()}


def pause():
    """So that what the start before leaves to be cleared up does not count for the next: a mount, a server."""
    time.sleep(0.05)


def runs(bench, commands, starts=STARTS, prepare=lambda: None, **environment):
    """What can be measured: those commands that are there and work."""
    found = {}
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
        found[name] = starter([shutil.which(command[0])] + command[1:], starts, prepare, **environment)
    return found


def starter(command, starts=STARTS, prepare=lambda: None, **environment):
    """Seconds per start; what `prepare` does before each does not count."""
    environment = os.environ | environment

    def start():
        pid = os.posix_spawn(command[0], command, environment)  # vfork beneath: a fork of Python would cost more
        if os.waitpid(pid, 0)[1] != 0:
            sys.exit(f"{' '.join(command)} failed")

    def run():
        seconds = 0
        for _ in range(starts):
            prepare()
            seconds += timed(start)()
        return seconds / starts
    return run


def make_tree():
    tree = KEPT / "tree"
    if not tree.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        aside = KEPT / f"tree.{os.getpid()}"
        subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "bookworm", str(aside)], check=True)
        aside.rename(tree)
    return tree


def make_torch_image(bench, longship):
    """The file of an image with PyTorch, made once and kept; none where it cannot be had."""
    try:
        import images
        name = images.image(longship, "torch-bookworm", "bookworm", "python3-torch", "python3-numpy", "python3-sklearn")
        shown = subprocess.run([longship, "image", "show", name], env=os.environ | {"LONGSHIP_STORE": str(images.STORE)},
                               capture_output=True, text=True, check=True).stdout
        return Path(next(line.split()[1] for line in shown.splitlines() if line.startswith("file ")))
    except (AssertionError, ImportError, subprocess.SubprocessError, StopIteration) as problem:
        bench.say(f"import torch is not measured: no image with it can be made here ({problem})")
        return None


def link_for_user(image, scratch):
    """A file that the user can reach: the same one, or a copy where it lies on another disk."""
    if image is None or os.geteuid() != 0:
        return image
    reachable = scratch / "torch.sqfs"
    try:
        os.link(image, reachable)
    except OSError:
        shutil.copyfile(image, reachable)
    return reachable


@contextmanager
def cache_dropper():
    """A function for the ordinary user: a root process behind a pipe drops the caches, and answers when it has."""
    if os.geteuid() != 0:
        yield None
        return
    asked, ask = os.pipe()
    answered, answer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ask)
        while os.read(asked, 1):
            os.sync()
            Path("/proc/sys/vm/drop_caches").write_text("3")
            os.write(answer, b"x")
        os._exit(0)

    def drop():
        os.write(ask, b"x")
        os.read(answered, 1)
    try:
        yield drop
    finally:
        os.close(ask)
        os.waitpid(child, 0)


def give_to_user(tree, scratch):
    """A copy that the user owns, where it can be reached: a checkout need not be readable for others."""
    if os.geteuid() != 0:
        return tree
    os.chmod(scratch, 0o755)
    os.chown(scratch, USER, USER)
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
        except Exception:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(1)


if __name__ == "__main__":
    main()
