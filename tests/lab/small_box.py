# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests of boxes: an image with almost nothing in it, as a directory and as a SquashFS file, and FUSE."""

import os
import subprocess

import pytest
from fuse import fuse_for_everybody

USR = ("--bind", "/usr:/usr:ro")  # programs are the host's


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    (root / "usr").mkdir(parents=True)
    (root / "etc").mkdir()
    (root / "etc" / "marker").write_text("the image's\n")
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    return root


@pytest.fixture
def image(tree, tmp_path):
    path = tmp_path / "image.sqfs"
    subprocess.run(["mksquashfs", tree, path, "-quiet", "-no-progress", "-all-root"], check=True, capture_output=True)
    return path


@pytest.fixture
def fuse():
    if not os.path.exists("/dev/fuse"):
        pytest.skip("there is no /dev/fuse")
    with fuse_for_everybody():
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            pytest.skip("/dev/fuse is closed, and only root can open it")
        yield
