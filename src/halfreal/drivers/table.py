"""The channel table of a definition: what each raw channel is, in V or counts, and what it measures or gives.

    value = polarity · scale · (raw − offset)          of an input, then a low-pass y += (1 − e^(−2π f Δt)) (x − y)
    raw   = offset + polarity · command / scale        of an output

An input measures the displacement or the force of an axis, or an auxiliary channel; one with ``healthy`` is a bit, such
as an interlock or an emergency stop.  An output gives the command of an axis, or is digital and on in some states of
the test.
"""

from __future__ import annotations

import datetime
import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self, get_args

import numpy as np
from pydantic import Field, field_validator, model_validator

from .. import units
from ..contracts.axes import Axes
from ..contracts.quantities import UNLIMITED, Commands
from ..settings import Number, Settings, fault

Given = str | float
State = Literal["idle", "armed", "ramping", "running", "ramp-down", "stopped", "tripped", "safe"]
STATES: tuple[State, ...] = get_args(State)
"""In the order in which the compiled code counts them."""
SHORTEST_STUCK = 10
"""Steps for which a raw value must at least stay the same before it may be called stuck."""
ONE_SIDED = 0.1
"""Share of its range from an end of it within which the zero of a one-sided sensor lies."""


class Raw(Settings):
    """A terminal of the driver, and how its raw value is scaled."""

    terminal: Annotated[str, Field(min_length=1)]
    """Name of the terminal in the driver, e.g. "ai0"."""
    axis: str | None = None
    """Axis of the interface; required if there are several."""
    raw: str = "V"
    """Unit of the raw value; "1" for counts and bits."""
    scale: Given = 1.0
    """Physical value of one raw unit, e.g. "500 N/V"; not zero."""
    offset: Given | None = None
    """Raw value at which the value is zero."""
    polarity: Literal[1, -1] = 1
    range: tuple[Given, Given] | None = None
    """Raw values between which the channel works; at or beyond them is a fault."""

    @field_validator("raw")
    @classmethod
    def _known(cls, unit: str) -> str:
        try:
            units.factor(unit, unit)
        except units.UnitError as error:
            raise fault(f"'{unit}' {error}") from error
        return unit

    @model_validator(mode="after")
    def _readable(self) -> Self:
        for key in ("offset", "resolution"):
            if (given := getattr(self, key, None)) is not None:
                self._in_raw(key, given)
        if self.range is not None:
            low, high = (self._in_raw("range", one) for one in self.range)
            if not low < high:
                raise fault(f"{low:g} to {high:g} {self.raw} is not a range; give the lower value first", "range")
        return self

    def _in_raw(self, key: str, given: Given) -> float:
        try:
            return units.given(given, self.raw)
        except units.UnitError as error:
            raise fault(f"{error}; the raw value is in {self.raw}", key) from error

    @property
    def zero(self) -> float:
        """Raw value at which the value is zero."""
        return 0.0 if self.offset is None else self._in_raw("offset", self.offset)

    @property
    def bounds(self) -> tuple[float, float]:
        """Raw values between which it works."""
        if self.range is None:
            return -UNLIMITED, UNLIMITED
        low, high = (self._in_raw("range", one) for one in self.range)
        return low, high

    def factor(self, unit: str, *at: str) -> float:
        """Polarity times scale, in ``unit`` per raw unit; a fault if it does not fit, or is zero."""
        expected = units.per(unit, self.raw)
        try:
            found = units.given(self.scale, expected)
        except units.UnitError as error:
            raise fault(f"{error}; it converts {self.raw} to {unit}", *at, "scale") from error
        if not abs(found) > 0.0:
            raise fault("a scale of zero is not allowed; give the value of one raw unit, e.g. '500 N/V'", *at, "scale")
        if found < 0.0:
            raise fault(f"{found:g} is negative; give the sign as polarity = -1", *at, "scale")
        return self.polarity * found

    def reach(self, unit: str) -> float:
        """The largest value, of either sign, that is within its range, in ``unit``."""
        low, high = self.bounds
        factor = abs(self.factor(unit))
        return min(abs(low - self.zero), abs(high - self.zero)) * factor if low < self.zero < high else 0.0

    @property
    def is_one_sided(self) -> bool:
        """Whether its zero is at or near an end of its range, as that of a pressure sensor or of 4 to 20 mA."""
        low, high = self.bounds
        return self.range is not None and not ONE_SIDED < (self.zero - low) / (high - low) < 1.0 - ONE_SIDED


