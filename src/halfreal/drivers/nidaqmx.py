"""NI-DAQmx: cards and chassis of National Instruments, by the package nidaqmx (an extra) and NI's own driver.

**Not tried on hardware.**  It was written from NI's documentation and tried against a stand-in for its package only.
Who uses it first must try, with nothing attached to the outputs:

1. ``halfreal serve TEST.toml --try``: whether every channel is there, and how long a reading takes.  Channels are read
   and written one sample at a time, on demand: tens of microseconds on PCI Express, a millisecond or more on USB, which
   is too slow for most tests in real time.
2. A voltmeter on every output and a known voltage on every input: places, signs and ranges.
3. ``kill -9`` while a test runs.  **Outputs of most cards hold their last voltage**, also when their process has ended.
   halfreal's warden then makes them safe; whether that suffices must be measured.  Cards with a watchdog of their own
   (digital lines of the 653x, C Series in CompactRIO) are not set up by this driver.
4. That a card's outputs are 0 V when the computer starts, and when it loses power.

    [driver]
    use = "ni-daqmx"
    settings = { range = 10.0, terminals = "differential" }

Channels are named as NI does: "Dev1/ai0", "Dev1/ao1", "Dev1/port0/line3".  Raw values are volts, and 0 or 1.  Settings:
``range`` [V] of analogue channels to either side, and ``terminals`` of inputs: "default", "differential", "rse" or
"nrse".  ``safe()`` writes 0 V and 0.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from ..contracts.driver import Driver, DriverError, Opening

WIRED = {"default": "DEFAULT", "differential": "DIFF", "rse": "RSE", "nrse": "NRSE"}
PATIENCE = 1.0
"""Seconds after which NI's driver gives up a reading: an error, which trips."""


def is_digital(name: str) -> bool:
    return "/port" in name.lower()


class NiDaqMxDriver(Driver):
    """Analogue and digital channels, one sample at a time."""

    nature, name = "real", "NI-DAQmx"

    def __init__(self) -> None:
        self._tasks: dict[str, Any] = {}
        self._places: dict[str, list[int]] = {"ai": [], "di": [], "ao": [], "do": []}
        self._is_safe = threading.Event()

    def prepare(self, opening: Opening) -> None:
        import_module("nidaqmx.constants")

    def open(self, opening: Opening) -> None:
        opening.known("range", "terminals")
        self._range, terminals = opening.setting("range", 10.0), opening.setting("terminals", "default")
        if terminals not in WIRED:
            raise DriverError(f"driver.settings.terminals is '{terminals}'; choose one of {', '.join(WIRED)}")
        if not 0.0 < self._range <= 100.0:
            raise DriverError(f"driver.settings.range is {self._range:g} V; it must be above 0 V and at most 100 V")
        try:
            self._library = import_module("nidaqmx")
        except ImportError:
            raise DriverError(
                "the driver 'ni-daqmx' needs nidaqmx and NI's driver; install them: pip install 'halfreal[nidaqmx]'"
            ) from None
        wired = getattr(import_module("nidaqmx.constants").TerminalConfiguration, WIRED[terminals])
        self._is_safe.clear()
        self._places = {
            way: [i for i, name in enumerate(names) if is_digital(name) == digital]
            for way, names, digital in (
                ("ai", opening.inputs, False),
                ("di", opening.inputs, True),
                ("ao", opening.outputs, False),
                ("do", opening.outputs, True),
            )
        }
        self._count = len(opening.inputs)
        try:
            for way, places in self._places.items():
                if not places:
                    continue
                task = self._tasks[way] = self._library.Task()
                names = opening.inputs if way in ("ai", "di") else opening.outputs
                for place in places:
                    self._add(task, way, names[place], wired)
                task.start()
        except Exception as error:  # NI's, of many kinds
            self._let_go()
            raise DriverError(
                f"NI-DAQmx cannot open its channels: {error}; compare their names with NI MAX or nilsdev"
            ) from None
        self.name = f"NI-DAQmx: {', '.join((*opening.inputs, *opening.outputs))}"

    def _add(self, task: Any, way: str, name: str, wired: Any) -> None:
        low, high = -self._range, self._range
        if way == "ai":
            task.ai_channels.add_ai_voltage_chan(name, terminal_config=wired, min_val=low, max_val=high)
        elif way == "ao":
            task.ao_channels.add_ao_voltage_chan(name, min_val=low, max_val=high)
        elif way == "di":
            task.di_channels.add_di_chan(name)
        else:
            task.do_channels.add_do_chan(name)

    def read(self) -> Sequence[float]:
        values = [float("nan")] * self._count
        for way in ("ai", "di"):
            if way in self._tasks:
                got = self._tried(lambda task=self._tasks[way]: task.read(timeout=PATIENCE))  # type: ignore[misc]
                for place, value in zip(self._places[way], got if isinstance(got, list) else [got], strict=True):
                    values[place] = float(value)
        return values

    def write(self, commands: Sequence[float]) -> None:
        if not self._is_safe.is_set():
            for way in ("ao", "do"):
                self._put(way, [commands[place] for place in self._places[way]])

    def _put(self, way: str, values: Sequence[float]) -> None:
        if way in self._tasks:
            data: list[Any] = [value >= 0.5 for value in values] if way == "do" else list(values)
            self._tried(lambda: self._tasks[way].write(data if len(data) > 1 else data[0], timeout=PATIENCE))

    def _tried(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            raise DriverError(f"NI-DAQmx fails: {error}") from error

    def safe(self) -> None:
        self._is_safe.set()
        try:
            self._put("do", [0.0] * len(self._places["do"]))
        finally:
            self._put("ao", [0.0] * len(self._places["ao"]))

    def _let_go(self) -> None:
        for task in self._tasks.values():
            task.close()
        self._tasks = {}

    def close(self) -> None:
        try:
            self.safe()
        finally:
            self._let_go()
