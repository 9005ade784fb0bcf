# SPDX-License-Identifier: Apache-2.0
"""A disk that is full to the last byte, and room on it again."""

from pathlib import Path


class Ballast:
    """Fills a small disk; what others free meanwhile can be filled again."""

    def __init__(self, place):
        self.place = Path(place)
        self.number = 0

    def load(self, leaving=0):
        """To the last byte, or with so many left."""
        self.number += 1
        spared = self.place / "spared"
        spared.write_bytes(b"\0" * leaving)
        with open(self.place / f"ballast-{self.number}", "wb", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while file.write(b"\0" * size) == size:
                        pass
                except OSError:
                    pass  # not even that much
        spared.unlink()

    def drop(self):
        for path in self.place.glob("ballast-*"):
            path.unlink()
