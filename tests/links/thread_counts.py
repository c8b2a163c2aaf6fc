"""Counts what a loop's thread asks of the kernel: system calls, page faults, voluntary switches.

The thread puts itself under a seccomp filter that reports each of its system calls to a listener (Linux 5.5 and newer,
seccomp_unotify(2)); another process counts them and lets them go on (``call_counter.py``).  No debugger is needed, and
no privilege.  What is counted lies between two calls of ``getrusage``, right before and right after the compiled loop.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit, typeof

from halfreal.kernels.compile import OPTIONS
from halfreal.kernels.control import WORDS
from halfreal.kernels.loop import Loop
from halfreal.kernels.tick import compiled_run

NAMES = {35: "nanosleep", 44: "sendto", 45: "recvfrom", 98: "getrusage", 202: "futex", 228: "clock_gettime"}
NAMES |= {230: "clock_nanosleep", 271: "ppoll", 7: "poll", 9: "mmap", 12: "brk", 47: "recvmsg", 46: "sendmsg"}
SECCOMP, SET_FILTER, NEW_LISTENER = 317, 1, 8
RETURN, NOTIFY = 0x06, 0x7FC00000
NO_NEW_PRIVILEGES, OF_THREAD = 38, 1
MINOR, MAJOR, VOLUNTARY = 8, 9, 14
"""Words of ``struct rusage``."""

COUNTER = Path(__file__).with_name("call_counter.py")
_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.argtypes, _syscall.restype = [ctypes.c_long] * 4, ctypes.c_long
_getrusage = ctypes.CDLL(None).getrusage
_getrusage.argtypes, _getrusage.restype = [ctypes.c_long, ctypes.c_size_t], ctypes.c_long


@dataclass(frozen=True)
class Counts:
    calls: Counter[str]
    minor_faults: int
    major_faults: int
    voluntary_switches: int


def why_not() -> str:
    """Why nothing can be counted here; empty if it can."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return "system calls are counted under Linux on x86-64 only"
    release = tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2])
    return "" if release >= (5, 5) else f"Linux {platform.release()} cannot report system calls; 5.5 and newer can"


FIRST = 20
"""Ticks that load what a loop needs, before those that are counted."""


def counted(loop: Loop, ticks: int, record: tuple[str, ...], other: Loop | None = None) -> Counts:
    """Of so many ticks, after the FIRST; the loop of the ``other`` end runs as many in a thread of its own."""
    log = np.zeros((ticks, 1 + len(record)))
    run = ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_size_t] * 3)(compiled_run.native.address)
    firsts = loop._given(FIRST, log, record, np.zeros(WORDS, dtype=np.int64), 1, None)
    givens = loop._given(ticks, log, record, np.zeros(WORDS, dtype=np.int64), 1, None)
    first, given = (np.frombuffer(compiled_run.packed(*one), dtype=np.int64) for one in (firsts, givens))
    answer = np.zeros(2, dtype=np.int64)
    value, raised = answer.ctypes.data, answer.ctypes.data + 8
    before, after, listener = np.zeros(32, dtype=np.int64), np.zeros(32, dtype=np.int64), np.zeros(1, dtype=np.int64)
    instruction = np.frombuffer(struct.pack("<HBBI", RETURN, 0, 0, NOTIFY), dtype=np.uint8)
    program = np.array([1, instruction.ctypes.data], dtype=np.int64)
    where, begins, ends = program.ctypes.data, before.ctypes.data, after.ctypes.data

    @njit(**OPTIONS)
    def watched(first, given, listener):  # type: ignore[no-untyped-def]
        run(value, raised, first.ctypes.data)
        listener[0] = _syscall(SECCOMP, SET_FILTER, NEW_LISTENER, where)
        _getrusage(OF_THREAD, begins)
        ended = run(value, raised, given.ctypes.data)
        _getrusage(OF_THREAD, ends)
        return ended

    watched.compile(tuple(typeof(one) for one in (first, given, listener)))

    def thread() -> None:
        _libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        watched(first, given, listener)

    near, far = socket.socketpair()
    with near, far:
        counter = subprocess.Popen(
            [sys.executable, str(COUNTER), str(far.fileno())],
            pass_fds=[far.fileno()],
            stdout=subprocess.PIPE,
            text=True,
        )
        worker = threading.Thread(target=thread)
        far_end = threading.Thread(target=lambda: other and other.run(FIRST + ticks), daemon=True)
        far_end.start()
        worker.start()
        while listener[0] == 0:
            time.sleep(1e-3)
        if listener[0] < 0:
            counter.kill()
            raise OSError("the filter of system calls was refused")
        socket.send_fds(near, [b"."], [int(listener[0])])
        worker.join()
        far_end.join()
        os.close(int(listener[0]))
        answer = counter.communicate()[0]
    calls = Counter({NAMES.get(int(call), f"number {call}"): count for call, count in json.loads(answer).items()})
    assert calls["getrusage"] == 2
    used = after - before
    del calls["getrusage"]
    return Counts(calls, int(used[MINOR]), int(used[MAJOR]), int(used[VOLUNTARY]))
