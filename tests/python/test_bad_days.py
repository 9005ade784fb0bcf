# SPDX-License-Identifier: Apache-2.0
"""Ranks that die, stop, are cut off or meet a limit in the middle of an all-reduce: the others say which, and go on or end."""
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from library_alone import LIBRARY, wait_until_all_started

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab"))
from network_lab import Network  # noqa: E402

FOR_EVER = LIBRARY + """
assert c.longship_init() == 0, error()
data = tensor(1 << 20, os.environ["SHARED"] == "1")
print("started", flush=True)
while allreduce(data) == 0:
    for i in (0, -1):
        data[i] = 0
print(error(), flush=True)
"""


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


def test_a_stopped_rank_is_named_and_waited_for(ranks):
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
    processes = ranks.start(script, 2, LONGSHIP_STALL_WARNING="0.3")
    wait_until_all_started(processes)
    os.waitid(os.P_PID, processes[1].pid, os.WSTOPPED)
    said = processes[0].stderr.readline()
    assert '"t" has waited' in said and "for rank 1, announced by rank 0" in said
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


@pytest.fixture
def memory_group():
    """A real control group of this kernel with a limit of 256 MiB, which a process joins by writing its number to its cgroup.procs."""
    group = Path("/sys/fs/cgroup/memory") / f"longship-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(256 << 20))
    except OSError as error:
        pytest.skip(f"control groups of memory cannot be made here: {error}")
    yield group
    group.rmdir()


def test_a_memory_limit_of_the_job_is_an_error_that_names_it_and_training_goes_on(ranks, memory_group):
    script = LIBRARY + """
open(os.environ["GROUP"] + "/cgroup.procs", "w").write(str(os.getpid()))
assert c.longship_init() == 0, error()
assert c.longship_memory_new(ctypes.c_size_t(1 << 30)) is None  # would be killed when it is first written
print(error(), flush=True)
data = tensor(1 << 16, True)
data[0] = 1
assert allreduce(data) == 0, error()
assert data[0] == 2
"""
    for said in ranks.run(script, 2, GROUP=str(memory_group)):
        assert "1073741824 bytes of shared memory are more than the" in said, said
        assert f"that the memory limit of this job leaves ({memory_group})" in said, said


@pytest.mark.skipif(not os.environ.get("LONGSHIP_TEST_ALL"), reason="takes 8 GiB of memory: --all")
@pytest.mark.parametrize("nodes", [1, 2])
def test_more_elements_than_32_bits_can_count(ranks, nodes):
    script = LIBRARY + """
assert c.longship_init() == 0, error()
U8, count = 0, (4 << 30) + 5
data = (ctypes.c_uint8 * count).from_address(c.longship_memory_new(ctypes.c_size_t(count)))
places = (0, (4 << 30) - 1, 4 << 30, count - 1)
for i, place in enumerate(places):
    data[place] = 10 * (c.longship_rank() + 1) + i
assert c.longship_allreduce(b"t", ctypes.addressof(data), count, U8, SUM) == 0, error()
assert [data[place] for place in places] == [30, 32, 34, 36], [data[place] for place in places]
assert data[1000] == 0
print("done")
"""
    assert ranks.run(script, 2, nodes=nodes) == ["done\n"] * 2


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
