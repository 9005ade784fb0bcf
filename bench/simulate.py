#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduce on a machine that is not there: the real schedules on 16 to 1,024 simulated ranks (4,096 with --all).

SimGrid's SMPI runs every rank of bench/simulate_ranks.cpp in one process and moves their messages over a fat tree of 32 nodes per
switch, 100 Gb/s and a microsecond per link. Times are simulated ones: they do not depend on how busy this machine is. The peer is
MPI_Allreduce as Open MPI would choose its algorithm. Computing takes no time in it, on either side. Beside it stands what the
cost table predicts, by which Longship chooses schedules, from the latency and the rate of one simulated message.
"""
import shutil
import subprocess
import sys
from pathlib import Path

from lib import Bench

REPOSITORY = Path(__file__).resolve().parents[1]
BUILD = REPOSITORY / "build"
SIZES = {"1 KiB": 1 << 10, "64 KiB": 1 << 16, "1 MiB": 1 << 20}
# A ring of many ranks has many messages, each of which takes time to simulate.
LONGEST_RING = 64
PER_SWITCH = 32

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="machine" prefix="n" radical="0-{last}" suffix="" speed="1Gf" bw="12.5GBps" lat="1us"
           topology="FAT_TREE" topo_parameters="2;{per_switch},{switches};1,{upper};1,1"/>
</platform>
"""


def compiled():
    """The simulated rank, compiled by SMPI's compiler against our own objects."""
    program = BUILD / "bench" / "simulate_ranks"
    program.parent.mkdir(exist_ok=True)
    rooms = [f"-I{BUILD}/rooms/{room}" for room in ("base", "collective", "mpi", "record")]
    libraries = [BUILD / "src" / room / f"lib{room}.a" for room in ("collective", "record", "base")]
    calls = program.with_suffix(".o")
    # No program is made of this room's own objects, so nobody else has to have built them.
    subprocess.run([REPOSITORY / "dev", "build", "dev", "collective"], check=True, stdout=sys.stderr)
    for command in (["smpicc", "-O2", "-fPIC", "-c", REPOSITORY / "src/mpi/longship_mpi.c", "-o", calls],
                    ["smpicxx", "-std=c++20", "-O2", "-fPIC", "-s", *rooms, REPOSITORY / "bench/simulate_ranks.cpp", calls,
                     *libraries, "-lfmt", "-o", program]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr)
    return program


def machine(ranks):
    """A platform file, and one with the names of its nodes."""
    switches = max(1, ranks // PER_SWITCH)
    platform, hosts = (BUILD / "bench" / f"simulate-{ranks}.{kind}" for kind in ("xml", "hosts"))
    platform.write_text(PLATFORM.format(last=max(ranks, PER_SWITCH) - 1, per_switch=PER_SWITCH, switches=switches,
                                        upper=max(1, PER_SWITCH // 2)))
    hosts.write_text("".join(f"n{number}\n" for number in range(ranks)))
    return platform, hosts


def simulated(program, ranks, schedule, sizes):
    """{bytes: (seconds, seconds that the cost table expects)}."""
    platform, hosts = machine(ranks)
    options = ["smpi/simulate-computation:no", "smpi/test:1e-8", "smpi/grow-injected-times:no", "smpi/shared-malloc:global",
               "smpi/shared-malloc-blocksize:1048576", "smpi/coll-selector:ompi"]
    done = subprocess.run(["smpirun", "-quiet", "-np", str(ranks), "-platform", platform, "-hostfile", hosts,
                           *(f"--cfg={option}" for option in options), program, schedule, *map(str, sizes)],
                          capture_output=True, text=True, check=False)
    lines = (line.split() for line in done.stdout.splitlines() if line[:1].isdigit())
    told = {int(size): (float(seconds), float(expected)) for size, seconds, expected in lines}
    if set(told) != set(sizes):
        sys.exit(f"{schedule} on {ranks} ranks: {done.stdout}{done.stderr}")
    return told


def main():
    bench = Bench(__doc__, lambda parser: parser.add_argument("--all", action="store_true", help="4,096 ranks too"))
    if shutil.which("smpirun") is None:
        sys.exit("smpirun is not there: ./dev setup installs Debian's libsimgrid-dev")
    program = compiled()
    for ranks in [16, 64, 256, 1024] + ([4096] if bench.options.all else []):
        schedules = ["halving-doubling"] + (["ring"] if ranks <= LONGEST_RING else [])
        peer = simulated(program, ranks, "mpi", SIZES.values())
        for schedule in schedules:
            ours = simulated(program, ranks, schedule, SIZES.values())
            for name, size in SIZES.items():
                taken, expected = ours[size]
                bench.figure(f"{ranks} ranks, {name}: {schedule} / Open MPI's choice", taken * 1e6, peer[size][0] * 1e6, "µs")
                bench.figure(f"{ranks} ranks, {name}: {schedule} / the cost table's prediction", taken * 1e6, expected * 1e6, "µs")
        bench.say(f"{ranks} ranks simulated")
    bench.end()


if __name__ == "__main__":
    main()