class Input(Raw):
    """A raw channel that is read: a sensor, or a bit."""

    measures: Annotated[str, Field(min_length=1)]
    """"displacement", "force", or the name of an auxiliary channel."""
    resolution: Given | None = None
    """Smallest raw step of the converter."""
    filter: Annotated[float, Number("Hz", above=0)] | None = None
    """Cut-off frequency f of the first-order low-pass in the loop; slow changes are delayed by Δt/(e^(2π f Δt) − 1)."""
    stuck: Annotated[float, Number("s", above=0)] | None = None
    """Time after which an unchanged raw value is a fault."""
    healthy: Literal[0, 1] | None = None
    """Interlock: value of the bit in the healthy state; the other value is a fault."""
    emergency: bool = False
    """Interlock is an emergency stop: the driver goes to its safe state at once."""
    calibrated: str = ""
    """Date of the calibration, e.g. 2026-05-04."""
    certificate: str = ""
    """Number or location of the calibration certificate."""
    calibration: str = ""
    """Provenance of scale and offset; written by 'halfreal calibrate'."""

    @field_validator("calibrated")
    @classmethod
    def _date(cls, text: str) -> str:
        try:
            if text:
                datetime.date.fromisoformat(text)
        except ValueError:
            raise fault(f"'{text}' is not a date; write year, month and day, e.g. 2026-05-04") from None
        return text

    @model_validator(mode="after")
    def _bit(self) -> Self:
        if self.emergency and self.healthy is None:
            raise fault("an emergency stop is a digital input; give healthy, the bit in the healthy state", "emergency")
        if self.healthy is not None and (self.range, self.filter, self.stuck) != (None, None, None):
            raise fault("a digital input has no range, filter or stuck limit; omit these keys", "healthy")
        if self.healthy is not None and self.polarity != 1:
            raise fault("a digital input has no polarity; healthy is the bit in the healthy state", "polarity")
        return self

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        low, high = self.bounds
        if self.resolution is not None and not 0.0 < self.step < high - low:
            raise fault(
                f"{self.step:g} {self.raw} is not a resolution; give the smallest step of the converter, above 0 "
                f"{self.raw}" + (f" and below its range of {high - low:g} {self.raw}" if self.range else ""),
                "resolution",
            )
        if self.measures in ("displacement", "force") and not low <= self.zero <= high:
            raise fault(
                f"{self.zero:g} {self.raw} is outside the range of {low:g} to {high:g} {self.raw}: a {self.measures} "
                "of zero could not be measured; correct the offset, or the range",
                "offset",
            )
        return self

    def sees(self, unit: str) -> float:
        """The largest limit, in ``unit``, that it can see exceeded.

        Of a one-sided auxiliary sensor that is its longer side: on the other its range ends before.
        """
        if self.measures in ("displacement", "force") or not self.is_one_sided:
            return self.reach(unit)
        return max(abs(bound - self.zero) for bound in self.bounds) * abs(self.factor(unit))

    @property
    def step(self) -> float:
        """Smallest raw step; 0 if it is not known."""
        return 0.0 if self.resolution is None else self._in_raw("resolution", self.resolution)


class Output(Raw):
    """A raw channel that is written: the command of an axis, or a bit that follows the states of the test."""

    on: tuple[State, ...] | None = None
    """Digital output: the states of the test in which it is 1."""

    @model_validator(mode="after")
    def _digital(self) -> Self:
        if self.on is None:
            return self
        if (self.scale, self.offset, self.axis, self.range) != (1.0, None, None, None):
            raise fault("a digital output has no axis, scale, offset or range; omit them, or omit on", "on")
        if self.polarity != 1:
            raise fault("a digital output has no polarity; list in on the states in which it is 1", "polarity")
        return self


