# SPDX-License-Identifier: Apache-2.0
"""What liblongship.so may need and show: it is loaded into processes with any framework and any libc from 2.28 on."""
import re
import subprocess

from ranks import BOX_SIDE

LIBRARY = BOX_SIDE / "liblongship.so"


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_needs_no_symbol_newer_than_glibc_2_28():
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", output_of("objdump", "-T", str(LIBRARY)))
    assert versions
    assert max((int(major), int(minor)) for major, minor in versions) <= (2, 28)


def test_needs_libc_and_nothing_else():
    needed = re.findall(r"NEEDED.*\[(.*)\]", output_of("readelf", "-d", str(LIBRARY)))
    assert needed
    assert [name for name in needed if not re.match(r"(libc|libpthread|libm|libdl|librt|ld-linux.*)\.so", name)] == []


def test_shows_only_its_own_functions():
    symbols = output_of("nm", "-D", "--defined-only", str(LIBRARY)).split("\n")
    names = [line.split()[-1] for line in symbols if line]
    assert "longship_init" in names
    assert [name for name in names if not name.startswith("longship_")] == []
