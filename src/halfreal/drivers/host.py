"""A driver at work: opened, called by the loop, and watched.

A thread of compiled code looks at the words of ``words.py``.  When the driver has been silent for 0.4 of the lease, it
calls ``safe()``: a driver that blocks is safe although it does not return.  A second process (``warden.py``) does the
same at 0.6 of it where that has not helped: the first process is dead, held up, or its interpreter is.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from ..contracts.driver import DriverError, Opening
from ..kernels.atomic import load_word, store_word
from ..kernels.clock import now, sleep_until
from ..kernels.entry import entry
from ..kernels.foreign import call_c
from .calls import OpenDriver, callable_driver
from .words import (
    BY_HOST,
    BY_WATCHDOG,
    CALLING,
    CALLS,
    CLOSED,
    ENDED,
    HEART,
    LEASE,
    MADE_SAFE,
    READING,
    RESULT,
    ROOM,
    SAFE_DONE,
    SILENT,
    WATCHDOG_SHARE,
    WRITING,
    mapped,
    who_was_silent,
)

Around = Callable[[OpenDriver], OpenDriver]
"""Puts something between a driver and its loop."""
LOOKS = 16
"""Of the watchdog within the time after which it acts."""
NEVER = 2.0
"""Seconds after which a call that has not returned is not waited for any more."""
GONE = 10.0
"""Seconds for the warden to end once the driver is closed."""
PATIENCE = 60.0
"""Seconds for the warden to start."""
TOO_SILENT = f"the driver was silent for {100.0 * WATCHDOG_SHARE:.0f} % of the lease"


@entry("i8", "i8", "i8")
def watch(words, safe, outputs):  # type: ignore[no-untyped-def]
    """Until it is stopped: make the driver safe when it has been silent."""
    while load_word(words + 8 * ENDED) == 0:
        lease = load_word(words + 8 * LEASE)
        time = now()
        silent = time - load_word(words + 8 * HEART)
        pause = 5_000_000
        if lease > 0:
            most = int(WATCHDOG_SHARE * float(lease))
            pause = max(most // LOOKS, 20_000)
            if silent > most and load_word(words + 8 * MADE_SAFE) == 0:
                store_word(words + 8 * SILENT, silent)
                store_word(words + 8 * MADE_SAFE, BY_WATCHDOG)
                if call_c(safe, (outputs,)) == 0:
                    store_word(words + 8 * SAFE_DONE, 1)
        sleep_until(time + pause)
    return 0


class Host:
    """A driver that is open from here on, with its watchdog and, if wished, a warden."""

    def __init__(
        self, use: str, opening: Opening, lease: float, *, warden: bool = True, around: Around = lambda driver: driver
    ) -> None:
        self.use, self.opening, self.lease = use, opening, lease
        self.driver = around(callable_driver(use))
        self._memory, self.words, self._text = mapped()
        self.driver.open(opening)
        self.nature, self.name = self.driver.who()
        self._thread = threading.Thread(target=self._watch, name="halfreal watchdog", daemon=True)
        self._thread.start()
        self._warden: subprocess.Popen[bytes] | None = None
        if warden:
            try:
                self._warden = self._start_warden()
            except BaseException:
                self.close()
                raise

    def _watch(self) -> None:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(90))
        watch(self.words.ctypes.data, self.driver.addresses["safe"], self.driver.outputs.ctypes.data)

    def _start_warden(self) -> subprocess.Popen[bytes]:
        given = {"use": self.use, "pid": os.getpid(), "words": self._memory}
        given |= {"inputs": self.opening.inputs, "outputs": self.opening.outputs, "period": self.opening.period}
        given |= {"settings": dict(self.opening.settings)}
        process = subprocess.Popen(
            [sys.executable, "-m", "halfreal.drivers.warden"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(self._memory,),
            start_new_session=True,  # what is typed to end the first process must not end this one
        )
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(given).encode() + b"\n")
        process.stdin.flush()
        os.set_blocking(process.stdout.fileno(), False)
        deadline, heard = time.monotonic() + PATIENCE, b""
        while b"\n" not in heard and process.poll() is None and time.monotonic() < deadline:
            heard += process.stdout.read() or b""
            time.sleep(0.01)
        if b"ready" not in heard:
            process.kill()
            raise DriverError(
                "the standby process that brings the driver to its safe state did not start: "
                f"{heard.decode().strip() or 'no message'}"
            )
        return process

    def if_lost(self, command: Sequence[str] = ()) -> None:
        """What the warden runs when this process is lost, once the driver is safe; it gets one argument more, why."""
        text = "\0".join(command).encode() + b"\0\0"
        if len(text) > ROOM:
            raise DriverError(f"the command takes {len(text)} bytes; the limit is {ROOM}; shorten its paths")
        self._text[: len(text)] = np.frombuffer(text, np.uint8)

    # --- a session --------------------------------------------------------------------------------------------------

    def arm(self, lease: float) -> None:
        """From now on the driver is exchanged with in every tick: watch it."""
        if self.warden_gone:
            raise DriverError(
                "the standby process that brings the driver to its safe state has ended; restart this one"
            )
        self.words[HEART] = time.monotonic_ns()
        self.words[LEASE] = int(1e9 * min(lease, self.lease))

    def disarm(self) -> None:
        self.words[LEASE] = 0

    @property
    def warden_gone(self) -> bool:
        return self._warden is not None and self._warden.poll() is not None

    @property
    def made_safe(self) -> int:
        """Who has made it safe, as ``words.py`` counts them; 0 if no one has."""
        return int(self.words[MADE_SAFE])

    @property
    def blocked(self) -> bool:
        """Whether a call of the driver has not returned for so long that it will not."""
        silent = time.monotonic_ns() - int(self.words[HEART])
        return self.made_safe == BY_WATCHDOG and silent > 1e9 * max(2.0 * self.lease, NEVER)

    @property
    def failed(self) -> bool:
        """Whether one of its functions has failed: read, write, or safe."""
        return bool(self.words[RESULT]) or bool(self.made_safe and not self.words[SAFE_DONE])

    def why(self) -> str:
        """What is wrong with the driver, for people; empty if nothing is."""
        if said := self.driver.said():
            return said
        if result := int(self.words[RESULT]):
            return f"{CALLS.get(int(self.words[CALLING]), 'a function of it')} returned {result}, and it gave no reason"
        if self.made_safe != BY_WATCHDOG:
            return ""
        silence = who_was_silent(int(self.words[CALLING]), 1e-9 * float(self.words[SILENT]))
        return f"{silence}, and its watchdog made it safe"

    def read(self) -> np.ndarray:
        """Raw values as they are now; to be called outside of a session only."""
        self._call("read", READING)
        return self.driver.inputs[: len(self.opening.inputs)].copy()

    def write(self, raw: np.ndarray) -> None:
        """Hand over raw values; to be called outside of a session only."""
        self.driver.outputs[: raw.size] = raw
        self._call("write", WRITING)

    def _call(self, name: Literal["read", "write"], number: int) -> None:
        if result := self.driver.call(name):
            self.words[CALLING], self.words[RESULT] = number, result
            self.safe()
            raise DriverError(f"the driver failed: {self.why()}; it was made safe")

    def safe(self) -> None:
        if self.words[MADE_SAFE] == 0:
            self.words[MADE_SAFE] = BY_HOST
        if self.driver.call("safe") == 0:
            self.words[SAFE_DONE] = 1

    def reopen(self) -> None:
        """After it was made safe, for a new session."""
        self.disarm()
        self.driver.close()
        self.driver.open(self.opening)
        self.words[MADE_SAFE] = self.words[SAFE_DONE] = self.words[CALLING] = self.words[RESULT] = 0

    def close(self) -> None:
        """Safe, and let go."""
        self.disarm()
        try:
            if not self.blocked:  # else it is safe, and a further call might not return either
                self.safe()
                self.driver.close()
        finally:
            self.words[CLOSED] = 1
            self.words[ENDED] = 1
            self._thread.join(1.0)
            if self._warden is not None:
                assert self._warden.stdin is not None and self._warden.stdout is not None
                self._warden.stdin.close()
                try:
                    self._warden.wait(GONE)
                except subprocess.TimeoutExpired:  # the driver is closed: it has nothing left to do
                    self._warden.kill()
                    self._warden.wait()
                self._warden.stdout.close()


def header_folder() -> Path:
    """Where ``halfreal_driver.h`` is."""
    return Path(__file__).parent
