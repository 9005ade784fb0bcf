# SPDX-License-Identifier: Apache-2.0
"""MPI programs: their ranks are tasks of srun or mpiexec, outside, and run in boxes, inside.

The lab's nodes share one host, which the MPIs notice. Open MPI then mixes up the nodes' segments and is told to use TCP.
MPICH's UCX wants shared memory between nodes, which are different boxes: it works through /dev/shm, not through /proc. (Over
TCP alone MPICH 4.0.2 was seen to hang in MPI_Finalize here.)
"""

import json
import os
import re
import signal
import subprocess

import pytest
from conftest import PROGRAM, REPOSITORY, launcher_below, needs, wait_until
from images import STORE, mpi_ring, mpich_of
from slurm_lab import slurm

pytestmark = pytest.mark.usefixtures("nothing_stays_behind")

ONE_HOST = {"OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": "lo", "UCX_TLS": "self,posix",
            "UCX_POSIX_USE_PROC_LINK": "n"}
VERSIONS = {"openmpi": "Open MPI v", "mpich": "MPICH Version"}
FAMILIES = list(VERSIONS)
slurm_here = needs("slurmctld", "slurmd", "munged", "srun")


@pytest.fixture(scope="module")
def lab():
    with slurm(nodes=2) as environment:
        yield environment


@pytest.fixture
def allocated(lab, longship):
    """Starts longship inside an allocation of both nodes, as a user at a terminal would."""
    longship.environment.update(lab | ONE_HOST | {"LONGSHIP_STORE": str(STORE)})

    def start(*words, nodes=2, **options):
        return longship.start(*words, before=["salloc", "-Q", "-N", str(nodes)], **options)

    yield start
    subprocess.run(["scancel", "-u", str(os.getuid())], env=longship.environment, check=False)
    wait_until(lambda: not subprocess.run(["squeue", "-h"], env=longship.environment, capture_output=True).stdout,
               "all jobs to leave the queue")


def finish(process, timeout=120):
    output, errors = process.communicate(timeout=timeout)
    return process.returncode, output, errors


def launch(family, *words):
    return ["launch", "--mpi", "--per-node", "2", "--image", mpi_ring(PROGRAM, family), *words]


@slurm_here
@pytest.mark.parametrize("family", FAMILIES)
def test_ranks_on_two_nodes_find_each_other(allocated, family, tmp_path):
    code, output, errors = finish(allocated(*launch(family, "--output", tmp_path / "output", "ring")))
    assert code == 0, errors
    lines = output.splitlines()
    for rank, node in [(0, 1), (1, 1), (2, 2), (3, 2)]:
        assert f"[node{node} {rank}] rank {rank} of 4 on node{node}" in lines
    assert re.search(rf"\[node1 0\] ring 6, sum 10, {VERSIONS[family]}", output)
    assert (tmp_path / "output" / "rank-00003.out").read_text() == "rank 3 of 4 on node2\n"


@slurm_here
def test_the_ranks_of_a_node_share_one_box(allocated):
    script = "echo $RANK $(readlink /proc/self/ns/user) $(readlink /proc/self/ns/mnt)"
    code, output, errors = finish(allocated(*launch("openmpi", "--no-prefix", "sh", "-c", script)))
    assert code == 0, errors
    space = dict(line.split(" ", 1) for line in output.splitlines())
    assert space["0"] == space["1"] != space["2"] == space["3"]


@slurm_here
@pytest.mark.parametrize("family", FAMILIES)
def test_a_failing_rank_stops_the_others_with_its_code(allocated, family):
    script = "if [ $RANK = 3 ]; then echo out of luck >&2; exit 9; fi; exec sleep 600"
    code, _, errors = finish(allocated(*launch(family, "sh", "-c", script)))
    assert code == 9
    assert "rank 3 on node2 exited with code 9; the last it said on stderr:" in errors
    assert "longship:   out of luck" in errors


@slurm_here
@pytest.mark.parametrize("family", FAMILIES)
def test_ctrl_c_reaches_all_ranks(allocated, family):
    script = "trap 'echo saving; exit 0' TERM; echo up; while :; do sleep 0.05; done"
    process = allocated(*launch(family, "sh", "-c", script))
    for _ in range(4):
        process.stdout.readline()
    os.kill(launcher_below(process), signal.SIGINT)
    code, output, _ = finish(process)
    assert code == 130
    assert output.count("saving") == 4


@slurm_here
def test_a_killed_launcher_leaves_nothing(allocated):
    process = allocated(*launch("openmpi", "sh", "-c", "trap '' TERM; echo up; while :; do sleep 600; done"))
    for _ in range(4):
        process.stdout.readline()
    os.kill(launcher_below(process), signal.SIGKILL)
    finish(process)


