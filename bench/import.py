# SPDX-License-Identifier: Apache-2.0
"""`import torch` from a SquashFS file in a box, beside this machine's own python3-torch of the same version and ch-run
(Charliecloud).

The image is that of the tests (tests/lab/images.py). Warm, another box of the image is running, as the other ranks of a
node are; cold means that all caches were dropped before and nobody has the image mounted, for which it takes root. As root
this runs as an ordinary user and opens /dev/fuse to it for the time of the measurement.
"""
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from lib import Bench, scratch_directory
from lib_box import (REPOSITORY, as_user, compare, give_program_to_user, keeper_of, link_for_user, make_torch_image,
                     open_to_user, program, running, runs, show_memory)

sys.path.insert(0, str(REPOSITORY / "tests" / "lab"))
from fuse import fuse_for_everybody  # noqa: E402

COLD_ROUNDS = 5
IMPORT = ["-c", "import torch"]


def main():
    bench = Bench(__doc__)
    longship = program()
    image = make_torch_image(longship)
    with scratch_directory() as scratch, fuse_for_everybody():
        open_to_user(scratch)
        longship, image = give_program_to_user(longship, scratch), link_for_user(image, scratch)
        with cache_dropper() as drop_caches:
            as_user(lambda: measure(bench, str(longship), image, drop_caches))


def measure(bench, longship, image, drop_caches):
    os.chdir("/")
    os.environ.update(HOME="/nonexistent", USER="bench", LONGSHIP_STORE=f"{image.parent}/store")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        sys.exit("/dev/fuse cannot be opened: what an ordinary user has from a SquashFS file cannot be measured here")
    if subprocess.run(["/usr/bin/python3", *IMPORT], capture_output=True).returncode != 0:
        sys.exit("this machine has no python3-torch to compare with")
    import_torch(bench, longship, image, drop_caches)
    bench.end()


def import_torch(bench, longship, image, drop_caches):
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


if __name__ == "__main__":
    main()
