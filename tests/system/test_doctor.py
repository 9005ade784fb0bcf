# SPDX-License-Identifier: Apache-2.0
"""longship doctor: every line was tried, every "no" has a remedy."""

import errno
import json
import os

from seccomp import forbid


def checks_of(done):
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_it_tells_what_this_machine_can_do(longship):
    done = longship("doctor")
    assert done.returncode == 0, done.stderr
    for line in ("boxes", "user namespaces", "overlay in them", "FUSE", "seccomp filters", "cgroups", "Slurm", "MPI",
                 "GPUs", "memory", "image store", "temporary files", "mmdebstrap", "python3", "openat2"):
        assert line in done.stdout
    assert "✓" in done.stdout


def test_the_same_for_scripts(longship):
    done = longship("doctor", "--json")
    answer = json.loads(done.stdout)
    assert answer["boxes"] is True
    assert all(set(check) == {"name", "verdict", "detail", "remedy"} for check in answer["checks"])
    assert checks_of(done)["boxes"]["verdict"] == "yes"


def test_every_no_has_a_remedy(longship, as_user):
    checks = checks_of(longship("doctor", "--json", **as_user))
    assert all(check["remedy"] for check in checks.values() if check["verdict"] == "no")
    if not os.stat("/dev/fuse").st_mode & 0o006:
        assert "chmod 666 /dev/fuse" in checks["FUSE"]["remedy"]


def test_without_user_namespaces_the_exit_code_is_3(longship, as_user):
    done = longship("doctor", "--json", preexec_fn=forbid(b"unshare", errno.EPERM), **as_user)
    assert done.returncode == 3
    assert json.loads(done.stdout)["boxes"] is False
    checks = checks_of(done)
    assert checks["user namespaces"]["verdict"] == "no"
    assert "seccomp" in checks["user namespaces"]["remedy"]


def test_a_store_without_room_is_named(longship):
    longship.environment["LONGSHIP_STORE"] = "/proc/nowhere"
    check = checks_of(longship("doctor", "--json"))["image store"]
    assert check["verdict"] == "no"
    assert "LONGSHIP_STORE" in check["remedy"]