@slurm_here
@pytest.mark.parametrize("family", FAMILIES)
def test_a_job_with_launch_mpi(allocated, family, tmp_path):
    mpi_ring(PROGRAM, family)
    code, output, errors = finish(allocated("run", REPOSITORY / "examples" / "mpi" / "job.toml", "--into", tmp_path / "runs",
                                            "--set", f"image=mpi-ring:{family}"))
    assert code == 0, errors
    assert "ring 6, sum 10" in output
    assert "rank 3 of 4 on node2" in (tmp_path / "runs" / "ring-1" / "output" / "rank-00003.out").read_text()


@needs("mpiexec")
@pytest.mark.parametrize("family", FAMILIES)
def test_on_a_plain_machine_the_hosts_mpiexec_starts_them(longship, family):
    longship.environment["LONGSHIP_STORE"] = str(STORE)
    done = longship("launch", "--mpi", "-n", "3", "--image", mpi_ring(PROGRAM, family), "ring")
    assert done.returncode == 0, done.stderr
    assert re.search(rf"^\[0\] ring 3, sum 6, {VERSIONS[family]}", done.stdout, re.M)
    assert "[2] rank 2 of 3" in done.stdout


@pytest.mark.parametrize("family", FAMILIES)
def test_on_a_machine_without_mpi_the_images_own_starts_them(longship, family, tmp_path):
    """PATH without any mpiexec."""
    longship.environment.update(LONGSHIP_STORE=str(STORE), PATH=str(tmp_path / "empty"))
    done = longship("launch", "--mpi", "-n", "2", "--image", mpi_ring(PROGRAM, family), "ring")
    assert done.returncode == 0, done.stderr
    assert re.search(rf"^\[0\] ring 1, sum 3, {VERSIONS[family]}", done.stdout, re.M)


def test_without_mpi_and_without_an_image_it_is_told(longship, tmp_path):
    longship.environment["PATH"] = str(tmp_path / "empty")
    done = longship("launch", "--mpi", "-n", "2", "/bin/true")
    assert done.returncode == 3
    assert "there is no mpiexec" in done.stderr


def test_a_directory_of_path_that_one_may_not_look_into_is_passed_over(longship, as_user, tmp_path):
    closed = tmp_path / "closed"  # of root's, as /root/bin is
    closed.mkdir(mode=0o700)
    longship.environment["PATH"] = str(closed)
    done = longship("launch", "--mpi", "-n", "2", "true", **as_user)
    assert done.returncode == 3 and "there is no mpiexec" in done.stderr, done.stderr


@pytest.mark.parametrize("family", FAMILIES)
def test_the_mpi_of_an_image_is_found_by_looking(longship, family):
    longship.environment["LONGSHIP_STORE"] = str(STORE)
    done = longship("--json", "image", "show", mpi_ring(PROGRAM, family))
    assert done.returncode == 0, done.stderr
    assert re.search(rf'"mpi": ?"{family} \d+\.\d+', done.stdout)
    facts = json.loads(done.stdout)["facts"]["software"]
    assert facts["mpi-abi"] == LIBRARIES[family]
    assert re.fullmatch(r"3\.4\.\d+", facts["libstdc++"])
    assert ("pmix" in facts) == (family == "openmpi")


