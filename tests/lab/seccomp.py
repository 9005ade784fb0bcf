# SPDX-License-Identifier: Apache-2.0
"""Kernels that are older or stricter than this one, by a filter of system calls."""

import ctypes
import os


class Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("how", ctypes.c_int), ("value", ctypes.c_uint64), ("more", ctypes.c_uint64)]


EQUAL = 4


def forbid(calls, answer, **arguments):
    """Something to do in a child: a system call, or each of a list, gets this answer from then on. a3=5: only if its fourth
    argument is 5."""
    def install():
        library = ctypes.CDLL("libseccomp.so.2")
        library.seccomp_init.restype = ctypes.c_void_p
        rules = ctypes.c_void_p(library.seccomp_init(0x7FFF0000))
        compared = (Comparison * len(arguments))(
            *[Comparison(int(name[1:]), EQUAL, value, 0) for name, value in arguments.items()])
        for call in [calls] if isinstance(calls, bytes) else calls:
            number = library.seccomp_syscall_resolve_name(call)
            library.seccomp_rule_add_array(rules, 0x00050000 | answer, number, len(arguments), compared)
        if library.seccomp_load(rules) != 0:
            os._exit(99)
    return install
