# SPDX-License-Identifier: Apache-2.0
"""longship box as users type it."""

import errno
import fcntl
import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAM, needs, wait_until
from seccomp import forbid
from small_box import USR, fuse, image, tree  # noqa: F401 (fixtures)


def holders(path):
    """Processes that have the file open."""
    found = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) == str(path):
                found.append(int(link.parts[2]))
        except OSError:
            pass
    return found


def is_locked(path):
    """By anybody: a process that ends holds its locks for a while after its descriptors are out of sight."""
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def loop_devices():
    return subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout


def test_the_command_decides_what_is_said_and_how_it_ends(longship, tree):
    done = longship("box", *USR, tree, "--", "sh", "-c", 'cat /etc/marker; echo "$1" >&2; exit 42', "x", "a  b")
    assert (done.stdout, done.stderr, done.returncode) == ("the image's\n", "a  b\n", 42)


def test_options_may_stand_after_the_image(longship, tree):
    done = longship("box", "--env", "A=1", tree, *USR, "--env", "B=2", "--", "sh", "-c", "echo $A $B")
    assert done.stdout == "1 2\n"


def test_options_of_the_program_are_its_own(longship, tree):
    done = longship("box", *USR, tree, "echo", "--bind", "-v", "--", "--json")
    assert done.stdout == "--bind -v -- --json\n"


def test_a_signal_ends_it_as_without_a_box(longship, tree):
    assert longship("box", *USR, tree, "--", "sh", "-c", "kill -USR1 $$").returncode == -signal.SIGUSR1


def test_there_is_no_process_in_between(longship, tree):
    process = longship.start("box", *USR, tree, "--", "sh", "-c", "echo $$; read x; exit 5", stdin=subprocess.PIPE)
    assert int(process.stdout.readline()) == process.pid
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.wait() == 5


def test_a_terminal_is_passed_on(longship, tree):
    ours, theirs = pty.openpty()
    done = subprocess.run([PROGRAM, "box", *USR, tree, "--", "sh", "-c", "test -t 0 && test -t 1 && echo yes"],
                          stdin=theirs, stdout=theirs, env=longship.environment, timeout=60)
    assert done.returncode == 0
    assert os.read(ours, 100).strip() == b"yes"


def test_descriptors_of_a_launcher_are_passed_on(longship, tree):
    read, write = os.pipe()
    longship("box", *USR, tree, "--", "sh", "-c", f"echo hello > /proc/self/fd/{write}", pass_fds=[write])
    os.close(write)
    assert os.read(read, 100) == b"hello\n"


def test_the_environment_is_the_boxs(longship, tree):
    longship.environment |= {"LD_LIBRARY_PATH": "/nowhere", "SLURM_JOB_ID": "7", "EDITOR": "vi"}
    variables = longship("box", *USR, "--env", "EDITOR", "--env", "X=a=b", tree, "env").stdout.splitlines()
    assert "LONGSHIP_IN_BOX=1" in variables and "SLURM_JOB_ID=7" in variables
    assert "EDITOR=vi" in variables and "X=a=b" in variables
    assert not [line for line in variables if line.startswith("LD_LIBRARY_PATH")]


def test_home_is_there_unless_it_is_not_wanted(longship, tree):
    home = Path(longship.environment["HOME"])
    (home / "mine").write_text("x")
    words = ("box", *USR, "--private-tmp", tree)
    assert longship(*words, "--", "ls", home).stdout == "mine\n"
    assert longship(*words, "--no-home", "--", "ls", home).returncode != 0


def test_the_working_directory_is_kept_or_chosen(longship, tree, tmp_path):
    assert longship("box", *USR, tree, "pwd").stdout == f"{tmp_path}\n"
    assert longship("box", *USR, "--cwd", "/etc", tree, "cat", "marker").stdout == "the image's\n"
    wrong = longship("box", *USR, "--cwd", "/no", tree, "pwd")
    assert wrong.returncode == 1
    assert "cannot start in /no, the working directory: No such file or directory" in wrong.stderr


def test_what_is_written_is_gone_afterwards(longship, tree):
    script = "echo new > /etc/marker && cat /etc/marker"
    assert longship("box", *USR, "--writable", tree, "--", "sh", "-c", script).stdout == "new\n"
    assert (tree / "etc" / "marker").read_text() == "the image's\n"
    assert "Read-only" in longship("box", *USR, tree, "--", "sh", "-c", script).stderr


