# SPDX-License-Identifier: Apache-2.0
"""Days on which something is in the way: Ctrl-C at each stage of a run, a full disk under the image store, a kernel
without user namespaces, code that changes while it is bundled. Each ends with a sentence and leaves nothing behind."""

import io
import json
import os
import shutil
import signal
import subprocess
import tarfile
import threading
from pathlib import Path

import pytest
from conftest import LAB, PROGRAM, needs, wait_until

pytestmark = pytest.mark.usefixtures("nothing_stays_behind")

REFUSING = ("/usr/bin/python3", LAB / "no_user_namespaces.py")


def spools_of(job_file):
    return list((job_file.parent / "runs").glob("*/.spool"))


@pytest.fixture
def shell_tree(tmp_path):
    """The smallest image in which a job runs: a static shell."""
    shell = shutil.which("busybox")
    if shell is None:
        pytest.skip("needs a static busybox")
    (tmp_path / "tree" / "bin").mkdir(parents=True)
    for name in ("sh", "busybox"):
        shutil.copy(shell, tmp_path / "tree" / "bin" / name)
    return tmp_path / "tree"


# --- Ctrl-C at each stage ------------------------------------------------------------------------------------------


def stopped_at(longship, point, *words):
    """A run that stopped itself at a failpoint; SIGCONT lets it go on."""
    longship.environment["LONGSHIP_FAILPOINTS"] = f"{point}=stop"
    process = longship.start(*words)

    def is_stopped():
        assert process.poll() is None, process.communicate()
        return Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"

    wait_until(is_stopped, f"the run to stop at {point}")
    return process


def interrupt(process):
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def test_ctrl_c_while_the_code_is_bundled(longship, job):
    file = job("echo never")
    code, out, err = interrupt(stopped_at(longship, "run.bundled", "run", file))
    assert code == 130
    assert "interrupted" in err
    assert "never" not in out
    assert not list((file.parent / "runs").iterdir())


@pytest.mark.parametrize("point", ["run.ran", "run.kept"])
def test_ctrl_c_while_outputs_are_kept_comes_too_late_and_spoils_nothing(longship, job, point):
    file = job("for i in 1 2 3 4 5; do echo $i > model-$i; done", '[outputs]\nkeep = ["model-*"]', ranks=1)
    process = stopped_at(longship, point, "run", file)
    run = file.parent / "runs" / "sea-1"
    assert not (run / "result.json").exists()
    assert (run / "model-1").exists() == (point == "run.kept")
    code, _, err = interrupt(process)
    assert code == 0, err
    assert [(run / f"model-{i}").read_text() for i in range(1, 6)] == [f"{i}\n" for i in range(1, 6)]
    assert json.loads((run / "result.json").read_text())["state"] == "finished"
    assert not spools_of(file)


@needs("mksquashfs")
@pytest.mark.parametrize("whom", ["longship", "the whole group, as a terminal does it"])
def test_ctrl_c_while_a_box_is_entered(longship, job, shell_tree, tmp_path, whom):
    for number in range(4000):  # so that unpacking, which is a way into a box, takes a while
        (shell_tree / str(number)).write_text(str(number))
    image = tmp_path / "image.sqfs"
    subprocess.run(["mksquashfs", shell_tree, image, "-quiet", "-no-progress"], check=True, capture_output=True)
    longship.environment["LONGSHIP_SQUASHFS"] = "unpacked"
    file = job("echo never; exec sleep 600", top=f'image = "{image}"')
    process = longship.start("run", file, start_new_session=True)
    said = ""
    while "unpacking" not in said:
        line = process.stderr.readline()
        assert line, said
        said += line
    if "group" in whom:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "never" not in out
    assert not spools_of(file)
    # Half an image is not taken for a whole one.
    done = longship("run", "--no-prefix", job("busybox ls / | busybox grep -c ^3", top=f'image = "{image}"', ranks=1))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1111\n")


# --- a full disk -----------------------------------------------------------------------------------------------------


def write_tar(path, files):
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            tar.addfile(member, io.BytesIO(content))


@pytest.fixture
def small_store(longship, small_disk):
    longship.environment["LONGSHIP_STORE"] = str(small_disk / "store")
    return small_disk / "store"


