"""Comedi: data acquisition cards by the Linux kernel's own drivers, through libcomedi (Debian: libcomedi0).

**Not tried on hardware.**  It was tried against a stand-in for the library with its functions as comedilib.h declares
them.  Who uses it first must try, with nothing attached to the outputs:

1. ``halfreal serve TEST.toml --try``: whether every channel is there, and how long a reading takes.  Channels are read
   and written one by one, each with a system call; an input that waits for its multiplexer takes tens of microseconds.
2. A voltmeter on every output and a known voltage on every input: places, signs, ranges (``comedi_board_info -v``).
3. ``kill -9`` while a test runs: **outputs of most cards hold their last voltage**.  halfreal's warden then makes them
   safe; whether that suffices must be measured.
4. That a card's outputs are 0 V when the computer starts, and when it loses power.

    [driver]
    use = "comedi"
    settings = { device = "/dev/comedi0", range = 0, reference = "ground" }

Channels are "ai0", "ao1", "dio3", "di0", "do0": the number is that of the channel in the card's first subdevice of
the sort.  Raw values are volts (or what the range is in), and 0 or 1; a reading at the end of its range is NaN, as it
may be beyond.  Settings: ``device``; ``range``, its number in the card's list; ``reference`` of analogue channels:
"ground", "common" or "differential"; ``library``, where libcomedi is not found.  ``safe()`` writes what is nearest to
0 V, and 0.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..contracts.driver import Driver, DriverError, Opening

SORTS = {"ai": 1, "ao": 2, "di": 3, "do": 4, "dio": 5}
"""Sorts of subdevices in comedi.h."""
REFERENCES = {"ground": 0, "common": 1, "differential": 2}
NAME = re.compile(r"(ai|ao|dio|di|do)(\d+)")
INPUT, OUTPUT = 0, 1


class Range(ctypes.Structure):
    """comedi_range of comedilib.h."""

    _fields_ = (("min", ctypes.c_double), ("max", ctypes.c_double), ("unit", ctypes.c_uint))


@dataclass(frozen=True)
class Line:
    """A channel of a card."""

    sort: str
    subdevice: int
    channel: int
    range: Any = None
    largest: int = 0


@cache  # looking for it starts other programs
def library(name: str = "") -> ctypes.CDLL:
    """libcomedi, with the functions that are used here."""
    found = name or ctypes.util.find_library("comedi")
    if not found:
        raise DriverError("the driver 'comedi' needs libcomedi; install it, on Debian: apt install libcomedi0")
    functions, device, number = ctypes.CDLL(found), ctypes.c_void_p, ctypes.c_uint
    into = ctypes.POINTER(ctypes.c_uint)
    for name_, result, arguments in (
        ("open", device, [ctypes.c_char_p]),
        ("close", ctypes.c_int, [device]),
        ("errno", ctypes.c_int, []),
        ("strerror", ctypes.c_char_p, [ctypes.c_int]),
        ("get_board_name", ctypes.c_char_p, [device]),
        ("find_subdevice_by_type", ctypes.c_int, [device, ctypes.c_int, number]),
        ("get_n_channels", ctypes.c_int, [device, number]),
        ("get_maxdata", number, [device, number, number]),
        ("get_range", ctypes.POINTER(Range), [device, number, number, number]),
        ("to_phys", ctypes.c_double, [number, ctypes.POINTER(Range), number]),
        ("from_phys", number, [ctypes.c_double, ctypes.POINTER(Range), number]),
        ("data_read", ctypes.c_int, [device, number, number, number, number, into]),
        ("data_write", ctypes.c_int, [device, number, number, number, number, number]),
        ("dio_config", ctypes.c_int, [device, number, number, number]),
        ("dio_read", ctypes.c_int, [device, number, number, into]),
        ("dio_write", ctypes.c_int, [device, number, number, number]),
    ):
        function = getattr(functions, f"comedi_{name_}")
        function.restype, function.argtypes = result, arguments
    return functions


class ComediDriver(Driver):
    """Analogue and digital channels of one card."""

    nature, name = "real", "Comedi"

    def __init__(self) -> None:
        self._device: int | None = None
        self._is_safe = threading.Event()

    def prepare(self, opening: Opening) -> None:
        library(opening.setting("library", ""))

    def open(self, opening: Opening) -> None:
        opening.known("device", "range", "reference", "library")
        device, self._range = opening.setting("device", "/dev/comedi0"), opening.setting("range", 0)
        reference = opening.setting("reference", "ground")
        if reference not in REFERENCES:
            raise DriverError(f"driver.settings.reference is '{reference}'; choose one of {', '.join(REFERENCES)}")
        self._reference = REFERENCES[reference]
        self._comedi = library(opening.setting("library", ""))
        self._is_safe.clear()
        self._device = self._comedi.comedi_open(device.encode())
        if not self._device:
            raise DriverError(f"'{device}' cannot be opened: {self._why()}; load the card's driver, and join its group")
        try:
            self._inputs = [self._line(name, INPUT) for name in opening.inputs]
            self._outputs = [self._line(name, OUTPUT) for name in opening.outputs]
        except BaseException:
            self._comedi.comedi_close(self._device)
            self._device = None
            raise
        self.name = f"Comedi: {self._comedi.comedi_get_board_name(self._device).decode()} at {device}"

    def _why(self) -> str:
        return str(self._comedi.comedi_strerror(self._comedi.comedi_errno()).decode())

    def _line(self, name: str, way: int) -> Line:
        found = NAME.fullmatch(name)
        if found is None or found[1] in (("ao", "do") if way == INPUT else ("ai", "di")):
            examples = "'ai0', 'di0' or 'dio0'" if way == INPUT else "'ao0', 'do0' or 'dio0'"
            raise DriverError(f"'{name}' is not an {'input' if way == INPUT else 'output'} of Comedi; write {examples}")
        sort, channel = found[1], int(found[2])
        subdevice = self._comedi.comedi_find_subdevice_by_type(self._device, SORTS[sort], 0)
        count = self._comedi.comedi_get_n_channels(self._device, subdevice) if subdevice >= 0 else 0
        if not 0 <= channel < count:
            raise DriverError(f"the card has no channel '{name}'; it has {max(count, 0)} of '{sort}'")
        if sort == "dio" and self._comedi.comedi_dio_config(self._device, subdevice, channel, way) < 0:
            raise DriverError(f"'{name}' cannot be made an {'input' if way == INPUT else 'output'}: {self._why()}")
        if sort not in ("ai", "ao"):
            return Line(sort, subdevice, channel)
        span = self._comedi.comedi_get_range(self._device, subdevice, channel, self._range)
        if not span:
            raise DriverError(f"'{name}' has no range {self._range}; comedi_board_info -v lists them")
        largest = self._comedi.comedi_get_maxdata(self._device, subdevice, channel)
        return Line(sort, subdevice, channel, span, largest)

    def read(self) -> Sequence[float]:
        return [self._read(line) for line in self._inputs]

    def _read(self, line: Line) -> float:
        raw = ctypes.c_uint()
        if line.range is None:
            done = self._comedi.comedi_dio_read(self._device, line.subdevice, line.channel, ctypes.byref(raw))
            value = float(raw.value)
        else:
            done = self._comedi.comedi_data_read(
                self._device, line.subdevice, line.channel, self._range, self._reference, ctypes.byref(raw)
            )
            value = float(self._comedi.comedi_to_phys(raw, line.range, line.largest))
        if done < 0:
            raise DriverError(f"Comedi cannot read {line.sort}{line.channel}: {self._why()}")
        return value

    def write(self, commands: Sequence[float]) -> None:
        if not self._is_safe.is_set():
            for line, value in zip(self._outputs, commands, strict=True):
                self._write(line, value)

    def _write(self, line: Line, value: float) -> None:
        if line.range is None:
            done = self._comedi.comedi_dio_write(self._device, line.subdevice, line.channel, int(value >= 0.5))
        else:
            raw = self._comedi.comedi_from_phys(value, line.range, line.largest)
            where = (self._device, line.subdevice, line.channel, self._range, self._reference)
            done = self._comedi.comedi_data_write(*where, raw)
        if done < 0:
            raise DriverError(f"Comedi cannot write {line.sort}{line.channel}: {self._why()}")

    def safe(self) -> None:
        self._is_safe.set()
        failed: list[DriverError] = []
        for line in self._outputs if self._device else ():
            try:
                self._write(line, 0.0)
            except DriverError as error:  # the others all the same
                failed.append(error)
        if failed:
            raise failed[0]

    def close(self) -> None:
        if self._device:
            try:
                self.safe()
            finally:
                self._comedi.comedi_close(self._device)
                self._device = None