def test_an_image_that_does_not_exist_is_named(longship):
    done = longship("box", "no-such-image", "true")
    assert done.returncode == 1
    assert 'there is no image "no-such-image"' in done.stderr
    assert longship("box", "./no-such", "true").returncode == 1


def test_a_path_that_is_no_image_is_refused_without_waiting(longship, tmp_path):
    os.mkfifo(tmp_path / "pipe")  # into which nobody writes
    for path in (tmp_path / "pipe", "/dev/zero"):
        for words in (["box", path, "true"], ["launch", "-n", 1, "--image", path, "true"]):
            done = longship(*words, timeout=60)
            assert done.returncode == 1
            assert f"cannot enter the box: {path} is neither a directory nor a SquashFS file" in done.stderr


def test_a_path_that_looks_like_a_name_is_told_how_to_write_it(longship, tmp_path):
    (tmp_path / "root").mkdir()
    done = longship("box", "root", "true", cwd=tmp_path)
    assert done.returncode == 1
    assert "the file or directory of that name is ./root" in done.stderr


@pytest.mark.parametrize("words, message", [
    ((), "IMAGE is required"),
    (("--bnd", "/", "/", "true"), "--bnd"),
    (("/", "--bnd", "--", "true"), "--bnd"),
    (("--bind", "/a:b", "/", "true"), "begins with /"),
    (("--bind", "/a:/b:rx", "/", "true"), "not FROM, FROM:TO or FROM:TO:ro"),
    (("--env", "=x", "/", "true"), "not NAME=VALUE"),
])
def test_wrong_words_are_wrong_use(longship, words, message):
    done = longship("box", *words)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_program_that_is_not_there_is_127_and_one_that_may_not_run_126(longship, tree):
    done = longship("box", *USR, tree, "no-such-program")
    assert (done.returncode, done.stderr) == (
        127, "longship: error: there is no program no-such-program in the box's PATH\n")
    assert longship("box", *USR, tree, "/etc/marker").returncode == 126


def test_help_has_an_example(longship):
    done = longship("box", "--help")
    assert done.returncode == 0
    assert "longship box debian-torch -- python3" in done.stdout


def test_a_box_in_a_box(longship):
    done = longship("box", "/", PROGRAM, "box", "/", PROGRAM, "box", "/", "echo", "deep")
    assert (done.stdout, done.stderr) == ("deep\n", "")


def test_an_ordinary_user_is_itself_and_has_a_name(longship, tree, as_user):
    done = longship("box", *USR, tree, "--", "sh", "-c", "id -u; id -un >/dev/null", **as_user)
    assert (done.stdout, done.stderr) == (f"{as_user.get('user', os.getuid())}\n", "")


def test_an_ordinary_user_can_seem_to_be_root(longship, tree, as_user):
    script = "id -u; touch /x && chown 7:7 /x && mknod /y c 1 3 && echo fine"
    done = longship("box", *USR, "--writable", "--fake-root", tree, "--", "sh", "-c", script, **as_user)
    assert done.stdout == "0\nfine\n", done.stderr


def test_without_user_namespaces_it_cannot_be_done_here(longship, tree, as_user):
    # As the default filter of a container engine.
    done = longship("box", *USR, tree, "true", preexec_fn=forbid(b"unshare", errno.EPERM), **as_user)
    assert done.returncode == 3
    assert "this machine does not let users make user namespaces" in done.stderr
    assert "seccomp" in done.stderr