VICTIM = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1 & 0xffffffffffffffff), 0, 0, 0)  # where Yama asks for it
secret = ctypes.create_string_buffer(b"known to the ranks of a node")
print(os.getpid(), ctypes.addressof(secret), flush=True)
sys.stdin.read()
"""
READER = """
import ctypes, os, sys
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(28)
local, remote = Piece(ctypes.addressof(buffer), 28), Piece(int(sys.argv[2]), 28)
got = libc.process_vm_readv(int(sys.argv[1]), ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
print(buffer.value.decode() if got == 28 else os.strerror(ctypes.get_errno()))
"""


@pytest.mark.parametrize("names, expected", [(["ring", "ring"], "known to the ranks of a node"),
                                             (["ring", "other"], "Operation not permitted")])
def test_cross_memory_attach_works_within_a_joined_box_only(longship, as_user, names, expected):
    environment = longship.environment | {"XDG_RUNTIME_DIR": ""}
    victim = longship.start("box", "--join", names[0], "/", "--", "/usr/bin/python3", "-c", VICTIM, stdin=subprocess.PIPE,
                            env=environment, **as_user)
    pid, address = victim.stdout.readline().split()
    reader = longship("box", "--join", names[1], "/", "--", "/usr/bin/python3", "-c", READER, pid, address, env=environment,
                      **as_user)
    assert reader.stdout.strip() == expected, reader.stderr
    victim.communicate(timeout=30)


# --- the host's MPI in place of the image's

LIBRARIES = {"openmpi": "libmpi.so.40", "mpich": "libmpich.so.12"}
LOADED = "ldd /usr/local/bin/ring | grep {} && exec ring"
needs_mpi = needs("mpiexec.openmpi", "mpiexec.mpich")


@slurm_here
@needs_mpi
@pytest.mark.parametrize("family", FAMILIES)
def test_ranks_on_two_nodes_with_the_hosts_mpi(allocated, family):
    words = launch(family, "--host-mpi", "sh", "-c", LOADED.format(LIBRARIES[family]))
    code, output, errors = finish(allocated(*words))
    assert code == 0, errors
    assert output.count(f"{LIBRARIES[family]} => /opt/longship-host/mpi/lib/{LIBRARIES[family]} ") == 4
    assert re.search(rf"\[node1 0\] ring 6, sum 10, {VERSIONS[family]}", output)


@slurm_here
@needs_mpi
@pytest.mark.parametrize("family, pmi", [("openmpi", "pmix"), ("mpich", "pmi2")])
def test_srun_outside_and_boxes_with_the_hosts_mpi_inside(lab, longship, family, pmi):
    environment = longship.environment | lab | ONE_HOST | {"LONGSHIP_STORE": str(STORE)}
    done = subprocess.run(["srun", "-N", "2", "-n", "4", f"--mpi={pmi}", PROGRAM, "box", "--join", "ring", "--mpi", "host",
                           mpi_ring(PROGRAM, family), "sh", "-c", LOADED.format(LIBRARIES[family])],
                          env=environment, text=True, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("=> /opt/longship-host/mpi/lib/") == 4
    assert "ring 6, sum 10" in done.stdout


@slurm_here
@needs_mpi
def test_a_job_uses_the_hosts_mpi_where_the_site_wants_it(allocated, longship, tmp_path):
    mpi_ring(PROGRAM, "mpich")
    longship.environment["LONGSHIP_MPI"] = "host"
    code, output, errors = finish(allocated("-v", "run", REPOSITORY / "examples" / "mpi" / "job.toml", "--into", tmp_path / "runs",
                                            "--set", "image=mpi-ring:mpich"))
    assert code == 0, errors
    assert "ring 6, sum 10" in output
    assert "the host's MPI (mpich) is let in" in errors


@needs_mpi
def test_the_hosts_mpi_takes_the_place_of_a_newer_one_of_the_same_abi(longship, tmp_path):
    """The program is bookworm's, the image trixie's, with a newer MPICH and C library; the MPI is the host's."""
    longship.environment["LONGSHIP_STORE"] = str(STORE)
    program = tmp_path / "ring"
    program.write_bytes(subprocess.run([PROGRAM, "box", mpi_ring(PROGRAM, "mpich"), "cat", "/usr/local/bin/ring"],
                                       env=longship.environment, capture_output=True, check=True).stdout)
    program.chmod(0o755)
    words = ["launch", "--mpi", "-n", "2", "--bind", f"{program}:/usr/local/bin/ring", "--image", mpich_of(PROGRAM, "trixie")]
    version = re.compile(r"ring 1, sum 3, MPICH Version:\s+(\S+)")
    own, hosts = longship(*words, "ring"), longship(*words[:2], "--host-mpi", *words[2:], "ring")
    assert own.returncode == 0, own.stderr
    assert hosts.returncode == 0, hosts.stderr
    here = re.search(r"Version:\s+(\S+)", subprocess.run(["mpiexec.mpich", "--version"], capture_output=True, text=True,
                                                        check=True).stdout).group(1)
    assert version.search(hosts.stdout).group(1) == here
    assert version.search(own.stdout).group(1) != here


@needs_mpi
def test_an_image_with_an_older_c_library_is_refused_with_the_symbol(longship):
    longship.environment["LONGSHIP_STORE"] = str(STORE)
    done = longship("box", "--mpi", "host", mpich_of(PROGRAM, "bullseye"), "true")
    assert done.returncode == 3
    assert re.search(r"its lib\S+ wants GLIBC_2\.3\d, and the image has glibc 2\.31", done.stderr)
    assert "use the image's own MPI" in done.stderr


@needs_mpi
def test_only_an_mpi_of_the_images_abi_is_let_in(longship):
    longship.environment["LONGSHIP_STORE"] = str(STORE)
    library = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    path = re.search(r"libmpich\.so\.12 .*=> (\S+)", library).group(1)
    done = longship("box", "--mpi", path, mpi_ring(PROGRAM, "openmpi"), "true")
    assert done.returncode == 3
    assert "the image has Open MPI, the MPI of this host is MPICH" in done.stderr


def test_an_unknown_choice_of_mpi_is_wrong_use(longship):
    done = longship("box", "--mpi", "hosts", "/", "true")
    assert done.returncode == 2
