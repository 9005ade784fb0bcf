# SPDX-License-Identifier: Apache-2.0
"""How long /bin/true takes in a box, as typed, beside ch-run (Charliecloud), bubblewrap, crun and no box at all: from a directory,
and from a SquashFS file for the first time and the next. A part of ./dev bench box, for those in a hurry."""
from box import main

main(__doc__, only_starts=True)
