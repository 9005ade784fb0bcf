# SPDX-License-Identifier: Apache-2.0
"""The libraries that ours is measured beside: where they are, how a program is built and started with each."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
LONGSHIP = Path(os.environ.get("LONGSHIP", REPOSITORY / "build" / "bin" / "longship"))
LIBRARY = REPOSITORY / "build" / "lib" / "longship"
BUILT = REPOSITORY / "build" / "bench"
HOROVOD = REPOSITORY / ".tools" / "horovod"
HOROVOD_VERSION = "0.28.1"
PYTHON = "/usr/bin/python3"

# Open MPI refuses to run as root unless it is told twice, and speaks only of what concerns it here.
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# What makes it let go of a core that it waits on: without, more ranks than cores measure only spinning.
TUNED = ["--mca", "mpi_yield_when_idle", "1"]


def compiled(source, name, *words):
    """The program built from a file in this directory."""
    BUILT.mkdir(parents=True, exist_ok=True)
    program = BUILT / name
    subprocess.run([*words, REPOSITORY / "bench" / source, "-o", program], check=True)
    return program


def mpi_programs(source):
    """The same program for each MPI that is installed."""
    programs = {}
    for flavour in ("openmpi", "mpich"):
        if shutil.which(f"mpicc.{flavour}") and shutil.which(f"mpirun.{flavour}"):
            programs[flavour] = compiled(source, f"allreduce_{flavour}", f"mpicc.{flavour}", "-DUSE_MPI", "-O2")
    return programs


def our_program(source):
    return compiled(source, "allreduce_longship", "cc", "-O2", f"-I{REPOSITORY / 'src' / 'abi'}", f"-L{LIBRARY}",
                    f"-Wl,-rpath,{LIBRARY}", "-Wl,--no-as-needed", "-llongship")


def horovod_python(say):
    """The interpreter of an environment with Horovod, built at the first time; None if that fails."""
    if not (HOROVOD / ".done").exists():
        say(f"building Horovod {HOROVOD_VERSION} in .tools/horovod: some 6 minutes, once")
        try:
            build_horovod()
        except subprocess.CalledProcessError as error:
            say(f"Horovod cannot be built, so it is not compared: {error}")
            return None
    return HOROVOD / "bin" / "python"


def build_horovod():
    subprocess.run([PYTHON, "-m", "venv", "--system-site-packages", HOROVOD], check=True)
    pip = [HOROVOD / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "setuptools<70", "wheel", "cffi", "cloudpickle", "psutil", "pyyaml", "packaging"],
                   check=True, stdout=sys.stderr)
    wanted = {"HOROVOD_WITH_MPI": "1", "HOROVOD_WITH_GLOO": "1", "HOROVOD_WITH_PYTORCH": "1",
              "HOROVOD_WITHOUT_TENSORFLOW": "1", "HOROVOD_WITHOUT_MXNET": "1"}
    subprocess.run([*pip, "--no-build-isolation", f"horovod=={HOROVOD_VERSION}"], check=True, stdout=sys.stderr,
                   env=os.environ | wanted)
    (HOROVOD / ".done").touch()


def output(words, **variables):
    """What a command says; its complaints are shown if it fails."""
    ended = subprocess.run([str(word) for word in words], text=True, capture_output=True,
                           env=os.environ | MPI_ENVIRONMENT | variables)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{ended.stderr}")
    return ended.stdout


def launched(ranks, *words):
    """A command on so many ranks of this machine, by us."""
    return [LONGSHIP, "launch", "-n", ranks, "--threads", "1", "--no-prefix", "--", *words]


def mpirun(flavour, ranks, *words, tuned=True):
    if flavour == "mpich":
        return ["mpirun.mpich", "-n", ranks, *words]
    many = ["--oversubscribe"] if ranks > len(os.sched_getaffinity(0)) else ["--bind-to", "core"]
    return ["mpirun.openmpi", "-n", ranks, *many, *(TUNED if tuned else []), *words]
