# SPDX-License-Identifier: Apache-2.0
"""`kill -9` and early ends at each phase of a rank's life: the others are told which rank it was, and when they part nothing is
left of what they shared: no memory, no sockets, no files."""
import os
import signal
import socket
import time
from pathlib import Path

import pytest
from library_alone import LIBRARY, wait_until_all_started

# What a rank holds of its own: compared before init and after shutdown.
BELONGINGS = """
def belongings():
    opened = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")]
    shared = {line.split()[-1] for line in open("/proc/self/maps") if "memfd" in line or "/dev/shm" in line}
    return sorted(one for one in opened if "socket" in one or "memfd" in one or "eventfd" in one), shared

before = belongings()

def part():
    c.longship_shutdown()
    assert belongings() == before, (before, belongings())
"""
ALONE = LIBRARY + BELONGINGS


def shared_files():
    return {path.name for path in Path("/dev/shm").glob("*longship*")}


@pytest.fixture(autouse=True)
def nothing_is_left(ranks, tmp_path, monkeypatch):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    before = shared_files()
    yield
    ranks.kill()
    assert shared_files() <= before
    assert list(temporary.iterdir()) == []


def survivors(processes, victim):
    """What each of the others said."""
    said = []
    for rank, process in enumerate(processes):
        if rank == victim:
            continue
        output, complaint = process.communicate(timeout=60)
        assert process.returncode == 0, f"rank {rank}: {output}{complaint}"
        said.append(output)
    return said


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("victim", [0, 1])
def test_killed_while_nothing_is_asked_for(ranks, nodes, victim):
    """The others learn of it at their next operation."""
    processes = ranks.start(ALONE + """
assert c.longship_init() == 0, error()
data = tensor(1000, True)
assert allreduce(data) == 0, error()
print("started", flush=True)
while not os.path.exists("killed"):
    pass
assert allreduce(data) == -1
print(error())
assert allreduce(data) == -1, "and for good"
c.longship_memory_free(ctypes.c_void_p(ctypes.addressof(data)))
part()
""", 3, nodes=nodes)
    wait_until_all_started(processes)
    processes[victim].kill()
    processes[victim].wait()
    (ranks.directory / "killed").touch()
    for said in survivors(processes, victim):
        assert f"rank {victim} was lost" in said


@pytest.mark.parametrize("nodes", [1, 3])
def test_killed_while_ranks_meet(ranks, nodes):
    """Rank 1 has come, rank 2 has not yet: the meeting fails for those who are there, and names who is not."""
    processes = ranks.start(ALONE + """
import time
if os.environ["RANK"] == "2":
    while not os.path.exists("killed"):
        time.sleep(0.01)
print("started", flush=True)
print(c.longship_init(), error())
part()
""", 3, nodes=nodes, LONGSHIP_RENDEZVOUS_TIMEOUT="4")
    for process in processes[:2]:
        assert process.stdout.readline() == "started\n", process.stderr.read()
    wait_until_it_waits(processes[1])
    processes[1].kill()
    processes[1].wait()
    (ranks.directory / "killed").touch()
    first, last = survivors(processes, victim=1)
    assert first.startswith("-1 cannot join the other ranks: rank 1"), first
    assert "-1 cannot join the other ranks" in last, last


def wait_until_it_waits(process):
    """Until it sleeps in poll() with a connection: it has told rank 0 of itself."""
    def connected():
        links = [os.readlink(link) for link in Path(f"/proc/{process.pid}/fd").iterdir()]
        return sum("socket" in link for link in links) >= 3  # one to rank 0, two that listen
    deadline = time.monotonic() + 30
    while not connected():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


@pytest.mark.parametrize("nodes", [1, 3])
def test_killed_while_the_others_part(ranks, nodes):
    """Whoever shuts down does not wait for one that never will."""
    processes = ranks.start(ALONE + """
assert c.longship_init() == 0, error()
assert c.longship_barrier(b"all are here") == 0, error()
print("started", flush=True)
if c.longship_rank() == 1:
    import signal
    signal.pause()
while not os.path.exists("killed"):
    pass
part()
print("parted")
""", 3, nodes=nodes)
    wait_until_all_started(processes)
    processes[1].kill()
    (ranks.directory / "killed").touch()  # at the same time as they notice, or before
    assert survivors(processes, victim=1) == ["parted\n"] * 2


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("way, said", [("os._exit(0)", "rank 1 was lost"), ("c.longship_shutdown()", "rank 1 has left")])
def test_who_ends_early_without_join_is_named(ranks, nodes, way, said):
    processes = ranks.start(ALONE + f"""
assert c.longship_init() == 0, error()
data = tensor(10, False)
assert allreduce(data) == 0, error()
if c.longship_rank() == 1:
    while not os.path.exists("first is done"):  # there too: who goes earlier may take that one along
        pass
    {way}
else:
    open("first is done", "w").close()
    assert allreduce(data) == -1
    print(error())
    part()
""", 2, nodes=nodes)
    (others,) = survivors(processes, victim=1)
    assert said in others
    assert processes[1].wait(timeout=60) == 0


def test_who_has_another_secret_is_told_and_the_others_say_who_is_missing(ranks):
    processes = ranks.start(ALONE + """
if os.environ["RANK"] == "1":
    os.environ["LONGSHIP_SECRET"] = "0" * 32
print(c.longship_init(), error())
part()
""", 2, LONGSHIP_RENDEZVOUS_TIMEOUT="2")
    first, second = survivors(processes, victim=None)
    assert "rank 1 of 2 did not arrive within 2 s" in first
    assert "does not accept LONGSHIP_SECRET" in second


def test_a_port_that_is_taken_is_named(ranks):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        (process,) = ranks.start(ALONE + f"""
del os.environ["LONGSHIP_RENDEZVOUS_FD"]
os.environ.update(LONGSHIP_RENDEZVOUS="{place}", WORLD_SIZE="2")
print(c.longship_init(), error())
part()
""", 1)
        (said,) = survivors([process], victim=None)
    assert place in said and "Address already in use" in said


def test_a_stopped_rank_holds_up_the_end_of_nobody(ranks):
    """SIGSTOP while the others shut down; it finds itself alone afterwards."""
    processes = ranks.start(ALONE + """
assert c.longship_init() == 0, error()
assert c.longship_barrier(b"all are here") == 0, error()
print("started", flush=True)
if c.longship_rank() == 1:
    import signal
    os.kill(os.getpid(), signal.SIGSTOP)
    assert c.longship_barrier(b"again") == -1
    print(error())
part()
""", 2)
    wait_until_all_started(processes)
    os.waitid(os.P_PID, processes[1].pid, os.WSTOPPED)
    assert processes[0].wait(timeout=60) == 0, processes[0].stderr.read()
    processes[1].send_signal(signal.SIGCONT)
    said, complaint = processes[1].communicate(timeout=60)
    assert processes[1].returncode == 0, complaint
    assert "rank 0" in said
