# SPDX-License-Identifier: Apache-2.0
"""Kernels that lack a system call, and filters that refuse one: each has a fallback, forced here by seccomp."""

import errno
import os

import pytest
from conftest import needs
from seccomp import forbid
from small_box import USR, fuse, image, tree  # noqa: F401 (fixtures)

pytestmark = [needs("mksquashfs"), pytest.mark.usefixtures("nothing_stays_behind")]

NEW_MOUNT_API = [b"fsopen", b"fsconfig", b"fsmount", b"open_tree", b"move_mount", b"mount_setattr"]
CALLS = {"openat2": [b"openat2"], "new mount API": NEW_MOUNT_API, "pidfd_open": [b"pidfd_open"],
         "close_range": [b"close_range"], "preadv2": [b"preadv2"], **{call.decode(): [call] for call in NEW_MOUNT_API}}
ANSWERS = {"ENOSYS": errno.ENOSYS, "EPERM": errno.EPERM}
each_call = pytest.mark.parametrize("calls", CALLS.values(), ids=CALLS)
each_answer = pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
LOOK = "cat /etc/marker; ls /etc; cat /link; touch /usr/x 2>&1 | grep -o 'Read-only file system'"
SEEN = "the image's\nmarker\nthe image's\nRead-only file system\n"
RDONLY_NODEV, NODEV = 1 | 4, 4  # how overlays are mounted, and nothing else


@pytest.fixture(autouse=True)
def link(tree):
    (tree / "link").symlink_to("/etc/marker")


def look(longship, image, *words, **options):
    done = longship("-v", "box", *USR, *words, image, "--", "sh", "-c", LOOK, **options)
    # Names that the box adds to /etc are no concern of this.
    lines = [line for line in done.stdout.splitlines(keepends=True) if line.strip() not in
             ("group", "hosts", "localtime", "passwd", "resolv.conf")]
    assert "".join(lines) == SEEN, done.stderr
    return done.stderr


@each_answer
@each_call
def test_a_box_from_a_directory(longship, tree, as_user, calls, answer):
    look(longship, tree, preexec_fn=forbid(calls, answer), **as_user)


@each_answer
@each_call
def test_a_box_from_squashfs_for_a_user(longship, image, fuse, as_user, calls, answer):
    said = look(longship, image, preexec_fn=forbid(calls, answer), **as_user)
    assert f"{image}: fuse" in said


@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
@each_answer
@each_call
def test_a_box_from_squashfs_for_root(longship, image, calls, answer):
    look(longship, image, preexec_fn=forbid(calls, answer))


@each_answer
@each_call
def test_ranks_in_a_box(longship, tree, as_user, calls, answer):
    done = longship("launch", "-n", "2", "--image", tree, "--bind", "/usr:/usr:ro", "--no-prefix", "sh", "-c",
                    "cat /etc/marker", preexec_fn=forbid(calls, answer), **as_user)
    assert done.stdout == "the image's\n" * 2, done.stderr


@pytest.mark.parametrize("answer", [errno.EPERM, errno.ENODEV, errno.EINVAL], ids=["EPERM", "ENODEV", "EINVAL"])
def test_without_overlay_mount_points_come_by_binds(longship, tree, as_user, answer):
    said = look(longship, tree, preexec_fn=forbid(b"mount", answer, a3=RDONLY_NODEV), **as_user)
    assert "no overlay (overlay:" in said and "mount points by binds" in said


def test_without_overlay_a_writable_box_is_refused_with_the_reason(longship, tree, as_user):
    done = longship("box", *USR, "--writable", tree, "true", preexec_fn=forbid(b"mount", errno.EPERM, a3=NODEV), **as_user)
    assert done.returncode == 3
    assert "a writable box needs an overlay file system in a user namespace, which is refused here" in done.stderr
    assert "Linux 5.11 or newer" in done.stderr


def test_a_kernel_whose_fuse_wants_every_open_answered(longship, image, fuse, as_user):
    """Before Linux 5.1 "not implemented" to an opendir reached the program."""
    longship.environment |= {"LONGSHIP_FUSE": "old", "LONGSHIP_SQUASHFS": "fuse"}
    look(longship, image, **as_user)