class ChannelTable(Settings):
    """All raw channels of a rig that a driver of ours reads and writes."""

    inputs: dict[str, Input] = Field(default_factory=dict)
    outputs: dict[str, Output] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        for place, group in (("inputs", self.inputs), ("outputs", self.outputs)):
            seen: dict[str, str] = {}
            for name, one in group.items():
                if one.terminal in seen:
                    raise fault(
                        f"terminal '{one.terminal}' is used twice, by {seen[one.terminal]} and {name}; use it once",
                        place,
                        name,
                        "terminal",
                    )
                seen[one.terminal] = name
        return self

    def check_step(self, step: float) -> None:
        """Refuse what a loop of this step [s] cannot do: a low-pass above half its rate, or to see a value change."""
        for name, one in self.inputs.items():
            if one.filter is not None and one.filter >= 0.5 / step:
                raise fault(
                    f"{one.filter:g} Hz is not below half the sampling rate, {0.5 / step:g} Hz at a step of "
                    f"{units.text(step, 's')}: it would filter nothing; lower it, or omit it and filter before the "
                    "converter",
                    *("inputs", name, "filter"),
                )
            if one.stuck is not None and one.stuck < SHORTEST_STUCK * step:
                raise fault(
                    f"{units.text(one.stuck, 's')} is less than {SHORTEST_STUCK} steps of {units.text(step, 's')}: "
                    f"two equal samples would trip; give at least {units.text(SHORTEST_STUCK * step, 's')}",
                    *("inputs", name, "stuck"),
                )


