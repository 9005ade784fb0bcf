# SPDX-License-Identifier: Apache-2.0
"""What the benches of boxes share: everything as an ordinary user, which is how boxes are used; what runs meanwhile; the
memory of who keeps an image mounted."""
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from contextlib import contextmanager
from pathlib import Path

from lib import timed

REPOSITORY = Path(__file__).resolve().parent.parent
USER = 12345
STARTS = 20  # per measurement: a single start is too short for the clock's moods


def program():
    longship = Path(os.environ.get("LONGSHIP", REPOSITORY / "build" / "bin" / "longship"))
    if not longship.exists():
        sys.exit(f"{longship} is not there: ./dev build makes it")
    return longship


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
        tried = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
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
    silent = [(os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)]  # some peers warn each time

    def start():
        # vfork beneath: a fork of Python would cost more
        pid = os.posix_spawn(command[0], command, environment, file_actions=silent)
        if os.waitpid(pid, 0)[1] != 0:
            sys.exit(f"{' '.join(command)} failed")

    def run():
        seconds = 0
        for _ in range(starts):
            prepare()
            seconds += timed(start)()
        return seconds / starts
    return run


def leave_mixed_cgroups():
    """crun refuses to run where both versions of cgroups are mounted: then everything is measured without the second, in a mount
    namespace of its own."""
    second = "/sys/fs/cgroup/unified"
    if os.geteuid() == 0 and os.path.ismount(second):
        os.execvp("unshare", ["unshare", "--mount", "sh", "-c", f'umount {second} && exec "$@"', "sh", *sys.orig_argv])


def open_to_user(scratch):
    if os.geteuid() == 0:
        os.chmod(scratch, 0o755)
        os.chown(scratch, USER, USER)


def link_for_user(image, scratch):
    """A file that the user can reach: the same one, or a copy where it lies on another disk."""
    if os.geteuid() != 0:
        return image
    reachable = scratch / "torch.sqfs"
    try:
        os.link(image, reachable)
    except OSError:
        shutil.copyfile(image, reachable)
    return reachable


def give_program_to_user(longship, scratch):
    for path in ("bin/longship", "libexec/longship/longship-node"):
        (scratch / path).parent.mkdir(parents=True)
        shutil.copy2(longship.parent.parent / path, scratch / path)
    return scratch / "bin" / "longship"


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
            if isinstance(ending.code, int):  # of a signal
                code = ending.code
            else:
                print(ending, file=sys.stderr)
        except Exception:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    try:
        status = os.waitpid(child, 0)[1]
    except BaseException:  # told to end: then the child does, too, and both clear up
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
        raise
    if status != 0:
        sys.exit(1)


def make_torch_image(longship):
    """The file of an image with PyTorch, made once and kept."""
    sys.path.insert(0, str(REPOSITORY / "tests" / "lab"))
    import images
    name = images.image(longship, "torch-bookworm", "bookworm", "python3-torch", "python3-numpy", "python3-sklearn")
    shown = subprocess.run([longship, "image", "show", name], env=os.environ | {"LONGSHIP_STORE": str(images.STORE)},
                           capture_output=True, text=True, check=True).stdout
    return Path(next(line.split()[1] for line in shown.splitlines() if line.startswith("file ")))
