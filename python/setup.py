# SPDX-License-Identifier: Apache-2.0
"""A wheel that carries liblongship.so: one for every Python 3 and every Linux with glibc 2.28 or newer.

The library is taken from LONGSHIP_LIBRARY, or from where ./dev build puts it.
"""
import os
import pathlib
import platform
import shutil

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel


def library() -> pathlib.Path:
    built = pathlib.Path(__file__).resolve().parent.parent / "build" / "lib" / "longship" / "liblongship.so"
    path = pathlib.Path(os.environ.get("LONGSHIP_LIBRARY", built))
    if not path.exists():
        raise SystemExit(f"{path} is not there: build it with ./dev build, or set LONGSHIP_LIBRARY")
    return path


class WithLibrary(build_py):
    def run(self) -> None:
        super().run()
        shutil.copy(library(), pathlib.Path(self.build_lib) / "longship" / "liblongship.so")


class ForThisMachine(bdist_wheel):
    def get_tag(self):
        return "py3", "none", f"manylinux_2_28_{platform.machine()}"


class NotPure(Distribution):
    def has_ext_modules(self) -> bool:
        return True


setup(cmdclass={"build_py": WithLibrary, "bdist_wheel": ForThisMachine}, distclass=NotPure)