@needs("mksquashfs")
class TestSquashfs:
    @pytest.fixture(autouse=True)
    def clean(self, nothing_stays_behind):
        pass

    @pytest.mark.skipif(os.getuid() != 0, reason="needs root")
    def test_the_kernel_mounts_it_for_root(self, longship, image):
        done = longship("-v", "box", *USR, image, "cat", "/etc/marker")
        assert done.stdout == "the image's\n"
        assert f"{image}: kernel" in done.stderr
        wait_until(lambda: str(image) not in loop_devices(), "the loop device to be free")

    def test_fuse_serves_an_ordinary_user(self, longship, image, fuse, as_user):
        done = longship("-v", "box", *USR, image, "cat", "/etc/marker", **as_user)
        assert done.stdout == "the image's\n", done.stderr
        assert f"{image}: fuse" in done.stderr
        wait_until(lambda: not holders(image), "the FUSE server to end")

    def test_boxes_of_an_ordinary_user_share_one_mount(self, longship, image, fuse, as_user):
        first = longship.start("box", *USR, image, "--", "sh", "-c", "echo ready; read x; cat /etc/marker",
                               stdin=subprocess.PIPE, **as_user)
        assert first.stdout.readline() == "ready\n"
        (keeper,) = holders(image)
        user = as_user.get("user", os.getuid())
        for words, who in ((), user), (("--fake-root",), 0), (("--fake-root", "--writable"), 0):
            done = longship("-v", "box", *USR, *words, image, "--", "sh", "-c", "stat -c %u /etc/marker", **as_user)
            assert f"fuse, one mount for all boxes on this machine, kept by process {keeper}" in done.stderr
            assert done.stdout == f"{who}\n"
        assert holders(image) == [keeper]
        first.stdin.write("\n")
        first.stdin.flush()
        assert first.stdout.read() == "the image's\n"
        wait_until(lambda: not holders(image), "the keeper to end")

    def test_an_old_kernel_mounts_for_each_box(self, longship, image, fuse, as_user):
        done = longship("-v", "box", *USR, image, "cat", "/etc/marker", preexec_fn=forbid(b"open_tree", errno.ENOSYS),
                        **as_user)
        assert done.stdout == "the image's\n", done.stderr
        assert "is mounted for this box alone: the kernel cannot copy a mount: Function not implemented" in done.stderr

    def test_a_box_in_a_box_shares_the_mount_too(self, longship, image, fuse, as_user):
        inner = [PROGRAM, "-v", "box", *USR, image, "cat", "/etc/marker"]
        program = ("--bind", str(Path(PROGRAM).resolve().parent))
        done = longship("-v", "box", *USR, *program, "--bind", image, image, "--", *inner, **as_user)
        assert done.stdout == "the image's\n", done.stderr
        assert done.stderr.count("one mount for all boxes") == 2
        assert done.stderr.count("now kept by") == 1

    def test_many_boxes_at_once_have_one_mount(self, longship, image, fuse, as_user):
        longship.environment["LONGSHIP_LINGER"] = "30"
        started = [longship.start("box", *USR, image, "cat", "/etc/marker", **as_user) for _ in range(20)]
        assert [process.communicate()[0] for process in started] == ["the image's\n"] * 20
        (keeper,) = holders(image)
        os.kill(keeper, signal.SIGKILL)
        wait_until(lambda: not holders(image), "the keeper to end")
        longship.environment["LONGSHIP_LINGER"] = "0"
        assert longship("box", *USR, image, "true", **as_user).returncode == 0  # and clears up after it

    def test_a_pipe_from_a_box_ends_with_the_command(self, longship, image, fuse, as_user):
        # Something stays in the box, and so does the server; nobody but the command had the pipe.
        script = "sleep 60 >/dev/null 2>&1 </dev/null & echo $!"
        done = longship("box", *USR, image, "--", "sh", "-c", script, timeout=20, **as_user)
        assert holders(image)
        os.kill(int(done.stdout), signal.SIGKILL)
        wait_until(lambda: not holders(image), "the FUSE server to end")

    @pytest.mark.parametrize("way", ["kernel", "fuse"])
    def test_kill_9_leaves_nothing(self, longship, image, fuse, way):
        if way == "kernel" and os.getuid() != 0:
            pytest.skip("needs root")
        longship.environment["LONGSHIP_SQUASHFS"] = way
        process = longship.start("box", *USR, image, "--", "sh", "-c", "echo ready; read x", stdin=subprocess.PIPE)
        assert process.stdout.readline() == "ready\n"
        process.kill()
        process.wait()
        wait_until(lambda: not holders(image), "the FUSE server to end")
        if way == "kernel":
            wait_until(lambda: str(image) not in loop_devices(), "the loop device to be free")

    def test_ctrl_c_reaches_the_command_but_not_its_files(self, longship, image, fuse):
        longship.environment["LONGSHIP_SQUASHFS"] = "fuse"
        script = "trap 'cat /etc/marker; exit 9' INT; echo ready; while :; do sleep 0.1; done"
        process = longship.start("box", *USR, image, "--", "sh", "-c", script, start_new_session=True)
        assert process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.read() == "the image's\n"
        assert process.wait() == 9

    def test_unpacked_it_needs_nothing_and_is_kept(self, longship, image, as_user):
        longship.environment["LONGSHIP_SQUASHFS"] = "unpacked"
        first = longship("box", *USR, image, "cat", "/etc/marker", **as_user)
        assert first.stdout == "the image's\n", first.stderr
        assert "unpacking" in first.stderr
        assert longship("box", *USR, image, "cat", "/etc/marker", **as_user).stderr == ""

    def test_many_at_once_unpack_it_only_once(self, longship, image):
        longship.environment["LONGSHIP_SQUASHFS"] = "unpacked"
        all_of_them = [longship.start("box", *USR, image, "cat", "/etc/marker") for _ in range(6)]
        said = [process.communicate() for process in all_of_them]
        assert [out for out, _ in said] == ["the image's\n"] * 6
        assert sum("unpacking" in err for _, err in said) == 1

    def test_a_damaged_image_is_named(self, longship, image):
        with open(image, "r+b") as file:
            file.truncate(200)
        for way in ("fuse", "unpacked"):
            if way == "fuse" and not os.access("/dev/fuse", os.R_OK | os.W_OK):
                continue
            longship.environment["LONGSHIP_SQUASHFS"] = way
            done = longship("box", *USR, image, "true")
            assert done.returncode == 1
            assert f"cannot read the image {image}: it is damaged or cut short" in done.stderr


