#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""no_user_namespaces.py CMD…: runs a command where the kernel refuses user namespaces, as many centres configure it.

A seccomp filter answers unshare and clone with CLONE_NEWUSER with EPERM, and clone3 with ENOSYS, whose flags a filter
cannot see: the C library then falls back to clone.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

CLONE_NEWUSER = 0x10000000
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
LOAD, AND, EQUAL, RETURN = 0x20, 0x54, 0x15, 0x06
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2

NUMBERS = {  # unshare, clone, clone3
    "x86_64": (272, 56, 435),
    "aarch64": (97, 220, 435),
    "ppc64le": (282, 120, 435),
}


def instruction(code, value, if_true=0, if_false=0):
    return struct.pack("HBBI", code, if_true, if_false, value)


def program():
    unshare, clone, clone3 = NUMBERS[platform.machine()]
    return b"".join(
        [
            instruction(LOAD, 0),  # the number of the system call
            instruction(EQUAL, clone3, 5, 0),
            instruction(EQUAL, unshare, 1, 0),
            instruction(EQUAL, clone, 0, 4),
            instruction(LOAD, 16),  # its first argument, the flags
            instruction(AND, CLONE_NEWUSER),
            instruction(EQUAL, 0, 1, 2),
            instruction(RETURN, REFUSE | errno.ENOSYS),
            instruction(RETURN, ALLOW),
            instruction(RETURN, REFUSE | errno.EPERM),
        ]
    )


def install():
    code = ctypes.create_string_buffer(program())
    header = struct.pack("HxxxxxxP", len(code.raw) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in [(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, FILTER, header, 0, 0)]:
        if libc.prctl(*words) != 0:
            sys.exit(f"no_user_namespaces: prctl {words[0]}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    install()
    os.execvp(sys.argv[1], sys.argv[1:])
