"""A driver put through its contract: ``halfreal serve --try``.

The outputs hold what the rig is at, so nothing is to move.  Read rates and jitter are measured in the loop of a
test; what is not a number, an exception and a call that does not return are put between the driver and the loop; for
the end of the process and for one that is held up, the driver runs in a process of its own, which gets a signal.
"""

from __future__ import annotations

import ctypes
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..contracts.driver import DriverError
from ..definition.definition import Definition
from ..drivers.calls import CALL
from ..drivers.host import Host
from ..drivers.table import Wired
from ..drivers.warden import CHECK_THE_RIG, OPENED_AND_SAFE
from ..links.driver import opened, wired
from ..links.pace import percentiles
from .holding import driven, holding_loop

Verdict = Literal["good", "note", "BAD"]
SHARES = (0.5, 0.99, 0.999)
FIRST = 20
"""Ticks before a fault is put in."""
PATIENCE = 60.0
SILENT_FOR = 5.0
"""Seconds beyond the lease after which the second process is said to have done nothing."""
LATE_SHARE = 0.001
"""Of the ticks that may not be done in time."""
FAULTS = ("a read that is not a number", "a read that raises", "a read that does not return")


@dataclass(frozen=True)
class Found:
    """One line of a trial."""

    what: str
    found: str
    verdict: Verdict


class Injected:
    """A driver with a fault between it and the loop, from a certain read on."""

    interpreted = True

    def __init__(self, driver: Any, fault: str, let_go: threading.Event) -> None:
        self._driver, self._fault, self._let_go, self._reads, self._failure = driver, fault, let_go, 0, ""
        self.began = self.safe_at = 0.0
        self._read, self._safe = CALL(self.read), CALL(self.safe)
        self.addresses = dict(driver.addresses)
        for name, callback in (("read", self._read), ("safe", self._safe)):
            self.addresses[name] = int(ctypes.cast(callback, ctypes.c_void_p).value or 0)

    def read(self, place: int) -> int:
        status = int(self._driver.call("read"))
        self._reads += 1
        if self._reads <= FIRST:
            return status
        self.began = self.began or time.monotonic()
        if self._fault == FAULTS[0]:
            self._driver.inputs[:] = np.nan
        elif self._fault == FAULTS[1]:
            self._failure = "the exception that --try put in"
            return 1
        else:
            self._let_go.wait(PATIENCE)
        return status

    def safe(self, place: int) -> int:
        status = int(self._driver.call("safe"))
        self.safe_at = self.safe_at or time.monotonic()
        return status

    def said(self) -> str:
        return self._failure or self._driver.said()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driver, name)


def trial(
    definition: Definition,
    path: Path,
    use: str = "",
    seconds: float = 2.0,
    on_progress: Callable[[Found], None] = print,
) -> list[Found]:
    """Run the contract test of a definition's driver, or of another one; ``on_progress`` receives each line as it is
    found."""
    found: list[Found] = []
    for one in _lines(definition, path, use, seconds):
        found.append(one)
        on_progress(one)
    return found


def _lines(definition: Definition, path: Path, use: str, seconds: float) -> Iterator[Found]:
    table, step = wired(definition), definition.period
    lease = 0.1 if definition.link is None else definition.link.lease
    host = opened(definition, lease, use, warden=False)
    try:
        kind = "Python, under the interpreter's lock" if host.driver.interpreted else "compiled, without an interpreter"
        yield Found("driver", f"{host.name}, {host.nature}; {kind}", "good")
        host.reopen()
        yield Found("open, close, open", "opens again", "good")
        yield from _read_alone(host, table, step)
        yield from _in_the_loop(definition, host, table, seconds)
        yield _safe_again(host, step)
    except DriverError as error:
        yield Found("calls", str(error), "BAD")
        return
    finally:
        host.close()
    for fault in FAULTS:
        yield _injected(definition, table, lease, use, fault)
    yield _lost(path, use, lease, signal.SIGKILL, "process killed")
    yield _lost(path, use, lease, signal.SIGSTOP, "process held up")


def _read_alone(host: Host, table: Wired, step: float) -> Iterator[Found]:
    times, rows = [], []
    count = int(np.clip(0.5 / step, 50, 2000))
    for _ in range(count):
        began = time.perf_counter()
        rows.append(host.read())
        times.append(time.perf_counter() - began)
    middle, worst = float(np.median(times)), float(np.max(times))
    fits: Verdict = "good" if middle < 0.5 * step else "BAD"
    text = f"{count} reads: median {1e6 * middle:.0f} µs ({1.0 / middle:.0f} a second), longest {1e6 * worst:.0f} µs"
    yield Found("read on its own", f"{text}; a step is {1e6 * step:.0f} µs", fits)
    values = np.array(rows)
    for i, (name, one) in enumerate(table.inputs.items()):
        column = values[:, i]
        low, high = one.bounds
        lost = int(np.sum(~np.isfinite(column)))
        if lost:
            yield Found(f"channel {name}", f"{lost} of {count} reads gave no number", "BAD")
        elif one.healthy is not None:
            well = bool(np.all((column >= 0.5) == (one.healthy >= 0.5)))
            yield Found(
                f"channel {name}",
                "healthy" if well else "not healthy: the interlock is open",
                "good" if well else "BAD",
            )
        elif not (low < column.min() and column.max() < high):
            yield Found(
                f"channel {name}", f"{column.min():g} to {column.max():g} {one.raw}: at or beyond its range", "BAD"
            )
        else:
            noise = float(column.std())
            text = f"{column.mean():.6g} {one.raw}, noise {noise:.2g} {one.raw} r.m.s."
            still = noise == 0.0
            yield Found(f"channel {name}", text + ("; it does not vary" if still else ""), "note" if still else "good")


