# SPDX-License-Identifier: Apache-2.0
"""One liblongship.so for images whose C library is older than this machine's, and newer."""

import json
import re
import subprocess

import pytest
from conftest import PROGRAM, REPOSITORY
from images import STORE, image

SCRIPT = """
import json, os, platform, torch
import longship.torch as hvd
hvd.init()
total = hvd.allreduce(torch.full((1000,), float(hvd.rank() + 1)), op=hvd.Sum)
assert total.eq(3).all(), total
layer = torch.nn.Linear(4, 2)
hvd.broadcast_parameters(layer.state_dict(), root_rank=0)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(layer.parameters(), lr=0.1), named_parameters=layer.named_parameters())
layer(torch.ones(3, 4) * (hvd.rank() + 1)).sum().backward()
optimizer.step()
if hvd.rank() == 0:
    print(json.dumps({"libc": platform.libc_ver()[1], "size": hvd.size(), "torch": torch.__version__}), flush=True)
hvd.shutdown()
os._exit(0)  # bullseye's torch 1.7 aborts at a normal exit after any backward(), also without Longship
"""


@pytest.mark.parametrize("suite, libc", [("bullseye", "2.31"), ("bookworm", "2.36"), ("trixie", "2.41")])
def test_torch_in_an_image_of_another_age(longship, tmp_path, suite, libc):
    name = image(PROGRAM, f"torch-{suite}", suite, "python3-torch", "python3-numpy",
                 *(["python3-sklearn"] if suite == "bookworm" else []))
    longship.environment["LONGSHIP_STORE"] = str(STORE)
    (tmp_path / "script.py").write_text(SCRIPT)
    ended = longship("launch", "-n", 2, "--no-prefix", "--image", name, "--bind", f"{tmp_path}:/job",
                     "python3", "/job/script.py", timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) | {"torch": ""} == {"libc": libc, "size": 2, "torch": ""}


def test_library_asks_for_nothing_newer_than_glibc_2_28():
    library = REPOSITORY / "build" / "lib" / "longship" / "liblongship.so"
    symbols = subprocess.run(["objdump", "-T", library], text=True, capture_output=True, check=True).stdout
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([0-9.]+)", symbols)}
    assert versions and max(versions) <= (2, 28)
    headers = subprocess.run(["readelf", "-d", library], text=True, capture_output=True, check=True).stdout
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", headers))
    assert needed <= {"libc.so.6", "libpthread.so.0", "libm.so.6", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2"}
