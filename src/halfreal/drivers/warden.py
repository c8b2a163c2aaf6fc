"""The process that stands by a driver: makes the hardware safe when the process with the driver has died or hangs.

    python -m halfreal.drivers.warden        # a line of JSON on its standard input says which driver

It has the driver imported and not opened, and sleeps until the driver would have been silent for 0.6 of the lease.  It
acts then, if the watchdog has not made it safe, or as soon as the first process has ended without closing its driver:

1. the first process is killed: when that call has returned, none of its threads executes another instruction;
2. the driver is opened here and ``safe()`` is called.  The first process may take longer than the lease to go, as all
   of its memory is given back first; a driver that cannot be opened before is tried until it can;
3. once the first process has ended, ``safe()`` is called again: a call to the system may have ended last;
4. what happened is printed, and handed to the command by which the first process wanted it kept (``Host.if_lost``).
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import json
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from ..contracts.driver import DriverError, Opening
from .calls import OpenDriver, callable_driver
from .words import (
    BY_WARDEN,
    CALLING,
    CLOSED,
    HEART,
    LEASE,
    MADE_SAFE,
    SAFE_DONE,
    WARDEN_SHARE,
    mapped,
    who_was_silent,
)

IDLE = 0.02
"""Seconds between two looks while nothing is armed."""
GONE = 5.0
"""Seconds for a process to go that was ended, and for a driver to let itself be opened."""
AGAIN = 0.002
"""Seconds between two attempts to open a driver that could not be opened."""
TOO_LONG = 1.0
"""Seconds for opening the driver, after which people are called."""
PIDFD_GET_INFO, PIDFD_INFO_EXIT, INFO_BYTES = 0xC040FF0B, 1 << 3, 64
"""Of Linux from 6.15 on: how a process ended that is not ours."""
MCL_CURRENT, MCL_FUTURE = 1, 2
PF_EXITING = 0x4
OPENED_AND_SAFE = "opened again and made safe"
CHECK_THE_RIG = "CHECK THE RIG"


def main() -> int:
    given = json.loads(sys.stdin.buffer.readline())
    _, words, text = mapped(given["words"])
    opening = Opening(tuple(given["inputs"]), tuple(given["outputs"]), given["period"], given["settings"])
    try:
        driver = callable_driver(given["use"])
    except DriverError as error:
        print(f"failed: {error}", flush=True)
        return 1
    driver.prepare(opening)
    pid, handle = given["pid"], os.pidfd_open(given["pid"])
    prepare()
    print("ready", flush=True)
    silence, died = wait(words, handle)
    if silence is None:
        return 0
    died = died or exiting(pid)
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    calling, heart = int(words[CALLING]), int(words[HEART])
    called = threading.Timer(
        TOO_LONG,
        say,
        ["the driver is being opened to bring it to its safe state and does not respond. " + CHECK_THE_RIG],
    )
    called.start()
    opened, told = make_safe(driver, opening)
    called.cancel()
    if opened:
        words[MADE_SAFE] = BY_WARDEN
        told += f" {1e-6 * (time.monotonic_ns() - heart):.0f} ms after its last answer"
    select.select([handle], [], [], GONE)
    why = (
        f"the process with the driver died{how_it_ended(pid, handle)}"
        if died
        else f"{who_was_silent(calling, silence)}, and its watchdog did not act either: its process was ended"
    )
    if opened:
        if driver.call("safe"):
            told = f"opened again, and its safe() failed: {driver.said()}. {CHECK_THE_RIG}"
        with suppress(DriverError):
            driver.close()
    why = f"{why}; the driver was {told}"
    say(why)
    keep(text.tobytes(), why)
    return 0


def say(text: str) -> None:
    with suppress(OSError):
        print(f"halfreal: {text}", file=sys.stderr, flush=True)


def prepare() -> None:
    """Ask for all that keeps this process from being late; what is refused makes it no worse than others."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(85))
    unlimited = os.geteuid() == 0
    ctypes.CDLL(None).mlockall(MCL_CURRENT | (MCL_FUTURE if unlimited else 0))
    gc.disable()


def wait(words, handle: int) -> tuple[float | None, bool]:  # type: ignore[no-untyped-def]
    """Until there is something to do: how long the driver has been silent [s], and whether its process has died.

    The first is None if the driver was closed.
    """
    while True:
        lease = 1e-9 * float(words[LEASE])
        silent = 1e-9 * (time.monotonic_ns() - int(words[HEART]))
        pause = min(max(WARDEN_SHARE * lease - silent, 0.0), lease) + 1e-4 if lease > 0.0 else IDLE
        if lease > 0.0 and words[SAFE_DONE]:
            pause = IDLE
        heard, _, _ = select.select([handle], [], [], pause)
        if words[CLOSED]:
            return None, False
        lease = 1e-9 * float(words[LEASE])  # it may have been armed meanwhile
        silent = 1e-9 * (time.monotonic_ns() - int(words[HEART]))
        if heard:
            return silent, True
        if lease > 0.0 and silent > WARDEN_SHARE * lease and not words[SAFE_DONE]:
            return silent, False


def make_safe(driver: OpenDriver, opening: Opening) -> tuple[bool, str]:
    """Open the driver and call ``safe()``; whether it was opened, and what came of it, for people."""
    deadline = time.monotonic() + GONE
    while True:
        try:
            driver.open(opening)
            break
        except DriverError as error:
            if time.monotonic() > deadline:
                return False, f"not brought to its safe state, because it could not be opened: {error}. {CHECK_THE_RIG}"
            time.sleep(AGAIN)
    if driver.call("safe"):
        return True, f"opened again, and its safe() failed: {driver.said()}. {CHECK_THE_RIG};"
    return True, OPENED_AND_SAFE


def stat(pid: int) -> list[str]:
    """Of a process, what /proc/PID/stat says behind its name."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def exiting(pid: int) -> bool:
    """Whether a process has begun to end by itself."""
    with suppress(OSError, ValueError, IndexError):
        return bool(int(stat(pid)[6]) & PF_EXITING)
    return True


def how_it_ended(pid: int, handle: int) -> str:
    """The signal or the exit code of a process that has ended, as far as the system shows."""
    code = None
    with suppress(OSError, ValueError, IndexError):  # while its parent has not asked for it
        code = int(stat(pid)[49])
    if code is None:
        with suppress(OSError):
            told = fcntl.ioctl(handle, PIDFD_GET_INFO, struct.pack("Q", PIDFD_INFO_EXIT).ljust(INFO_BYTES, b"\0"))
            if struct.unpack_from("Q", told)[0] & PIDFD_INFO_EXIT:
                code = struct.unpack_from("i", told, INFO_BYTES - 4)[0]
    if code is None:
        return ""
    if number := code & 0x7F:
        return f" by signal {number} ({signal.Signals(number).name})"
    return f" with exit code {code >> 8}"


def keep(command: bytes, why: str) -> None:
    """Run the command that the first process has left, with one more argument: what has happened."""
    if words := command.split(b"\0\0")[0]:
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        with suppress(OSError):
            subprocess.run([*words.decode().split("\0"), why], stdin=subprocess.DEVNULL, check=False)


if __name__ == "__main__":
    sys.exit(main())