class TestWritableOnADisk:
    @pytest.fixture
    def disk(self, tmp_path, nothing_stays_behind):
        place = tmp_path / "disk"
        place.mkdir()
        yield place
        wait_until(lambda: not list(place.iterdir()), "what the box wrote to be removed")

    WRITE = "echo new > /etc/marker && mkdir -p /var/a/b && echo x > /var/a/b/c && cat /etc/marker"

    def test_what_is_written_is_gone_afterwards(self, longship, tree, disk, as_user):
        script = f"{self.WRITE}; ls {disk}/*/upper/var/a/b"
        done = longship("box", *USR, "--writable-on", disk, tree, "--", "sh", "-c", script, **as_user)
        assert done.stdout == "new\nc\n", done.stderr
        assert (tree / "etc" / "marker").read_text() == "the image's\n"

    def test_kill_9_leaves_nothing_on_the_disk(self, longship, tree, disk, as_user):
        process = longship.start("box", *USR, "--writable-on", disk, tree, "--", "sh", "-c", f"{self.WRITE}; exec sleep 1000",
                                 **as_user)
        assert process.stdout.readline() == "new\n"
        assert list(disk.iterdir())
        process.kill()
        process.wait()

    def test_it_stays_while_somebody_is_in_the_box(self, longship, tree, disk, as_user):
        script = f"{self.WRITE}; (sleep 1000 >/dev/null 2>&1 </dev/null & echo $!)"
        done = longship("box", *USR, "--writable-on", disk, tree, "--", "sh", "-c", script, **as_user)
        (place,) = disk.iterdir()
        other = longship("box", *USR, "--writable-on", disk, tree, "true", **as_user)
        assert other.returncode == 0, other.stderr
        wait_until(lambda: list(disk.iterdir()) == [place], "the other box's to be removed")
        assert (place / "upper" / "etc" / "marker").read_text() == "new\n"
        os.kill(int(done.stdout.split()[-1]), signal.SIGKILL)

    def test_what_a_killed_clearer_leaves_the_next_box_removes(self, longship, tree, disk, as_user):
        process = longship.start("box", *USR, "--writable-on", disk, tree, "--", "sh", "-c", f"{self.WRITE}; read x",
                                 stdin=subprocess.PIPE, **as_user)
        assert process.stdout.readline() == "new\n"
        (place,) = disk.iterdir()
        clearers = [pid for pid in holders(place / "lock") if pid != process.pid]
        assert len(clearers) == 1
        os.kill(clearers[0], signal.SIGKILL)
        wait_until(lambda: not is_locked(place / "lock"), "the clearer to end")
        still = longship("box", *USR, "--writable-on", disk, tree, "true", **as_user)
        assert still.returncode == 0, still.stderr
        assert place.exists(), "its box still runs"
        process.communicate("\n")
        assert place.exists()
        next_one = longship("-v", "box", *USR, "--writable-on", disk, tree, "true", **as_user)
        assert f"removing {place}" in next_one.stderr
        assert not place.exists()

    def test_a_disk_that_is_not_there_is_named(self, longship, tree, disk):
        done = longship("box", *USR, "--writable-on", disk / "no", tree, "true")
        assert done.returncode == 1
        assert f"cannot use {disk / 'no'} for what the box writes: No such file or directory" in done.stderr
