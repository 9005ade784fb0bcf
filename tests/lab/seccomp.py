# SPDX-License-Identifier: Apache-2.0
"""Kernels that are older or stricter than this one, by a filter of system calls."""

import ctypes
import os


def forbid(call, answer):
    """Something to do in a child: a system call gets this answer from then on."""
    def install():
        library = ctypes.CDLL("libseccomp.so.2")
        library.seccomp_init.restype = ctypes.c_void_p
        rules = ctypes.c_void_p(library.seccomp_init(0x7FFF0000))
        number = library.seccomp_syscall_resolve_name(call)
        library.seccomp_rule_add(rules, 0x00050000 | answer, number, 0)
        if library.seccomp_load(rules) != 0:
            os._exit(99)
    return install
