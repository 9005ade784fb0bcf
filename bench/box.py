# SPDX-License-Identifier: Apache-2.0
"""What a box costs: /bin/true as typed, and the memory that stays, beside ch-run (Charliecloud), bubblewrap, crun and no box at
all.

The same small Debian tree for all, once as a directory and once as a SquashFS file. "First" is a start that finds no
mount of the image on the machine, "next" one that finds another box of the same image running, as every further rank on
a node does. ./dev bench import and ./dev bench overhead measure what runs in boxes.

As root this runs everything as an ordinary user, which is how boxes are used, and opens /dev/fuse to it for the time of
the measurement.
"""
import json
import os
import shutil
import subprocess
import sys

from lib import Bench, scratch_directory
from lib_box import (REPOSITORY, USER, as_user, compare, give_program_to_user, keeper_of, leave_mixed_cgroups, open_to_user, pause,
                     program, running, runs, show_memory, starter)

sys.path.insert(0, str(REPOSITORY / "tests" / "lab"))
from fuse import fuse_for_everybody  # noqa: E402

KEPT = REPOSITORY / "build" / "bench"  # the tree takes half a minute to make
FIRST_STARTS = 5


def main(about=__doc__, only_starts=False):
    bench = Bench(about)
    leave_mixed_cgroups()
    longship, tree = program(), make_tree()
    with scratch_directory() as scratch, fuse_for_everybody():
        open_to_user(scratch)
        tree, longship = give_to_user(tree, scratch), give_program_to_user(longship, scratch)
        image = scratch / "tree.sqfs"
        make_squashfs(tree, image)
        as_user(lambda: compare_all(bench, str(longship), tree, image, only_starts))


def compare_all(bench, longship, tree, image, only_starts):
    os.chdir("/")
    os.environ.update(HOME="/nonexistent", USER="bench", LONGSHIP_STORE=f"{tree.parent}/store")
    from_directory(bench, longship, tree)
    if os.access("/dev/fuse", os.R_OK | os.W_OK):
        from_squashfs(bench, longship, image, only_starts)
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
        "crun": ["crun", "--root", f"{tree.parent}/crun", "--cgroup-manager=disabled", "run", "-b", str(make_bundle(tree)), "box"],
    }
    times = {name: seconds * 1e3 for name, seconds in bench.interleave(runs(bench, commands)).items()}
    bench.absolute("directory: longship box", times["ours"], "ms", at_most=1.6)
    compare(bench, "directory", times, {"ch-run": 0.55, "bwrap": None, "crun": None, "native": None})


def make_bundle(tree):
    """The tree as crun wants it told: with the namespaces and mounts that the others use."""
    bundle = tree.parent / "bundle"
    bundle.mkdir(exist_ok=True)
    mine = [{"containerID": 0, "hostID": os.getuid(), "size": 1}]
    (bundle / "config.json").write_text(json.dumps({
        "ociVersion": "1.0.0",
        "process": {"user": {"uid": 0, "gid": 0}, "args": ["/bin/true"], "env": ["PATH=/usr/bin:/bin"], "cwd": "/"},
        "root": {"path": str(tree), "readonly": True},
        "mounts": [{"destination": place, "type": "bind", "source": place, "options": ["rbind"]}
                   for place in ("/proc", "/sys", "/dev", "/tmp")],
        "linux": {"namespaces": [{"type": "user"}, {"type": "mount"}], "uidMappings": mine,
                  "gidMappings": [{"containerID": 0, "hostID": os.getgid(), "size": 1}]}}))
    return bundle


def from_squashfs(bench, longship, image, only_starts):
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
        if not only_starts:
            show_memory(bench, "SquashFS", keeper_of(image))


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
    copy = scratch / "tree"
    subprocess.run(["cp", "-a", str(tree), str(copy)], check=True)
    subprocess.run(["chown", "-R", f"{USER}:{USER}", str(copy)], check=True)
    return copy


def make_squashfs(tree, image):
    subprocess.run(["mksquashfs", str(tree), str(image), "-comp", "zstd", "-Xcompression-level", "1", "-all-root",
                    "-quiet", "-no-progress"], check=True, stdout=subprocess.DEVNULL)
    os.chmod(image, 0o644)


if __name__ == "__main__":
    main()