def everything_in(store):
    """Files of a store, without what is only there to be found again."""
    return {str(path.relative_to(store)) for path in store.rglob("*") if path.is_file() and path.name != "lock"}


def check_store(longship, store, before):
    assert everything_in(store) == before
    shown = json.loads(longship("image", "ls", "--json").stdout)
    assert [image["name"] for image in shown] == ["base"]
    path = json.loads(longship("image", "show", "base", "--json").stdout)["path"]
    assert subprocess.run(["unsquashfs", "-cat", path, "word"], capture_output=True, check=True).stdout == b"kept"


@pytest.fixture
def base(longship, small_store, shell_tree, tmp_path):
    """A store on a small disk with one image in it."""
    shell = (shell_tree / "bin" / "sh").read_bytes()
    write_tar(tmp_path / "base.tar", {"bin/sh": shell, "bin/busybox": shell, "word": b"kept"})
    done = longship("image", "import", tmp_path / "base.tar", "-t", "base")
    assert done.returncode == 0, done.stderr
    return everything_in(small_store)


@needs("unsquashfs")
@pytest.mark.parametrize("name", ["large", "base"])  # as a new one, and in place of what is there
def test_full_disk_while_an_image_is_imported(longship, small_store, base, tmp_path, name):
    write_tar(tmp_path / "large.tar", {f"part-{i}": os.urandom(3_000_000) for i in range(4)})
    done = longship("image", "import", tmp_path / "large.tar", "-t", name)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "large.tar" in done.stderr
    check_store(longship, small_store, base)


@needs("unsquashfs")
@pytest.mark.parametrize("step", ["COPY large /", "RUN busybox dd if=/dev/urandom of=/large bs=1M count=12"])
def test_full_disk_while_an_image_is_built(longship, small_store, base, tmp_path, step):
    context = tmp_path / "context"
    context.mkdir()
    (context / "large").write_bytes(os.urandom(12_000_000))
    (context / "Dockerfile").write_text(f"FROM base\n{step}\n")
    done = longship("image", "build", "-t", "built", context)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "Dockerfile:2" in done.stderr
    check_store(longship, small_store, base)


# --- no user namespaces ----------------------------------------------------------------------------------------------


def refused(longship, *words, give, user=None, **options):
    """Runs it where the kernel says no, as that user, who gets what the test has made meanwhile."""
    if user is not None:
        for path in [give, *give.rglob("*")]:
            os.chown(path, user, options["group"], follow_symlinks=False)
        options["user"] = user
    return subprocess.run([*REFUSING, PROGRAM, *words], env=longship.environment, cwd=give, text=True,
                          capture_output=True, timeout=60, **options)


def test_without_user_namespaces_a_job_in_an_image_cannot_run_here(longship, job, shell_tree, as_user, tmp_path):
    file = job("echo never", top=f'image = "{shell_tree}"')
    done = refused(longship, "run", file, give=tmp_path, **as_user)
    assert done.returncode == 3, done.stderr
    assert "user namespaces" in done.stderr
    assert "longship doctor" in done.stderr or "ask" in done.stderr or "seccomp" in done.stderr
    assert "never" not in done.stdout
    assert not spools_of(file)


def test_without_user_namespaces_a_job_without_an_image_runs(longship, job, as_user, tmp_path):
    file = job("echo fine", ranks=1)
    done = refused(longship, "run", file, give=tmp_path, **as_user)
    assert done.returncode == 0, done.stderr
    assert "fine" in done.stdout


# --- code that does not hold still -----------------------------------------------------------------------------------


def test_code_that_changes_while_it_is_bundled_is_named_after_three_attempts(longship, job):
    file = job("true", ranks=1)
    log = file.parent / "train.log"
    log.write_bytes(os.urandom(60_000_000))
    stop = threading.Event()

    def write():
        with log.open("r+b", buffering=0) as growing:
            while not stop.wait(0.002):
                growing.seek(0)
                growing.write(b"again")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        done = longship("run", file)
    finally:
        stop.set()
        writer.join()
    assert done.returncode == 1
    assert "train.log changes while it is being read" in done.stderr
    assert ".longshipignore" in done.stderr
    assert not spools_of(file)
    assert longship("run", file).returncode == 0  # now that it rests
