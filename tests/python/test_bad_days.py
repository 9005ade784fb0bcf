# SPDX-License-Identifier: Apache-2.0
"""Ranks that die, stop, are cut off or meet a limit in the middle of an all-reduce: the others say which, and go on or end."""
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import BOX_SIDE

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))
from network_lab import Network  # noqa: E402

# Without torch, which takes longer to load than all of this.
LIBRARY = f"""
import ctypes, os, sys
c = ctypes.CDLL({str(BOX_SIDE / "liblongship.so")!r})
c.longship_last_error.restype = ctypes.c_char_p
c.longship_memory_new.restype = ctypes.c_void_p
c.longship_allreduce.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int]
F32, SUM = 6, 0

def tensor(count, shared):
    if not shared:
        return (ctypes.c_float * count)()
    return (ctypes.c_float * count).from_address(c.longship_memory_new(ctypes.c_size_t(count * 4)))

def allreduce(data):
    return c.longship_allreduce(b"t", ctypes.addressof(data), len(data), F32, SUM)

def error():
    return c.longship_last_error().decode()
"""

FOR_EVER = LIBRARY + """
assert c.longship_init() == 0, error()
data = tensor(1 << 20, os.environ["SHARED"] == "1")
print("started", flush=True)
while allreduce(data) == 0:
    for i in (0, -1):
        data[i] = 0
print(error(), flush=True)
"""


def wait_until_all_started(processes):
    for process in processes:
        assert process.stdout.readline() == "started\n", process.stderr.read()


@pytest.mark.parametrize("shared", ["1", "0"])
@pytest.mark.parametrize("nodes", [1, 3])
def test_a_killed_rank_is_named_by_all_others(ranks, shared, nodes):
    processes = ranks.start(FOR_EVER, 3, nodes=nodes, SHARED=shared)
    wait_until_all_started(processes)
    processes[1].kill()
    for rank in (0, 2):
        said, complaint = processes[rank].communicate(timeout=60)
        assert processes[rank].returncode == 0, complaint
        assert ("rank 1 was lost" if nodes == 1 else "was lost") in said, said


def test_a_stopped_rank_is_waited_for(ranks):
    script = LIBRARY + """
assert c.longship_init() == 0, error()
data = tensor(1 << 20, True)
for turn in range(20):
    for i in (0, 1000, -1):
        data[i] = c.longship_rank() + 1
    if turn == 5:
        print("started", flush=True)
        if c.longship_rank() == 1:
            import signal
            os.kill(os.getpid(), signal.SIGSTOP)
    assert allreduce(data) == 0, error()
    assert data[0] == data[1000] == data[-1] == 3, data[0]
print("done", flush=True)
"""
    processes = ranks.start(script, 2)
    wait_until_all_started(processes)
    os.waitid(os.P_PID, processes[1].pid, os.WSTOPPED)
    assert processes[0].poll() is None
    processes[1].send_signal(signal.SIGCONT)
    assert ranks.finish() == ["done\n", "done\n"]


def test_a_limit_of_files_is_an_error_that_names_it_and_training_goes_on(ranks):
    script = LIBRARY + """
import resource
assert c.longship_init() == 0, error()
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
assert c.longship_memory_new(ctypes.c_size_t(16 << 20)) is None
print(error(), flush=True)
data = tensor(1 << 16, False)
data[0] = 1
assert allreduce(data) == 0, error()
assert data[0] == 2
"""
    for said in ranks.run(script, 2):
        assert "ulimit -f" in said


def test_memory_stays_when_longship_is_shut_down_and_goes_when_it_is_freed(ranks):
    script = LIBRARY + """
assert c.longship_init() == 0, error()
data = tensor(1000, True)
data[7] = 5
assert c.longship_shutdown() == 0
assert data[7] == 5
address = ctypes.c_void_p(ctypes.addressof(data))
assert c.longship_memory_free(address) == 0
assert c.longship_memory_free(address) == -2
print(error())
"""
    assert "no memory of longship_memory_new" in ranks.run(script, 2)[0]


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces with shaped links need root")
def test_a_cut_cable_is_noticed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(FOR_EVER)
    secret = secrets.token_hex(16)
    with Network(nodes=2, gigabits=10) as network:
        processes = [subprocess.Popen(
            network.command(rank, sys.executable, script, RANK=rank, WORLD_SIZE=2, LONGSHIP_NODE=f"node{rank}", SHARED=0,
                            LONGSHIP_RENDEZVOUS=f"{network.address(0)}:47000", LONGSHIP_SECRET=secret, LONGSHIP_LINK_TIMEOUT=2),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for rank in range(2)]
        try:
            wait_until_all_started(processes)
            network.cut(1)
            for rank, process in enumerate(processes):
                said, complaint = process.communicate(timeout=60)
                assert process.returncode == 0, complaint
                assert f"rank {1 - rank} was lost" in said, said
        finally:
            for process in processes:
                process.kill()
                process.communicate()
