# SPDX-License-Identifier: Apache-2.0
"""The same script under everybody's launcher: it finds rank, size and the others by itself."""

import os
import subprocess

import pytest
from conftest import PROGRAM, needs
from slurm_lab import slurm

pytestmark = pytest.mark.usefixtures("nothing_stays_behind")

SCRIPT = """
import torch
import longship.torch as hvd
hvd.init()
total = hvd.allreduce(torch.tensor([float(hvd.rank())]), op=hvd.Sum, name="ranks").item()
# In one write: launchers mix what two ranks write in pieces.
print(f"{hvd.rank()}/{hvd.size()} local {hvd.local_rank()}/{hvd.local_size()} sum {total:.0f} "
      f"threads {torch.get_num_threads()}\\n", end="", flush=True)
"""

# Debian's torch 1.13 does not know the enumerations of Python 3.11, and its torchrun fails at once.
TORCHRUN = """
import sys
from torch.distributed.elastic.multiprocessing import api
from_str = api.Std.from_str.__func__
api.Std.from_str = classmethod(lambda kind, text: from_str(kind, text) or kind(int(text)))
from torch.distributed.run import main
main()
"""


@pytest.fixture
def started_by(longship, tmp_path):
    """Runs the script, by the words of a launcher, and returns its lines in the order of ranks."""
    (tmp_path / "train.py").write_text(SCRIPT)
    library = PROGRAM.resolve().parents[1] / "lib" / "longship" / "python"

    def run(*launcher, environment=None, **options):
        environment = longship.environment | {"PYTHONPATH": str(library)} | (environment or {})
        result = subprocess.run([*launcher, "/usr/bin/python3", str(tmp_path / "train.py")], env=environment, text=True,
                                cwd=tmp_path, capture_output=True, timeout=120, **options)
        assert result.returncode == 0, result.stderr
        return sorted(line.rsplit(" threads")[0] for line in result.stdout.splitlines() if " sum " in line)

    return run


TWO = ["0/2 local 0/2 sum 1", "1/2 local 1/2 sum 1"]


def test_nobody(started_by):
    assert started_by() == ["0/1 local 0/1 sum 0"]


def test_longship_launch(started_by):
    assert [line.split("] ")[-1] for line in started_by(PROGRAM, "launch", "-n", "2")] == TWO


@needs("mpirun.openmpi")
def test_mpirun_of_open_mpi(started_by):
    assert started_by("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2") == TWO


@needs("mpirun.openmpi")
def test_mpirun_as_an_ordinary_user(started_by, as_user):
    assert started_by("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2", **as_user) == TWO


@needs("mpiexec.mpich")
def test_mpiexec_of_mpich_also_through_a_shell(started_by):
    assert started_by("mpiexec.mpich", "-n", "2") == TWO
    assert started_by("mpiexec.mpich", "-n", "2", "sh", "-c", '"$@"; true', "sh") == TWO


def test_torchrun(started_by, tmp_path):
    (tmp_path / "torchrun.py").write_text(TORCHRUN)
    assert started_by("/usr/bin/python3", tmp_path / "torchrun.py", "--standalone", "--nproc_per_node", "2",
                      "--log_dir", tmp_path / "log", "--no_python") == TWO


def test_jsrun_as_its_variables_say(started_by, tmp_path):
    """A fake: two processes with the variables that jsrun sets."""
    fake = tmp_path / "jsrun"
    fake.write_text('#!/bin/sh\nexport LSB_JOBID=901 JSM_NAMESPACE_ID=1 JSM_NAMESPACE_SIZE=2 JSM_NAMESPACE_LOCAL_SIZE=2\n'
                    'for rank in 0 1; do JSM_NAMESPACE_RANK=$rank JSM_NAMESPACE_LOCAL_RANK=$rank "$@" & done\nwait\n')
    fake.chmod(0o755)
    assert started_by(fake) == TWO


THROUGH_MPI = """
import torch
import longship.torch as hvd
for attempt in range(2):  # MPI itself begins once in a process
    hvd.init()
    assert "liblongship-mpi" in open("/proc/self/maps").read()
    large = torch.full([300_000], float(hvd.rank()))
    assert hvd.allreduce(large, op=hvd.Sum, name="large")[-1] == sum(range(hvd.size()))
    gathered = hvd.allgather(torch.full([hvd.rank() + 1], hvd.rank()), name="uneven")
    assert gathered.tolist() == [rank for rank in range(hvd.size()) for _ in range(rank + 1)], gathered
    assert hvd.broadcast(torch.tensor([hvd.rank()]), root_rank=1, name="of 1").item() == 1
    print(f"{hvd.rank()}/{hvd.size()} sum attempt {attempt}\\n", end="", flush=True)
    hvd.shutdown()
"""


@needs("mpirun.openmpi", "mpiexec.mpich")
@pytest.mark.parametrize("launcher", [["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"], ["mpiexec.mpich"]])
def test_the_sites_own_mpi_carries_the_messages(started_by, tmp_path, launcher):
    (tmp_path / "train.py").write_text(THROUGH_MPI)
    lines = started_by(*launcher, "-n", "3", environment={"LONGSHIP_TRANSPORT": "mpi"})
    assert lines == [f"{rank}/3 sum attempt {attempt}" for rank in range(3) for attempt in range(2)]


def test_mpi_without_a_launcher_of_mpi_is_refused(longship, tmp_path):
    (tmp_path / "train.py").write_text(THROUGH_MPI)
    done = longship("launch", "-n", "1", "/usr/bin/python3", tmp_path / "train.py", env=longship.environment | {"LONGSHIP_TRANSPORT": "mpi"})
    assert done.returncode != 0
    assert "no MPI has started this process" in done.stderr


@pytest.fixture(scope="module")
def lab():
    with slurm(nodes=2) as environment:
        yield environment


@needs("slurmctld", "slurmd", "munged", "srun")
def test_srun_with_and_without_pmi(started_by, lab):
    three = ["0/3 local 0/2 sum 3", "1/3 local 1/2 sum 3", "2/3 local 0/1 sum 3"]
    for kind in ["none", "pmi2", "pmix"]:
        assert started_by("srun", "-N2", "-n3", f"--mpi={kind}", environment=lab) == three, kind


def test_ranks_that_share_all_cores_share_the_threads(longship, started_by, tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT + "\nimport os\nassert torch.get_num_threads() <= "
                                       "max(1, len(os.sched_getaffinity(0)) // 2), torch.get_num_threads()\n")
    two = '"$@" & RANK=1 "$@"; one=$?; wait $! && exit $one'
    port = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(os.getpid())}
    assert started_by("sh", "-c", two, "sh", environment=port) == TWO
