#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All-reduce of fp32 between nodes, beside Open MPI, MPICH and gloo: 2 and 4 network namespaces, each link shaped to 1 and to
10 Gb/s with a burst of 32 KB. Needs root.

Timed at rank 0 as in allreduce.py. The line is what 2 (n - 1) / n of the bytes take at the rate of the link; headers of
TCP, IP and Ethernet leave 94.9 % of it to the bytes.
"""
import json
import os
import secrets
import subprocess
import sys

import lib_peers as peers
from lib import Bench

sys.path.insert(0, str(peers.REPOSITORY / "tests" / "lab"))
from network_lab import Network  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20
SIZES = [KIB, MIB, 16 * MIB, 64 * MIB]
QUICK_SIZES = [KIB, MIB, 16 * MIB]
PORT = 47001


def calls(size):
    return max(3, min(200, (32 << 20) // size))


def with_calls(sizes):
    return [str(word) for size in sizes for word in (size, calls(size))]


def parsed(said):
    return {int(size): float(seconds) for size, seconds in (line.split() for line in said.splitlines())}


def on_every_node(network, words_of):
    """One process per node; what rank 0 says."""
    ranks = [subprocess.Popen(words_of(node), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
             for node in reversed(range(network.nodes))]
    try:
        said = [rank.communicate() for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    for rank, (_, complaint) in zip(ranks, said):
        if rank.returncode != 0:
            sys.exit(f"{' '.join(rank.args)}\n{complaint}")
    return said[-1][0]


class Parties:
    def __init__(self, network, sizes, without=()):
        self.network, self.sizes, self.without, self.round = network, sizes, without, 0
        self.ours = peers.our_program("allreduce_call.c")
        self.mpi = peers.mpi_programs("allreduce_call.c")

    def all(self):
        runs = {"ours": self.longship, "gloo": self.gloo}
        if "openmpi" in self.mpi:
            runs["Open MPI"] = self.open_mpi
        if "mpich" in self.mpi:
            runs["MPICH"] = self.mpich
        return {peer: run for peer, run in runs.items() if peer not in self.without}

    def variables(self, rank):
        return {"RANK": rank, "WORLD_SIZE": self.network.nodes, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1}

    def longship(self):
        secret = secrets.token_hex(16)
        return parsed(on_every_node(self.network, lambda node: self.network.command(
            node, self.ours, *with_calls(self.sizes), **self.variables(node), LONGSHIP_NODE=f"node{node}",
            LONGSHIP_RENDEZVOUS=f"{self.network.address(0)}:{PORT}", LONGSHIP_SECRET=secret)))

    def gloo(self):
        self.round += 1  # a port of its own: the last one may still be in use
        said = on_every_node(self.network, lambda node: self.network.command(
            node, peers.PYTHON, peers.REPOSITORY / "bench" / "lib_allreduce.py", "gloo", *self.sizes, **self.variables(node),
            MASTER_ADDR=self.network.address(0), MASTER_PORT=PORT + self.round, GLOO_SOCKET_IFNAME="eth0"))
        return {int(size): seconds for size, seconds in json.loads(said.splitlines()[-1]).items()}

    def hosts(self):
        return ",".join(self.network.address(node) for node in range(self.network.nodes))

    def open_mpi(self):
        own = ["--mca", "btl", "tcp,self", "--mca", "pml", "ob1", "--mca", "btl_tcp_if_include", "eth0",
               "--mca", "oob_tcp_if_include", "eth0", "--mca", "plm_rsh_agent", self.network.agent, "--bind-to", "none"]
        return parsed(peers.output(self.network.command(
            0, "mpirun.openmpi", "-n", self.network.nodes, "-H", self.hosts(), *own, *peers.TUNED, self.mpi["openmpi"],
            *with_calls(self.sizes))))

    def mpich(self):
        # UCX, on which it is built, would find that all nodes are one machine, and use its memory.
        own = ["-genv", "UCX_TLS", "tcp,self", "-genv", "UCX_NET_DEVICES", "eth0"]
        return parsed(peers.output(self.network.command(
            0, "mpirun.mpich", "-n", self.network.nodes, "-ppn", 1, "-hosts", self.hosts(), "-launcher", "ssh",
            "-launcher-exec", self.network.agent, "-iface", "eth0", *own, self.mpi["mpich"], *with_calls(self.sizes))))


def named(size):
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"


def report(bench, network, medians):
    where = f"{network.nodes} nodes, {network.gigabits} Gb/s"
    for size, ours in medians["ours"].items():
        others = {peer: times[size] for peer, times in medians.items() if peer != "ours"}
        best = min(others, key=others.get)
        bound = None
        if size >= MIB and network.gigabits == 1:
            bound = 1 / 0.99
        elif size >= MIB and network.nodes == 2:
            bound = 1 / 1.2
        bench.figure(f"{where}, {named(size)}: ours / the best peer ({best})", ours * 1e6, others[best] * 1e6, "us",
                     at_most=None if bound is None else float(f"{bound:.3g}"))
        for peer, seconds in others.items():
            bench.figure(f"{where}, {named(size)}: ours / {peer}", ours * 1e6, seconds * 1e6, "us",
                         at_most=1.0 if (size, network.nodes, peer) == (KIB, 4, "Open MPI") else None)
        line = 2 * (network.nodes - 1) / network.nodes * size * 8 / (network.gigabits * 1e9)
        if size >= MIB and network.gigabits == 1:
            bench.at_least(f"{where}, {named(size)}: share of the line", 100 * line / ours, "%", 93)
        elif size >= MIB:
            bench.figure(f"{where}, {named(size)}: ours / the line", ours * 1e6, line * 1e6, "us")


def options(parser):
    parser.add_argument("--quick", action="store_true", help="no 64 MiB")
    parser.add_argument("--nodes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--gigabits", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--without", choices=["gloo", "Open MPI", "MPICH"], nargs="+", default=[],
                        help="peers; MPICH has been seen to take minutes for what others do in seconds")


def main():
    bench = Bench(__doc__, options)
    if os.geteuid() != 0:
        sys.exit("network namespaces need root")
    for nodes in bench.options.nodes:
        for gigabits in bench.options.gigabits:
            with Network(nodes, gigabits) as network:
                parties = Parties(network, QUICK_SIZES if bench.options.quick else SIZES, bench.options.without)
                report(bench, network, bench.interleave_all(parties.all()))
    bench.end()


if __name__ == "__main__":
    main()