def _in_the_loop(definition: Definition, host: Host, table: Wired, seconds: float) -> Iterator[Found]:
    step = definition.period
    loop = holding_loop(definition, host, table, host.read())
    ticks = max(round(seconds / step), 200)
    driven(loop, 10)
    state = loop.state("pace")
    for name in ("lateness_max", "lateness_histogram", "execution_max", "execution_histogram"):
        state[name] = 0.0
    before = float(loop.vector[loop.index["pace.overruns"]])
    log = np.empty((ticks, 2))
    driven(loop, ticks, log, ("driver.read_time",))
    fault = loop.describe(float(loop.vector[loop.index["loop.fault"]]))
    if fault:
        yield Found("in the loop", fault, "BAD")
        return
    late, work = (percentiles(np.array(state[f"{name}_histogram"]), SHARES) for name in ("lateness", "execution"))
    reads, overruns = log[:, 1], int(loop.vector[loop.index["pace.overruns"]] - before)
    allowed = int(LATE_SHARE * ticks)
    rate = f"{ticks} ticks at {1.0 / step:.0f} Hz"

    def told(values: np.ndarray) -> str:
        return ", ".join(f"{1e6 * value:.0f}" for value in values)

    yield Found(
        "in the loop",
        f"{rate}: late by {told(late)} µs, work {told(work)} µs (50, 99, 99.9 %); {overruns} not done in time, up to "
        f"{allowed} are allowed" + ("" if overruns <= allowed else "; 'halfreal doctor' examines the computer"),
        "good" if overruns <= allowed else "BAD",
    )
    yield Found(
        "read in the loop",
        f"{told(np.quantile(reads, SHARES))} µs (50, 99, 99.9 %), longest {1e6 * reads.max():.0f} µs",
        "good" if np.quantile(reads, 0.999) < 0.5 * step else "note",
    )


def _safe_again(host: Host, step: float) -> Found:
    """From another thread, twice, while reads continue."""
    going, failed, times = threading.Event(), list[str](), list[float]()

    def reading() -> None:
        while not going.is_set():
            if host.driver.call("read"):
                failed.append(host.driver.said())
                return

    thread = threading.Thread(target=reading, daemon=True)
    thread.start()
    for _ in range(2):
        began = time.perf_counter()
        if host.driver.call("safe"):
            failed.append(f"safe() failed: {host.driver.said()}")
        times.append(time.perf_counter() - began)
    going.set()
    thread.join(5.0)
    text = f"{1e6 * max(times):.0f} µs, twice, while another thread reads"
    if failed:  # reading after safe() may be refused, safe() itself may not
        return Found("safe()", f"{text}; {failed[0]}", "BAD" if "safe()" in failed[0] else "note")
    return Found("safe()", text, "good")


def _injected(definition: Definition, table: Wired, lease: float, use: str, fault: str) -> Found:
    let_go, made = threading.Event(), list[Injected]()

    def around(driver: Any) -> Injected:
        made.append(Injected(driver, fault, let_go))
        return made[0]

    host = opened(definition, lease, use, warden=False, around=around)
    driver = made[0]
    try:
        loop = holding_loop(definition, host, table, host.read())
        host.arm(lease)
        thread = threading.Thread(target=driven, args=(loop, 10 * FIRST), daemon=True)
        thread.start()
        deadline = time.monotonic() + PATIENCE
        while not driver.safe_at and time.monotonic() < deadline and (thread.is_alive() or not driver.began):
            time.sleep(1e-3)
        let_go.set()
        thread.join(PATIENCE)
        why = loop.describe(float(loop.vector[loop.index["loop.fault"]]))
    finally:
        let_go.set()
        host.disarm()
        host.close()
    if not driver.safe_at:
        return Found(fault, "the driver was not made safe", "BAD")
    after = driver.safe_at - driver.began
    return Found(fault, f"safe after {1e3 * after:.1f} ms: {why}", "good" if after <= lease else "BAD")


def _lost(path: Path, use: str, lease: float, number: signal.Signals, what: str) -> Found:
    """The driver in a process of its own, which gets a signal while it is armed."""
    words = [sys.executable, "-m", "halfreal.live.driver_trial", str(path), use, repr(lease)]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stderr is not None
    try:
        if child.stdout.readline().strip() != "armed":
            child.kill()
            return Found(what, f"it did not come to be armed: {child.stderr.read().strip()[-300:]}", "BAD")
        time.sleep(2.0 * lease)
        began = time.monotonic()
        child.send_signal(number)
        heard, _, _ = select.select([child.stderr], [], [], lease + SILENT_FOR)  # a loop that has ended before is safe
        said = child.stderr.readline().strip().removeprefix("halfreal: ") if heard else ""
        after = time.monotonic() - began
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()
    return Found(
        what,
        f"after {1e3 * after:.0f} ms: {said or 'nothing was said; did the loop end before?'}",
        "good" if is_safe(said) and after <= lease else "BAD",
    )


def is_safe(said: str) -> bool:
    """Whether the second process, which printed this, has brought the driver to its safe state."""
    return OPENED_AND_SAFE in said and CHECK_THE_RIG not in said


def main() -> None:
    """The process that is killed, or stopped: holds the rig through the driver."""
    from ..definition.definition import load

    path, use, lease = sys.argv[1:]
    definition = load(path)
    table, host = wired(definition), opened(definition, float(lease), use)
    loop = holding_loop(definition, host, table, host.read())
    driven(loop, FIRST)  # all is compiled and in memory before time counts
    host.arm(float(lease))
    threading.Thread(target=driven, args=(loop, 10**9), daemon=True).start()
    print("armed", flush=True)
    time.sleep(PATIENCE)
    host.close()


if __name__ == "__main__":
    main()
