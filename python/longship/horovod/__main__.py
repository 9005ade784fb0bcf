# SPDX-License-Identifier: Apache-2.0
"""``python -m longship.horovod [-m MODULE | SCRIPT] …``: runs an unchanged Horovod script on Longship."""
from __future__ import annotations

import os
import runpy
import sys
from typing import List

from . import install

_USAGE = "usage: python -m longship.horovod [-m MODULE | SCRIPT] [ARGUMENTS]"


def main(words: List[str]) -> None:
    if not words or (words[0] == "-m" and len(words) == 1):
        sys.exit(_USAGE)
    if words[0] in ("-h", "--help"):
        print(_USAGE + "\n\nRuns a script that imports horovod.torch on Longship, as one rank; a launcher starts as many as wanted:\n"
              "  longship launch -n 4 python3 -m longship.horovod train.py --epochs 3")
        return
    install()
    if words[0] == "-m":
        sys.argv = words[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path[0] = os.path.dirname(os.path.abspath(words[0]))  # as if python had been given the script
        runpy.run_path(words[0], run_name="__main__")


main(sys.argv[1:])
