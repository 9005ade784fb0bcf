# SPDX-License-Identifier: Apache-2.0
"""Writes logs as docs/formats/record.md describes them, from that page alone: a second implementation keeps both honest."""
import struct

ACTIVITIES = ["compute", "communication", "waiting", "input", "checkpoint", "other"]


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signed(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def text(value: str) -> bytes:
    data = value.encode()
    return varint(len(data)) + data


class Recording:
    """One rank's log; times in milliseconds on rank 0's clock, this rank's own is `behind` it."""

    def __init__(self, rank, size, node="node-a", behind=0):
        self.behind = behind
        self.names = {}
        self.latest = 0
        self.sequence = 0
        self.block = b"\x01" + signed(0)
        self.block += b"\x00" + varint(rank) + varint(size) + varint(0) + signed(0) + text(node)
        self.block += b"\x03" + signed(behind * 1_000_000)
        self.rank = rank

    def _name(self, name):
        if name not in self.names:
            self.names[name] = len(self.names)
            self.block += b"\x01" + text(name)
        return varint(self.names[name])

    def _time(self, milliseconds):
        at = (milliseconds - self.behind) * 1_000_000
        difference, self.latest = at - self.latest, at
        return difference

    def span(self, activity, begin, end, name="span"):
        name = self._name(name)
        self.block += bytes([8 + ACTIVITIES.index(activity)]) + name
        self.block += signed(self._time(begin)) + varint(self._time(end))

    def collective(self, sequence, arrived, begin, end, size=1 << 20):
        name = self._name("gradients")
        self.block += b"\x04" + signed(sequence - self.sequence) + name + varint(size)
        self.block += signed(self._time(arrived)) + varint(self._time(begin)) + varint(self._time(end))
        self.sequence = sequence

    def metrics(self, step, steps, at, **values):
        names = [self._name(name) for name in values]
        self.block += b"\x05" + signed(self._time(at)) + varint(step) + varint(steps) + varint(len(values))
        for name, value in zip(names, values.values()):
            self.block += name + struct.pack("<d", value)

    def write(self, directory):
        header = b"LSRLOG\0\1" + struct.pack("<QI", 0, 0)
        header += struct.pack("<I", crc32c(header))
        length, number = struct.pack("<I", len(self.block)), struct.pack("<Q", 0)
        record = length + struct.pack("<I", crc32c(length + number + self.block)) + number + self.block
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"rank-{self.rank:05}.rec").write_bytes(header + record)
