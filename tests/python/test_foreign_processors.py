# SPDX-License-Identifier: Apache-2.0
"""The reductions on processors that we do not have: the same unit tests, compiled by zig and run by qemu, which knows NEON and VSX."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GTEST, GMOCK = Path("/usr/src/googletest/googletest"), Path("/usr/src/googletest/googlemock")
OURS = ["src/collective/reduce.cpp", "src/collective/numbers.cpp", "src/collective/processor.cpp",
        "tests/collective/reduce_test.cpp", "tests/collective/numbers_test.cpp"]

pytestmark = pytest.mark.skipif(not os.environ.get("LONGSHIP_TEST_ALL"), reason="zig compiles its libraries for each processor first: --all")


@pytest.mark.parametrize("processor, emulator", [("aarch64", "qemu-aarch64-static"), ("powerpc64le", "qemu-ppc64le-static")])
def test_reductions_give_the_same_numbers(tmp_path, processor, emulator):
    assert shutil.which(emulator), "./dev setup installs it"
    (zig,) = (ROOT / ".tools" / "venv" / "lib").glob("python3*/site-packages/ziglang/zig")
    program = tmp_path / "test"
    includes = [tmp_path / "headers", ROOT / "src", ROOT / "tests", GTEST, GTEST / "include", GMOCK / "include"]
    includes[0].mkdir()
    (includes[0] / "fmt").symlink_to("/usr/include/fmt")  # of this processor's headers only this
    subprocess.run(
        [zig, "c++", "-target", f"{processor}-linux-musl", "-static", "-O2", "-std=c++20", "-w", "-DFMT_HEADER_ONLY",
         *(f"-I{directory}" for directory in includes), *OURS, GTEST / "src" / "gtest-all.cc", GTEST / "src" / "gtest_main.cc",
         "-o", program], check=True, cwd=ROOT)
    said = subprocess.run([emulator, program, "--gtest_brief=1"], text=True, capture_output=True)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "[  PASSED  ]" in said.stdout
