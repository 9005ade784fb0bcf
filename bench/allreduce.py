#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduce of fp32 in place: longship.torch beside torch's gloo and Open MPI, in turn.

Each is timed at rank 0: fill, barrier, timed call; the median of many calls, and of several rounds. Open MPI runs with
mpi_yield_when_idle, without which it is a benchmark of spinning, and is called from C: what a Python framework could
reach at best. The goal is to be no slower than gloo, which is what PyTorch users have.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib import Bench

REPOSITORY = Path(__file__).resolve().parents[1]
PROGRAM = Path(os.environ.get("LONGSHIP", REPOSITORY / "build" / "bin" / "longship"))
SIZES = {"1 KiB": 1 << 10, "64 KiB": 1 << 16, "1 MiB": 1 << 20, "16 MiB": 1 << 24, "64 MiB": 1 << 26}
LARGE = {"256 MiB": 1 << 28}

MPI_PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
int main(int count, char **words) {
  MPI_Init(&count, &words);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 1; i < count; i += 2) {
    const size_t bytes = strtoul(words[i], NULL, 10);
    const int calls = atoi(words[i + 1]);
    float *data = malloc(bytes);
    double *times = malloc(sizeof(double) * (size_t)calls);
    for (int call = -2; call < calls; ++call) {
      for (size_t k = 0; k < bytes / 4; ++k) data[k] = (float)rank;
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      MPI_Allreduce(MPI_IN_PLACE, data, (int)(bytes / 4), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      if (call >= 0) times[call] = MPI_Wtime() - begin;
    }
    qsort(times, (size_t)calls, sizeof(double), ascending);
    if (rank == 0) printf("%zu %.9f\n", bytes, times[calls / 2]);
    free(data);
    free(times);
  }
  MPI_Finalize();
}
"""


def calls(size):
    """How often one size is measured: about a tenth of a second's worth of copying."""
    return max(5, min(300, (256 << 20) // size))


def worker(kind, sizes):
    """One rank of torch: prints {size: seconds} at rank 0."""
    import statistics

    import torch
    torch.set_num_threads(1)
    if kind == "longship":
        import longship.torch as hvd
        hvd.init()
        rank, barrier, shutdown = hvd.rank(), hvd.barrier, hvd.shutdown

        def allreduce(data):
            hvd.allreduce_(data, op=hvd.Sum, name="bench")
    else:
        import torch.distributed as dist
        dist.init_process_group("gloo")
        rank, barrier, shutdown, allreduce = dist.get_rank(), dist.barrier, dist.destroy_process_group, dist.all_reduce
    medians = {}
    for size in sizes:
        data = torch.empty(size // 4)
        times = []
        for call in range(-2, calls(size)):
            data.fill_(rank)
            barrier()
            begin = time.perf_counter()
            allreduce(data)
            if call >= 0:
                times.append(time.perf_counter() - begin)
        assert float(data[-1]) == 1, "the sum of ranks 0 and 1"
        medians[size] = statistics.median(times)
    if rank == 0:
        print(json.dumps(medians), flush=True)
    shutdown()


def run_torch(kind, sizes):
    words = [PROGRAM, "launch", "-n", "2", "--threads", "1", "--no-prefix", "--", "/usr/bin/python3", __file__, "--worker", kind]
    said = subprocess.run([*words, *map(str, sizes)], check=True, text=True, capture_output=True).stdout
    return {int(size): seconds for size, seconds in json.loads(said.splitlines()[-1]).items()}


def compile_mpi(directory):
    compiler = shutil.which("mpicc.openmpi")
    if compiler is None or shutil.which("mpirun.openmpi") is None:
        return None
    source, program = Path(directory) / "allreduce.c", Path(directory) / "allreduce"
    source.write_text(MPI_PROGRAM)
    subprocess.run([compiler, "-O2", source, "-o", program], check=True)
    return program


def run_mpi(program, sizes):
    words = ["mpirun.openmpi", "-n", "2", "--bind-to", "core", "--mca", "mpi_yield_when_idle", "1", program]
    for size in sizes:
        words += [str(size), str(calls(size))]
    environment = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    said = subprocess.run(words, check=True, text=True, capture_output=True, env=environment).stdout
    return {int(size): float(seconds) for size, seconds in (line.split() for line in said.splitlines())}


def main():
    bench = Bench(__doc__, lambda parser: parser.add_argument("--full", action="store_true", help="256 MiB too"))
    sizes = SIZES | (LARGE if bench.options.full else {})
    with tempfile.TemporaryDirectory() as directory:
        program = compile_mpi(directory)
        if program is None:
            bench.say("Open MPI is not installed: not compared")
        medians = bench.interleave_all({
            "longship": lambda: run_torch("longship", sizes.values()),
            "gloo": lambda: run_torch("gloo", sizes.values()),
            **({"mpi": lambda: run_mpi(program, sizes.values())} if program else {}),
        })
    for name, size in sizes.items():
        ours = medians["longship"][size] * 1e6
        bench.figure(f"{name}: longship.torch / gloo", ours, medians["gloo"][size] * 1e6, "us", at_most=1.0)
        if program:
            bench.figure(f"{name}: longship.torch / Open MPI in C", ours, medians["mpi"][size] * 1e6, "us")
    bench.end()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], [int(size) for size in sys.argv[3:]])
    else:
        main()
