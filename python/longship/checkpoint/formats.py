# SPDX-License-Identifier: Apache-2.0
"""What is in a file of a checkpoint: torch's own format, or pickle where there is no torch."""
from __future__ import annotations

import pickle
from typing import Any


def format_here() -> str:
    try:
        import torch  # noqa: F401
    except ImportError:
        return "pickle"
    return "torch"


def write_content(content: Any, file: Any, kind: str) -> None:
    if kind == "pickle":
        pickle.dump(content, file, protocol=4)
        return
    import torch

    torch.save(content, file)


def read_content(path: str, kind: str) -> Any:
    with open(path, "rb") as file:
        if kind == "pickle":
            return pickle.load(file)
        import torch

        try:
            return torch.load(file, map_location="cpu", weights_only=False)  # it is our own
        except TypeError:  # before torch 1.13
            return torch.load(file, map_location="cpu")
