# SPDX-License-Identifier: Apache-2.0
"""A site's spool written and read by hand: docs/formats/spool.md, from the other side."""

import hashlib
import json
import struct
import subprocess
import time
from pathlib import Path

CRC_TABLE = []
for _byte in range(256):
    _crc = _byte
    for _ in range(8):
        _crc = (_crc >> 1) ^ (0x82F63B78 if _crc & 1 else 0)
    CRC_TABLE.append(_crc)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def record(number, payload):
    length = struct.pack("<I", len(payload))
    return length + struct.pack("<I", crc32c(length + struct.pack("<Q", number) + payload)) + struct.pack("<Q", number) \
        + payload


class LogWriter:
    """Appends records, and knows how to do it badly."""

    def __init__(self, path):
        self.path, self.number = Path(path), 0
        head = b"LSRLOG\0\1" + struct.pack("<QI", 0, 0)
        self.path.write_bytes(head + struct.pack("<I", crc32c(head)))

    @classmethod
    def of(cls, path):
        """In place of the one who wrote it so far."""
        writer = cls.__new__(cls)
        writer.path, writer.number = Path(path), sum(1 for _ in records_of(path))
        return writer

    def append(self, *messages):
        with self.path.open("ab") as file:
            file.write(record(self.number, json.dumps(messages).encode()))
        self.number += 1

    def append_torn(self, *messages):
        """The first half now; what is returned writes the second."""
        whole = record(self.number, json.dumps(messages).encode())
        half = len(whole) // 2
        with self.path.open("ab") as file:
            file.write(whole[:half])

        def finish():
            with self.path.open("ab") as file:
                file.write(whole[half:])
            self.number += 1

        return finish


def read_log(path):
    """All messages of a log up to its torn end."""
    return [message for payload in records_of(path) for message in json.loads(payload)]


def records_of(path):
    number, index = 0, 0
    while True:
        segment = Path(path) if index == 0 else Path(f"{path}.{index}")
        if not segment.exists():
            return
        data, at = segment.read_bytes(), 24
        while at + 16 <= len(data):
            length, crc, found = struct.unpack_from("<IIQ", data, at)
            payload = data[at + 16:at + 16 + length]
            whole = len(payload) == length and found == number
            if not whole or crc32c(data[at:at + 4] + data[at + 8:at + 16] + payload) != crc:
                break
            yield payload
            at += 16 + length
            number += 1
        index += 1


class Spool:
    """SPOOL with one pilot in it, seen by the agent."""

    def __init__(self, root, pilot="p0123456789ab", **order):
        self.root = Path(root)
        self.pilot = self.root / "pilots" / pilot
        for directory in (self.root, self.root / "code", self.root / "checkpoints", self.root / "attempts",
                          self.root / "pilots", self.pilot):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        order = {"version": 1, "pilot": pilot, "site": "test", "look_every_milliseconds": 50, "idle_limit": 60,
                 "image_store": str(self.root / "store")} | order
        (self.pilot / "pilot.json").write_text(json.dumps(order))
        self.log = LogWriter(self.pilot / "to_pilot")

    def job(self, script, **more):
        return {"version": 1, "name": "sea", "command": ["sh", "-c", script], "launch": "ranks"} | more

    def take(self, attempt, job, **more):
        return {"kind": "take", "assignment": {"attempt": attempt, "job": json.dumps(job)} | more}

    def bundle(self, files):
        """A bundle with these files, made by tar and zstd; returns what an assignment says of it."""
        source = self.root / "source"
        for name, text in files.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(text)
        archive = self.root / "code" / "new"
        subprocess.run(["tar", "--zstd", "--format=ustar", "--blocking-factor=1", "--sort=name", "--owner=0", "--group=0", "--mtime=@0",
                        "--mode=u=rwX,go=rX", "-cf", archive, "-C", source, *sorted(files)], check=True)
        data = archive.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        archive.rename(self.root / "code" / f"{digest}.tar.zst")
        return {"digest": f"sha256:{digest}", "size": len(data)}

    def said(self, kind=None, attempt=None):
        return [m for m in read_log(self.pilot / "from_pilot")
                if kind in (None, m["kind"]) and attempt in (None, m.get("attempt"))]

    def wait_for(self, kind, attempt=None, patience=30.0):
        deadline = time.monotonic() + patience
        while not (found := self.said(kind, attempt)):
            assert time.monotonic() < deadline, f"no {kind} of {attempt} in {patience} s; said: {self.said()}"
            time.sleep(0.02)
        return found[-1]

    def attempt(self, attempt):
        return self.root / "attempts" / attempt
