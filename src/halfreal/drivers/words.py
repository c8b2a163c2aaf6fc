"""Words through which a driver's loop, its watchdog and its warden speak to each other: plain numbers, 64 bits each.

Behind them is room for a text: what the warden is to do when the process with the driver is lost.
"""

from __future__ import annotations

import mmap
import os

import numpy as np

HEART, LEASE, MADE_SAFE, CLOSED, ENDED, SAFE_DONE, CALLING, SILENT, RESULT = range(9)
"""When the driver last answered [ns]; how long it may be silent [ns], 0 while nothing is armed; who has called safe();
whether the driver was closed; whether the watchdog is to end; whether safe() has returned; which function of the driver
the loop waits for; how long the driver had been silent when its watchdog acted [ns]; what a read or write of the driver
returned that failed, 0 if none has."""
WORDS, ROOM = 16, 8192
BY_LOOP, BY_WATCHDOG, BY_HOST, BY_WARDEN = 1, 2, 3, 4
"""Who has called safe(); it has returned if SAFE_DONE."""
WATCHDOG_SHARE, WARDEN_SHARE = 0.4, 0.6
"""Of the lease, after which each acts on a driver that is silent."""
NOTHING, READING, WRITING = 0, 1, 2
CALLS = {READING: "read()", WRITING: "write()"}


def mapped(handle: int | None = None) -> tuple[int, np.ndarray, np.ndarray]:
    """A file in memory that a second process can map: its handle, its words, and the bytes of its text."""
    size = 8 * WORDS + ROOM
    if handle is None:
        handle = os.memfd_create("halfreal-driver", 0)
        os.ftruncate(handle, size)
        os.set_inheritable(handle, True)
    memory = mmap.mmap(handle, size)
    return handle, np.frombuffer(memory, np.int64, WORDS), np.frombuffer(memory, np.uint8, ROOM, 8 * WORDS)


def who_was_silent(calling: int, silence: float) -> str:
    """What did not continue for ``silence`` [s], for people: a function of the driver, or the loop that calls it."""
    if calling in CALLS:
        return f"the driver's {CALLS[calling]} had not returned for {1e3 * silence:.0f} ms"
    return f"the loop had not called the driver for {1e3 * silence:.0f} ms"
