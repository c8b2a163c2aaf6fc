"""The process that stands by a driver: makes the hardware safe when the process with the driver has died or hangs.

    python -m halfreal.drivers.warden        # a line of JSON on its standard input says which driver

It has the driver imported and not opened.  It acts when the first process has gone without closing its driver, or when
the driver has been silent for 0.6 of the lease and its watchdog has not made it safe: then the first process
is ended, and this one opens the driver, calls ``safe()`` and closes it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from contextlib import suppress

from ..contracts.driver import DriverError, Opening
from .calls import callable_driver
from .words import BY_WARDEN, CLOSED, HEART, LEASE, MADE_SAFE, SAFE_DONE, WARDEN_SHARE, mapped

IDLE = 0.05
"""Seconds between two looks while nothing is armed."""
GONE = 2.0
"""Seconds for a process to go that was ended."""


def main() -> int:
    given = json.loads(sys.stdin.buffer.readline())
    _, words = mapped(given["words"])
    opening = Opening(tuple(given["inputs"]), tuple(given["outputs"]), given["period"], given["settings"])
    try:
        driver = callable_driver(given["use"])
    except DriverError as error:
        print(f"failed: {error}", flush=True)
        return 1
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(85))
    print("ready", flush=True)
    handle = os.pidfd_open(given["pid"])
    why = ""
    while not why:
        lease = 1e-9 * float(words[LEASE])
        heard, _, _ = select.select([handle], [], [], max(lease / 40.0, 5e-4) if lease > 0.0 else IDLE)
        if words[CLOSED]:
            return 0
        lease = 1e-9 * float(words[LEASE])  # it may have been armed meanwhile
        silent = 1e-9 * (time.monotonic_ns() - int(words[HEART]))
        if heard:
            why = "the process with the driver has died"
        elif lease > 0.0 and silent > WARDEN_SHARE * lease and not words[SAFE_DONE]:
            why = f"the process with the driver was silent for {1e3 * silent:.0f} ms, and was ended"
    with suppress(OSError):
        os.kill(given["pid"], signal.SIGKILL)
    select.select([handle], [], [], GONE)
    told = "opened here, and made safe"
    try:
        driver.open(opening)
        if driver.call("safe"):
            told = f"opened here, and its safe() failed: {driver.said()}. SEE TO THE RIG"
        words[MADE_SAFE] = BY_WARDEN
        driver.close()
    except DriverError as error:
        told = f"which could not be opened to make it safe: {error}. SEE TO THE RIG"
    with suppress(OSError):
        print(f"halfreal: {why}; the driver was {told}", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
