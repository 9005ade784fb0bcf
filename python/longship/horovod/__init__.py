# SPDX-License-Identifier: Apache-2.0
"""Horovod's module names for Longship: ``import horovod.torch as hvd`` finds ``longship.torch``.

``python -m longship.horovod train.py`` installs them before the script runs; a script can do so itself with
``longship.horovod.install()``. A Horovod that is installed as well is not touched, only hidden.
"""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any, Callable, Optional, Sequence

from .._library import INSTEAD_OF_ELASTIC

# Of Horovod's modules those whose contents are public and that scripts were seen to import.
_PACKAGES = ("horovod", "horovod.common")
_SAME = {
    "horovod.torch": "longship.torch",
    "horovod.torch.mpi_ops": "longship.torch",
    "horovod.torch.functions": "longship.torch",
    "horovod.torch.compression": "longship.torch.compression",
    "horovod.torch.optimizer": "longship.torch",
    "horovod.torch.sync_batch_norm": "longship.torch",
    "horovod.common.process_sets": "longship.torch.process_sets",
    "horovod.common.exceptions": "longship.horovod.exceptions",
}


_INSTEAD = {  # of what scripts ask for and Longship does not have
    "run": "start the script with longship launch -n RANKS python3 -m longship.horovod SCRIPT",
    "elastic": INSTEAD_OF_ELASTIC,
}


def _explain(module: str) -> Callable[[str], Any]:
    """A module's ``__getattr__``, for names that it does not have."""

    def missing(name: str) -> Any:
        why = f"; {_INSTEAD[name]}" if name in _INSTEAD else ""
        raise AttributeError(f"{module}.{name} is not among what Longship has of Horovod{why}")

    return missing


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, name: str, path: Optional[Sequence[str]] = None, target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if name in _PACKAGES or name in _SAME:
            return importlib.machinery.ModuleSpec(name, self, is_package=name in _PACKAGES or name == "horovod.torch")
        last = name.rsplit(".", 1)[-1]
        if name.startswith("horovod.") and last in _INSTEAD:  # not as a module that is missing: "from" would hide the words
            raise ImportError(f"{name} is not among what Longship has of Horovod; {_INSTEAD[last]}", name=name)
        if name.split(".")[0] == "horovod":
            known = ", ".join(sorted(_SAME))
            raise ModuleNotFoundError(f"{name} is not among what Longship has of Horovod: {known}", name=name)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[types.ModuleType]:
        if spec.name not in _SAME:
            return None
        # A module of its own with the same contents, so that importing does not rename ours.
        ours = importlib.import_module(_SAME[spec.name])
        module = types.ModuleType(spec.name, ours.__doc__)
        module.__dict__.update({k: v for k, v in vars(ours).items() if not (k.startswith("__") and k != "__all__")})
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__getattr__ = _explain(module.__name__)  # type: ignore[method-assign, assignment]
        if module.__name__ == "horovod":
            module.__version__ = "0.28.1"  # type: ignore[attr-defined]  # whose interface it is


def install() -> None:
    """Makes ``import horovod`` find Longship, in this process, from now on."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        for name in [name for name in sys.modules if name.split(".")[0] == "horovod"]:
            del sys.modules[name]
        sys.meta_path.insert(0, _Finder())
