"""Tare and shunt calibration of a channel, through the guarded loop of an idle rig.

    tare     the mean raw value of an unloaded sensor becomes its offset
    shunt    a resistor across an arm of the bridge simulates a known value V: scale = V / |change of the raw value|

The raw values are those of the loop, tick by tick; range, interlocks and the driver are watched meanwhile.  The mean
has a standard error that counts how raw values hang together: σ √(τ/N), with τ summed from their autocorrelation.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np

from .. import __version__, units
from ..contracts.driver import DriverError
from ..definition.definition import Definition
from ..definition.paths import with_values
from ..drivers.table import STATES, Input
from ..errors import HalfrealError
from ..links.driver import looked_at, opened, wired
from .holding import driven, holding_loop

SECONDS = 2.0
SETTLES = 0.3
"""Seconds after a shunt is switched before values count."""
STEADY = 6.0
"""Standard errors by which two halves of a record may differ."""
BACK = 6.0
"""The same of the value after a shunt against that before."""
CLEAR = 20.0
"""Standard errors that a shunt must change a channel by."""
MUCH = 0.1
"""Part of its range that an offset of a healthy bridge stays below."""
OTHER = 0.05
"""Relative difference of a scale from the one before that someone must give a reason for."""
ASK = Callable[[str], None]


class CalibrationError(HalfrealError):
    """A calibration with an implausible result."""


@dataclass(frozen=True)
class Mean:
    """Of raw values."""

    value: float
    error: float
    """Standard error."""
    noise: float
    count: int


def mean_of(values: np.ndarray) -> Mean:
    """With the standard error of samples that hang together; refuses a channel that drifts."""
    count = values.size
    line = np.polynomial.polynomial.polyfit(ticks := np.linspace(-1.0, 1.0, count), values, 1)
    left = values - line[0] - line[1] * ticks  # else a drift would look like noise that hangs together
    noise = float(left.std())
    error = noise * np.sqrt(_correlated(left) / count)
    first, second = np.array_split(values, 2)
    drift = float(abs(second.mean() - first.mean()))
    if drift > STEADY * 2.0 * error and drift > 1e-12:
        raise CalibrationError(
            f"the channel drifts: its raw value changes by {drift:.3g} in the record; "
            f"{STEADY * 2.0 * error:.3g} would be noise; wait until it has settled, or find what moves"
        )
    return Mean(float(values.mean()), float(error), noise, count)


def _correlated(values: np.ndarray) -> float:
    """Samples that count for one: 1 + 2 Σ ρ(k), up to where the autocorrelation first falls below zero."""
    centred = values - values.mean()
    power = float(centred @ centred)
    if power == 0.0:
        return 1.0
    whole = np.fft.irfft(np.abs(np.fft.rfft(centred, 2 * values.size)) ** 2)[: values.size // 2] / power
    below = np.flatnonzero(whole < 0.0)
    return float(max(1.0, 1.0 + 2.0 * whole[1 : below[0] if below.size else None].sum()))


class Calibration:
    """The rig of a definition on this computer, idle; a context manager.

    It only reads, unless it ``writes``, for a shunt that a digital output switches: then commands hold what the rig is
    measured at, and digital outputs are as when idle.
    """

    def __init__(self, definition: Definition, use: str = "", *, writes: bool = False) -> None:
        self.definition, self.table = definition, wired(definition)
        lease = 0.5 if definition.link is None else definition.link.lease
        self.host = opened(definition, lease, use)
        try:
            self._loop = holding_loop(
                definition, self.host, self.table, looked_at(self.host, self.table), writes=writes
            )
        except BaseException:
            self.host.close()
            raise
        self._lease = lease

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.host.close()

    def record(self, name: str, seconds: float) -> np.ndarray:
        """Raw values of a channel, tick by tick."""
        return self.rows((f"raw.{name}",), seconds)[:, 0]

    def rows(self, names: tuple[str, ...], seconds: float) -> np.ndarray:
        """Channels of the loop, tick by tick."""
        ticks = max(round(seconds / self.definition.period), 50)
        log = np.empty((ticks, 1 + len(names)))
        self.host.arm(self._lease)
        try:
            driven(self._loop, ticks, log, names)
        finally:
            self.host.disarm()
        fault = self._loop.describe(float(self._loop.vector[self._loop.index["loop.fault"]]))
        if fault:
            raise DriverError(f"{fault}; the driver was brought to a safe state, and nothing was changed")
        return log[:, 1:].copy()

    def input(self, name: str) -> tuple[Input, str]:
        """A channel of the table, and the unit of what it measures."""
        if name not in self.table.inputs:
            raise CalibrationError(f"'{name}' is not an input of [channels]; inputs: {', '.join(self.table.inputs)}")
        one = self.table.inputs[name]
        if one.healthy is not None:
            raise CalibrationError(f"'{name}' is a digital input and is not calibrated")
        return one, self.table.units[list(self.table.inputs).index(name)]

    def tare(self, name: str, seconds: float = SECONDS) -> tuple[dict[str, str], str]:
        """Changes of a channel's table by which it reads zero as it is now, and as text what was found."""
        one, unit = self.input(name)
        found = mean_of(self.record(name, seconds))
        low, high = one.bounds
        usual = one.zero if one.is_one_sided else 0.0  # 4 mA is the zero of many sensors
        if abs(found.value - usual) > MUCH * min(high - low, 1e30):
            raise CalibrationError(
                f"{name} reads {found.value:.6g} {one.raw}, which is more than {100 * MUCH:.0f} % of its range of "
                f"{low:g} to {high:g} {one.raw} from {usual:g} {one.raw}: it is loaded or "
                "faulty; unload it, or balance its amplifier first"
            )
        said = (
            f"tare {_now()}: {found.value:.6g} ± {2 * found.error:.2g} {one.raw} (95 %, {found.count} samples, noise "
            f"{found.noise:.2g} {one.raw}); was {one.zero:.6g} {one.raw}, which is "
            f"{units.text(abs(one.factor(unit)) * abs(found.value - one.zero), unit)} away"
        )
        return {"offset": _text(found.value, one.raw), "calibration": _joined(one, said)}, said

    def shunt(
        self, name: str, value: float, switch: str = "", ask: ASK = lambda text: None, reason: str = ""
    ) -> tuple[dict[str, str | int], str]:
        """Changes by which a shunt that represents ``value`` is read as that; ``switch`` is the output that puts it in.

        Without one ``ask`` is called when it is to be put in, and taken out, by hand.
        """
        one, unit = self.input(name)
        before = mean_of(self.record(name, SECONDS))
        self._switch(switch, True, ask, name)
        try:
            self.record(name, SETTLES)
            within = mean_of(self.record(name, SECONDS))
        finally:
            self._switch(switch, False, ask, name)
        self.record(name, SETTLES)
        after = mean_of(self.record(name, SECONDS))
        change = within.value - 0.5 * (before.value + after.value)
        error = float(np.hypot(within.error, 0.5 * np.hypot(before.error, after.error)))
        if abs(after.value - before.value) > BACK * np.hypot(before.error, after.error) + 0.002 * abs(change):
            raise CalibrationError(
                f"{name} did not return to zero: {before.value:.6g} {one.raw} before the shunt, "
                f"{after.value:.6g} after it; "
                "check the bridge, and that nothing moves"
            )
        if abs(change) < CLEAR * error or change == 0.0:
            raise CalibrationError(
                f"{name} changed by {change:.3g} ± {2 * error:.1g} {one.raw} only: the shunt was "
                "not connected, or is too small"
            )
        scale, polarity = abs(value / change), int(np.sign(value) * np.sign(change))
        old = abs(one.factor(unit))
        off = scale / old - 1.0
        if (abs(off) > OTHER or polarity != one.polarity) and not reason.strip():
            what = (
                f"polarity {polarity:+d}"
                if polarity != one.polarity
                else f"a scale {100 * off:+.2f} % from the table's"
            )
            raise CalibrationError(
                f"the shunt of {name} gives {what}: a change of {change:.6g} {one.raw} for {units.text(value, unit)}; "
                "check wiring, gain and shunt value, or give the reason with --because, which is recorded"
            )
        per, because = units.per(unit, one.raw), f"; because {reason.strip()}" if reason.strip() else ""
        said = (
            f"shunt {_now()}: {units.text(value, unit)} changed it by {change:.6g} ± {2 * error:.2g} {one.raw} (95 %); "
            f"scale was {old:.6g} {per}, now {100 * off:+.3f} %{because}"
        )
        new: dict[str, str | int] = {"scale": _text(scale, per), "calibration": _joined(one, said)}
        return (new if polarity == one.polarity else {**new, "polarity": polarity}), said

    def _switch(self, name: str, on: bool, ask: ASK, channel: str) -> None:
        if not name:
            ask(f"{'Connect' if on else 'Disconnect'} the shunt at {channel}, then press Enter")
            return
        if name not in self.table.digital:
            known = ", ".join(self.table.digital) or "none"
            raise CalibrationError(f"'{name}' is not a digital output of [channels]; outputs: {known}")
        place = list(self.table.digital).index(name)
        count = len(STATES)
        bits = self._loop.parameter("driver.write")["on"]
        bits[count * place : count * (place + 1)] = float(on)


def _now() -> str:
    return f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC, halfreal {__version__}"


def _text(value: float, unit: str) -> str:
    return f"{value:.7g} {unit}" if unit != "1" else f"{value:.7g}"


def _joined(one: Input, said: str) -> str:
    """What was said before of the same sort is replaced."""
    kept = [line for line in one.calibration.split(" | ") if line and line.split(" ")[0] != said.split(" ")[0]]
    return " | ".join([*kept, said])


def changed(definition: Definition, name: str, new: dict[str, str | int]) -> Definition:
    """The definition with a calibrated channel, validated again."""
    return with_values(definition, {f"channels.inputs.{name}.{key}": value for key, value in new.items()})
