# SPDX-License-Identifier: Apache-2.0
"""Scripts for ranks that use the C library without a framework: what each begins with."""
from ranks import BOX_SIDE

# Without torch, which takes longer to load than all of this.
LIBRARY = f"""
import ctypes, os, sys
c = ctypes.CDLL({str(BOX_SIDE / "liblongship.so")!r})
c.longship_last_error.restype = ctypes.c_char_p
c.longship_memory_new.restype = ctypes.c_void_p
c.longship_allreduce.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int]
F32, SUM = 6, 0

def tensor(count, shared):
    if not shared:
        return (ctypes.c_float * count)()
    return (ctypes.c_float * count).from_address(c.longship_memory_new(ctypes.c_size_t(count * 4)))

def allreduce(data):
    return c.longship_allreduce(b"t", ctypes.addressof(data), len(data), F32, SUM)

def error():
    return c.longship_last_error().decode()
"""


def wait_until_all_started(processes):
    for process in processes:
        assert process.stdout.readline() == "started\n", process.stderr.read()