@dataclass(frozen=True)
class Wired:
    """A table in the order of the interface: inputs as they are measured, outputs as commands, then digital ones."""

    inputs: dict[str, Input]
    units: tuple[str, ...]
    """Of what the inputs measure."""
    measured: tuple[str, ...]
    """Channels of the loop that they become."""
    outputs: dict[str, Output]
    command_units: tuple[str, ...]
    digital: dict[str, Output]

    @classmethod
    def of(cls, table: ChannelTable, axes: Axes, auxiliary: Mapping[str, str], commands: Commands) -> Wired:
        """Every displacement, force and auxiliary channel by one input, every command by one output."""
        wanted: dict[tuple[str, str], str] = {}
        for quantity, unit in (("displacement", "m"), ("force", "N")):
            wanted |= dict(zip(((quantity, name) for name in axes.names), axes.units(unit), strict=True))
        wanted |= {(name, ""): unit for name, unit in auxiliary.items()}
        found: dict[tuple[str, str], str] = {}
        for name, one in table.inputs.items():
            key = cls._key(one, name, axes, auxiliary)
            if key in found:
                raise fault(f"{_said(key, axes)} is already measured by {found[key]}; remove one", "inputs", name)
            one.factor(wanted[key], "inputs", name)
            found[key] = name
        missing = [key for key in wanted if key not in found]
        if missing:
            raise fault(f"no input measures {_said(missing[0], axes)}; add one, [channels.inputs.NAME]", "inputs")
        actuators = axes.actuators
        command_units = actuators.units("N" if commands == "force" else "m")
        given: dict[str, str] = {}
        for name, out in table.outputs.items():
            if out.on is not None:
                continue
            axis = cls._axis(out, "outputs", name, actuators)
            if axis in given:
                raise fault(f"the command of axis {axis} is already given by {given[axis]}", "outputs", name)
            out.factor(command_units[actuators.names.index(axis)], "outputs", name)
            given[axis] = name
        unmoved = [name for name in actuators.names if name not in given]
        if unmoved:
            raise fault(
                f"no output gives the command of axis {unmoved[0]}; add one, [channels.outputs.NAME]", "outputs"
            )
        measured = (*axes.channels("measured.displacement"), *axes.channels("measured.force"))
        return cls(
            {found[key]: table.inputs[found[key]] for key in wanted},
            tuple(wanted.values()),
            (*measured, *(f"measured.{name}" for name in auxiliary)),
            {given[name]: table.outputs[given[name]] for name in actuators.names},
            tuple(command_units),
            {name: out for name, out in table.outputs.items() if out.on is not None},
        )

    @classmethod
    def _key(cls, one: Input, name: str, axes: Axes, auxiliary: Mapping[str, str]) -> tuple[str, str]:
        if one.measures in ("displacement", "force"):
            if one.healthy is not None:
                raise fault("a digital input measures an auxiliary channel; name one", "inputs", name, "measures")
            return one.measures, cls._axis(one, "inputs", name, axes)
        if one.measures not in auxiliary:
            known = ("displacement", "force", *auxiliary)
            near = difflib.get_close_matches(one.measures, known, n=1)
            hint = f"did you mean '{near[0]}'? " if near else ""
            raise fault(
                f"'{one.measures}' is not a measured quantity; {hint}Available: {', '.join(known)}; another one "
                f"is defined by [auxiliary.{one.measures}]",
                "inputs",
                name,
                "measures",
            )
        if one.axis is not None:
            raise fault("an auxiliary channel has no axis; omit it", "inputs", name, "axis")
        return one.measures, ""

    @staticmethod
    def _axis(one: Raw, place: str, name: str, axes: Axes) -> str:
        if one.axis is None and len(axes) == 1:
            return axes.names[0]
        if one.axis not in axes.names:
            said = "no axis is given" if one.axis is None else f"'{one.axis}' is not an axis"
            raise fault(f"{said}; use one of {', '.join(axes.names)}", place, name, "axis")
        return str(one.axis)

    def check_limits(self, trips: Mapping[str, float], command: Sequence[float]) -> None:
        """Refuse a limit that a sensor cannot see, or that an output cannot reach.

        ``trips`` are the limits of measured channels, ``command`` those of commands, UNLIMITED where there is none.
        """
        for (name, one), unit, measured in zip(self.inputs.items(), self.units, self.measured, strict=True):
            limit, reach = trips.get(measured, UNLIMITED), one.sees(unit)
            if limit < UNLIMITED and limit >= reach:
                raise fault(
                    f"the trip limit of {measured}, {units.text(limit, unit)}, is outside the range of {name}, which "
                    f"measures up to {units.text(reach, unit)}: it would never trip; lower the limit, or use a sensor "
                    "with more range",
                    "inputs",
                    name,
                    "range",
                )
        for (name, out), unit, limit in zip(self.outputs.items(), self.command_units, command, strict=True):
            if limit < UNLIMITED and limit > (1.0 + 1e-9) * out.reach(unit):
                raise fault(
                    f"the trip limit of the command, {units.text(limit, unit)}, is outside the range of {name}, which "
                    f"gives up to {units.text(out.reach(unit), unit)}; lower the limit, or widen the range",
                    "outputs",
                    name,
                    "range",
                )

    @property
    def terminals(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Of inputs and outputs, in the order in which a driver reads and writes them."""
        outputs = (*self.outputs.values(), *self.digital.values())
        return tuple(one.terminal for one in self.inputs.values()), tuple(one.terminal for one in outputs)

    def values(self, raw: np.ndarray) -> np.ndarray:
        """What the inputs measure, of raw values."""
        rows = zip(self.inputs.values(), self.units, raw, strict=True)
        return np.array([one.factor(unit) * (value - one.zero) for one, unit, value in rows])

    def resting(self, command: Sequence[float] | np.ndarray) -> np.ndarray:
        """Raw outputs that hold these commands, with the digital ones as they are when idle."""
        rows = zip(self.outputs.values(), self.command_units, command, strict=True)
        held = [out.zero + value / out.factor(unit) for out, unit, value in rows]
        return np.array([*held, *(float("idle" in (out.on or ())) for out in self.digital.values())])


def _said(key: tuple[str, str], axes: Axes) -> str:
    quantity, axis = key
    if not axis:
        return f"the auxiliary channel '{quantity}'"
    return f"the {quantity}" if len(axes) == 1 else f"the {quantity} of axis {axis}"


def share(cut_off: float | None, dt: float) -> float:
    """Of a new value in a low-pass of first order: 1 without one."""
    return 1.0 if cut_off is None else 1.0 - math.exp(-2.0 * math.pi * cut_off * dt)
