# SPDX-License-Identifier: Apache-2.0
"""Several nodes on one machine: network namespaces around a switch, every link shaped to a rate in both directions.

    with Network(nodes=4, gigabits=1) as network:
        network.command(2, "ping", network.address(0))     # the words of a command that runs on node 2
"""
import os
import subprocess
import tempfile
from pathlib import Path

BURST = "32kb"  # no more than a switch would let through at once
AGENT = """#!/bin/sh
# For mpirun: runs a command on the node of an address, as ssh would.
while [ "${1#-}" != "$1" ]; do shift; done
node=$((${1##*.} - 1))
shift
exec ip netns exec %s$node unshare -u sh -c "hostname node$node; $*"
"""


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True)


class Network:
    def __init__(self, nodes, gigabits):
        self.nodes = nodes
        self.gigabits = gigabits
        self.prefix = f"ls{os.getpid()}-"
        self.directory = tempfile.TemporaryDirectory()

    def __enter__(self):
        try:
            self._switch()
            for node in range(self.nodes):
                self._node(node)
        except BaseException:
            self.__exit__()
            raise
        self.agent = Path(self.directory.name) / "agent"
        self.agent.write_text(AGENT % self.prefix)
        self.agent.chmod(0o755)
        return self

    def __exit__(self, *_):
        for name in ["switch", *range(self.nodes)]:
            subprocess.run(["ip", "netns", "del", f"{self.prefix}{name}"], stderr=subprocess.DEVNULL)
        self.directory.cleanup()

    def address(self, node):
        return f"10.99.0.{node + 1}"

    def command(self, node, *words, **variables):
        """The node's own host name makes libraries believe that it is another machine."""
        setting = [f"{name}={value}" for name, value in variables.items()]
        return ["ip", "netns", "exec", f"{self.prefix}{node}", "unshare", "-u", "sh", "-c", f'hostname node{node}; exec "$@"',
                "sh", "env", *setting, *map(str, words)]

    def cut(self, node):
        """From now on nothing comes from that node or reaches it."""
        ip("-n", f"{self.prefix}switch", "link", "set", f"port{node}", "down")

    def _switch(self):
        switch = f"{self.prefix}switch"
        ip("netns", "add", switch)
        ip("-n", switch, "link", "add", "switch", "type", "bridge")
        ip("-n", switch, "link", "set", "switch", "up")

    def _node(self, node):
        name, switch, port = f"{self.prefix}{node}", f"{self.prefix}switch", f"port{node}"
        ip("netns", "add", name)
        ip("-n", switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("-n", switch, "link", "set", port, "master", "switch", "up")
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "address", "add", f"{self.address(node)}/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        if self.gigabits:
            self._shape(name, "eth0")
            self._shape(switch, port)

    def _shape(self, namespace, device):
        subprocess.run(["tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{self.gigabits}gbit",
                        "burst", BURST, "latency", "20ms"], check=True)
