# SPDX-License-Identifier: Apache-2.0
"""longship check: whether an image fits, before the run; each "no" with its reason and remedy."""

import errno
import json
import os
import re
import shutil

import pytest
from conftest import PROGRAM, needs, wait_until
from hub_lab import HubLab
from images import STORE, mpi_ring, mpich_of
from seccomp import forbid

SITE = """
version = 1
name = "lake"
batch = "local"
spool = "/tmp/spool"
[node]
arch = "{arch}"
cores = 4
[host]
kernel = "5.14"
pmi = ["none", "pmi2", "pmix", "pmix_v4"]
{more}
"""


@pytest.fixture
def ready(longship):
    longship.environment["LONGSHIP_STORE"] = str(STORE)
    return longship


@pytest.fixture
def site(tmp_path):
    def write(arch="x86_64", more=""):
        path = tmp_path / "site.toml"
        path.write_text(SITE.format(arch=arch, more=more))
        return path
    return write


def findings_of(done):
    return {finding["about"]: finding for finding in json.loads(done.stdout)["findings"]}


@needs("mpiexec")
def test_an_image_of_this_release_fits_this_machine(ready):
    done = ready("check", mpi_ring(PROGRAM, "openmpi"))
    assert done.returncode == 0, done.stdout + done.stderr
    for word in ("architecture", "C library", "MPI", "boxes", "✓"):
        assert word in done.stdout
    assert "✗" not in done.stdout


def test_the_same_for_scripts(ready, site):
    done = ready("check", mpi_ring(PROGRAM, "openmpi"), "--on", site(), "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["fits"] is True
    assert answer["image"] == "mpi-ring:openmpi"
    assert all(set(finding) == {"about", "fit", "reason", "remedy"} for finding in answer["findings"])
    assert re.match(r"the image has 4\.\d", findings_of(done)["PMIx"]["reason"])


def test_another_architecture_is_the_first_reason(ready, site):
    done = ready("check", mpi_ring(PROGRAM, "openmpi"), "--on", site(arch="aarch64"))
    assert done.returncode == 3
    assert done.stdout.splitlines()[0].split() == "✗ architecture the image is for x86_64, site lake is aarch64".split()
    assert "→ build the image on a machine that is aarch64" in done.stdout


def test_open_mpi_on_an_mpich_site(ready, site):
    file = site(more='[host.mpi]\nfamily = "mpich"\n')
    done = ready("check", mpi_ring(PROGRAM, "openmpi"), "--on", file, "--json")
    assert done.returncode == 3
    finding = findings_of(done)["MPI"]
    assert finding["fit"] == "none"
    assert finding["reason"] == "the image has Open MPI, the MPI of the site is MPICH"
    assert "MPICH" in finding["remedy"]
    assert ready("check", mpi_ring(PROGRAM, "openmpi"), "--on", file, "--without-mpi").returncode == 0
    assert ready("check", mpi_ring(PROGRAM, "mpich"), "--on", file).returncode == 0


def test_a_glibc_older_than_the_hosts_mpi_wants_is_named_by_its_symbol(ready, site):
    more = '[host.mpi]\nfamily = "mpich"\nglibc = "2.34"\n'
    done = ready("check", mpich_of(PROGRAM, "bullseye"), "--on", site(more=more), "--json")
    assert done.returncode == 0, done.stderr  # its own MPI works
    finding = findings_of(done)["host MPI"]
    assert finding["fit"] == "limited"
    assert "wants GLIBC_2.34, the image has glibc 2.31" in finding["reason"]
    done = ready("check", mpich_of(PROGRAM, "bullseye"), "--on", site(more=more + "let_in = true\n"))
    assert done.returncode == 3
    assert "✗  host MPI" in done.stdout


def test_without_user_namespaces_it_does_not_fit(ready, as_user):
    mpi_ring(PROGRAM, "mpich")
    done = ready("check", "mpi-ring:mpich", "--without-mpi", "--json", preexec_fn=forbid(b"unshare", errno.EPERM), **as_user)
    assert done.returncode == 3, done.stderr
    finding = findings_of(done)["boxes"]
    assert finding["fit"] == "none"
    assert finding["remedy"]


def test_a_site_of_the_hub_by_its_name(longship, tmp_path):
    """A small image that is certain to be there: a directory with a shell."""
    (tmp_path / "root" / "bin").mkdir(parents=True)
    (tmp_path / "root" / "bin" / "sh").write_bytes(open("/bin/sh", "rb").read())
    assert longship("image", "import", tmp_path / "root", "-t", "small").returncode == 0
    hub = HubLab(longship, tmp_path / "hub").start()
    try:
        def sites():
            return [site["name"] for site in hub.get("/v1/sites")["sites"] if site["state"] == "up"]
        name = wait_until(sites, "the site to be up")[0]
        done = longship("check", "small", "--on", name, "--json")
        assert done.returncode == 0, done.stderr
        assert findings_of(done)["architecture"]["fit"] == "good"
        done = longship("check", "small", "--on", "nowhere")
        assert done.returncode == 1
        assert "nowhere" in done.stderr
    finally:
        hub.stop()


def test_what_is_not_there_is_said(longship, site, tmp_path):
    assert longship("check", "nothing").returncode == 1
    done = longship("check", "--help")
    assert "longship check hpc-torch --on supermuc" in done.stdout


@pytest.fixture
def tree(tmp_path):
    """As much of a system as tells what it is."""
    root = tmp_path / "root"
    for path in ("/bin/sh", "/lib/x86_64-linux-gnu/libc.so.6"):
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / path[1:])
    (root / "etc").mkdir()
    (root / "etc/os-release").write_text('PRETTY_NAME="Lake Linux"\n')
    (root / "etc/secret").write_text("nobody's")
    return root


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the tree has x86_64's paths")
def test_a_directory_and_a_squashfs_file_are_looked_at(longship, site, tree, tmp_path):
    assert longship("image", "export", tree, tmp_path / "x.sqfs").returncode == 0
    (tree / "etc/secret").chmod(0)  # what one may not read does not matter
    for image in tree, tmp_path / "x.sqfs":
        done = longship("check", image, "--json", "--on", site())
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["image"] == str(image)
        assert findings_of(done)["architecture"]["fit"] == "good"
        other = longship("check", image, "--on", site(arch="aarch64"))
        assert other.returncode == 3
        assert "the image is for x86_64, site lake is aarch64" in other.stdout


def test_a_path_that_is_no_image_is_named(longship, tmp_path):
    (tmp_path / "x").write_text("no image")
    os.mkfifo(tmp_path / "pipe")  # into which nobody writes
    neither = "it is neither a directory nor a SquashFS file; of an archive `longship image import` makes one"
    for path, said in ((tmp_path / "x", neither), (tmp_path / "pipe", neither), ("/dev/zero", neither),
                       (tmp_path / "y", "no such file or directory")):
        done = longship("check", path)
        assert done.returncode == 1
        assert str(path) in done.stderr and said in done.stderr
