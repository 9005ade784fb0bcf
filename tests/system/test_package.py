# SPDX-License-Identifier: Apache-2.0
"""The package runs wherever it is unpacked, also on a system with an older C library."""

import json
import subprocess

import pytest
from conftest import PROGRAM, REPOSITORY
from images import STORE, image


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    into = tmp_path_factory.mktemp("package")
    subprocess.run([REPOSITORY / "tools" / "package.sh", PROGRAM.parents[1], into], check=True, capture_output=True)
    (tarball,) = into.glob("longship-*.tar.gz")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    subprocess.run(["tar", "-xzf", tarball, "-C", elsewhere], check=True)
    (unpacked,) = elsewhere.iterdir()
    return unpacked


def test_package_runs_where_it_was_unpacked(package):
    said = subprocess.run([package / "bin" / "longship", "--version"], text=True, capture_output=True, check=True)
    assert said.stdout.startswith("longship ")


def test_package_runs_in_an_older_system(package, longship):
    name = image(PROGRAM, "torch-bullseye", "bullseye", "python3-torch", "python3-numpy")
    longship.environment["LONGSHIP_STORE"] = str(STORE)
    inside = ["box", name, "--bind", f"{package}:/mnt", "--", "/mnt/bin/longship"]
    doctor = longship(*inside, "doctor", "--json")
    assert doctor.returncode in (0, 3), doctor.stderr
    assert json.loads(doctor.stdout)
    box = longship(*inside, "box", "/", "--", "sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME")
    assert (box.returncode, box.stdout) == (0, "bullseye\n"), box.stderr
