"""Words through which a driver's loop, its watchdog and its warden speak to each other: plain numbers, 64 bits each."""

from __future__ import annotations

import mmap
import os

import numpy as np

HEART, LEASE, MADE_SAFE, CLOSED, ENDED, SAFE_DONE = 0, 1, 2, 3, 4, 5
WORDS = 16
BY_LOOP, BY_WATCHDOG, BY_HOST, BY_WARDEN = 1, 2, 3, 4
"""Who has called safe(); it has returned if SAFE_DONE."""
WATCHDOG_SHARE, WARDEN_SHARE = 0.4, 0.6
"""Of the lease, after which each acts on a driver that is silent."""


def mapped(handle: int | None = None) -> tuple[int, np.ndarray]:
    """A file in memory that a second process can map, and its words."""
    if handle is None:
        handle = os.memfd_create("halfreal-driver", 0)
        os.ftruncate(handle, 8 * WORDS)
        os.set_inheritable(handle, True)
    return handle, np.frombuffer(mmap.mmap(handle, 8 * WORDS), dtype=np.int64)
