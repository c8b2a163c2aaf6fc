"""What a real-time thread asks of the system, and as text what it was given.

Nothing here is needed for a loop to run; without it, others may delay the loop.  What was refused is said plainly, on
the terminal and in the run file.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
from pathlib import Path

MCL_CURRENT, MCL_FUTURE = 1, 2
PR_SET_TIMERSLACK = 29
_libc = ctypes.CDLL(None, use_errno=True)


def lock_memory() -> str:
    """Keep the process's memory from being swapped out; return the result as text."""
    # What is allocated later is locked too only where there is no limit on it: else an allocation would fail.
    unlimited = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY or os.geteuid() == 0
    if _libc.mlockall(MCL_CURRENT | (MCL_FUTURE if unlimited else 0)) == 0:
        return "locked (mlockall)"
    return f"not locked: {os.strerror(ctypes.get_errno())}; raise the limit 'ulimit -l' to lock it"


def unlock_memory() -> None:
    _libc.munlockall()


def prioritise(priority: int, cpu: int | None) -> dict[str, str]:
    """Ask for real-time scheduling and a processor of its own for the calling thread; return the result as text."""
    told = {}
    _libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)  # an ordinary thread's sleep may otherwise be prolonged by 50 µs
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        told["realtime scheduling"] = f"SCHED_FIFO, priority {priority}"
    except OSError as error:
        told["realtime scheduling"] = (
            f"normal: SCHED_FIFO refused ({error.strerror}); raise 'ulimit -r'. "
            "Other programs may delay the loop by milliseconds"
        )
    if cpu is None:
        told["realtime processor"] = "any; real_time.cpu selects one"
    else:
        try:
            os.sched_setaffinity(0, {cpu})
            told["realtime processor"] = f"processor {cpu} only"
        except OSError as error:
            told["realtime processor"] = (
                f"any: processor {cpu} refused ({error.strerror}); this machine has {os.cpu_count()}"
            )
    told["realtime kernel"] = kernel()
    return told


def kernel() -> str:
    """Whether this kernel is made for real time."""
    flag = Path("/sys/kernel/realtime")
    if "PREEMPT_RT" in platform.version() or (flag.is_file() and flag.read_text().strip() == "1"):
        return "PREEMPT_RT"
    return "without PREEMPT_RT: it may occasionally delay the loop by milliseconds"
