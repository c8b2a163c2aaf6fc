"""Excitations: a support displacement, a force or a ground acceleration as a function of time.

The key that carries the amplitude says how it acts: ``displacement`` moves the support, ``force`` pushes a degree of
freedom, ``acceleration`` shakes the ground.  Every excitation gives its value and its rate, and rises over ``ramp``
seconds along g(t) = ½ (1 − cos πt/ramp).  A block with a ``shift`` gives the value of so much later.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from ...errors import HalfrealError
from ...kernels.block import Block, Channel
from ...kernels.compile import kernel
from ...settings import ExistingFile, Number, Settings, Vector, fault, stored

UNITS = {"displacement": "m", "force": "N", "acceleration": "m/s^2"}
ACTS_AS: dict[str, Literal["support", "force", "ground"]] = {
    "displacement": "support",
    "force": "force",
    "acceleration": "ground",
}


MOST_LINES = 1000
"""Of a random excitation, all of which are summed in every tick."""


class _Excitation(Settings):
    displacement: Annotated[float, Number("m")] | None = None
    force: Annotated[float, Number("N")] | None = None
    acceleration: Annotated[float, Number("m/s^2")] | None = None
    ramp: Annotated[float, Number("s", least=0)] = 0.0

    @model_validator(mode="after")
    def _one_amplitude(self) -> _Excitation:
        given = [key for key in UNITS if getattr(self, key) is not None]
        if len(given) != 1:
            raise fault(
                f"{' and '.join(given) if given else 'no amplitude'} given where exactly one of displacement, force, "
                "acceleration is expected; the key says how the excitation acts"
            )
        return self

    @property
    def quantity(self) -> str:
        return next(key for key in UNITS if getattr(self, key) is not None)

    @property
    def acts_as(self) -> Literal["support", "force", "ground"]:
        return ACTS_AS[self.quantity]

    @property
    def amplitude(self) -> float:
        return float(getattr(self, self.quantity))

    def _block(self, name: str, step: Any, shift: float, parameters: dict[str, Any]) -> Block:
        unit = UNITS[self.quantity]
        return Block(
            name=name,
            step=step,
            inputs=(),
            outputs=(Channel(name, unit), Channel(f"{name}.rate", f"{unit}/s" if unit != "m/s^2" else "m/s^3")),
            parameters={"amplitude": self.amplitude, "ramp": self.ramp, "shift": shift, **parameters},
        )


@kernel
def rise(t, ramp):  # type: ignore[no-untyped-def]
    """g(t) and its rate; nothing before the test begins."""
    if t < 0.0:
        return 0.0, 0.0
    if t >= ramp:
        return 1.0, 0.0
    w = math.pi / ramp
    return 0.5 * (1.0 - math.cos(w * t)), 0.5 * w * math.sin(w * t)


def sine_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = t + p.shift
    g, dg = rise(t, p.ramp)
    a = p.omega * t + p.phase
    y[0] = p.amplitude * g * math.sin(a)
    y[1] = p.amplitude * (dg * math.sin(a) + g * p.omega * math.cos(a))
    return 0


class Sine(_Excitation):
    """A g(t) sin(2π f t + phase)."""

    kind: Literal["sine"] = "sine"
    frequency: Annotated[float, Number("Hz", above=0)]
    phase: Annotated[float, Number("rad")] = 0.0

    def block(self, name: str, shift: float = 0.0) -> Block:
        return self._block(name, sine_step, shift, {"omega": 2 * math.pi * self.frequency, "phase": self.phase})


def square_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = t + p.shift
    g, dg = rise(t, p.ramp)
    a = p.omega * t
    value = rate = 0.0
    if p.terms == 0.0:
        periods = a * 0.5 / math.pi + 1e-9  # a jump falls onto the sample at its time
        value = 1.0 if periods - math.floor(periods) < 0.5 else -1.0
    for i in range(int(p.terms)):
        order = 2.0 * i + 1.0
        value += 4.0 / math.pi * math.sin(order * a) / order
        rate += 4.0 / math.pi * p.omega * math.cos(order * a)
    y[0] = p.amplitude * g * value
    y[1] = p.amplitude * (dg * value + g * rate)
    return 0


class Square(_Excitation):
    """A square wave, ±A g(t); or the first ``terms`` of its Fourier series, at odd multiples of ``frequency``."""

    kind: Literal["square"] = "square"
    frequency: Annotated[float, Number("Hz", above=0)]
    terms: Annotated[int, Field(ge=1, le=1000)] | None = None

    def block(self, name: str, shift: float = 0.0) -> Block:
        return self._block(
            name, square_step, shift, {"omega": 2 * math.pi * self.frequency, "terms": float(self.terms or 0)}
        )


def chirp_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = t + p.shift
    g, dg = rise(t, p.ramp)
    elapsed = min(t, p.duration)
    a = p.omega * elapsed + 0.5 * p.rate * elapsed * elapsed
    w = p.omega + p.rate * elapsed if t < p.duration else 0.0
    y[0] = p.amplitude * g * math.sin(a)
    y[1] = p.amplitude * (dg * math.sin(a) + g * w * math.cos(a))
    return 0


class Chirp(_Excitation):
    """A sine whose frequency runs linearly from ``frequency`` to ``to`` within ``duration``, and then stands still."""

    kind: Literal["chirp"] = "chirp"
    frequency: Annotated[float, Number("Hz", above=0)]
    to: Annotated[float, Number("Hz", above=0)]
    duration: Annotated[float, Number("s", above=0)]

    def block(self, name: str, shift: float = 0.0) -> Block:
        omega, last = 2 * math.pi * self.frequency, 2 * math.pi * self.to
        return self._block(
            name, chirp_step, shift, {"omega": omega, "rate": (last - omega) / self.duration, "duration": self.duration}
        )


def step_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = t + p.shift
    g, dg = rise(t, p.ramp)
    y[0], y[1] = p.amplitude * g, p.amplitude * dg
    return 0


class Step(_Excitation):
    """A g(t): a step, or a smooth rise to a constant with ``ramp``."""

    kind: Literal["step"] = "step"

    def block(self, name: str, shift: float = 0.0) -> Block:
        return self._block(name, step_step, shift, {})


def pulse_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = t + p.shift
    y[0] = y[1] = 0.0
    if 0.0 < t < p.duration:
        w = math.pi / p.duration
        y[0] = p.amplitude * math.sin(w * t) ** 2
        y[1] = p.amplitude * w * math.sin(2.0 * w * t)
    return 0


class Pulse(_Excitation):
    """A sin²(πt/duration) for ``duration`` seconds, then nothing."""

    kind: Literal["pulse"] = "pulse"
    duration: Annotated[float, Number("s", above=0)]

    def block(self, name: str, shift: float = 0.0) -> Block:
        return self._block(name, pulse_step, shift, {"duration": self.duration})


@kernel
def stepped(t, frequencies, dwell):  # type: ignore[no-untyped-def]
    """Phase and angular frequency of a signal that stays at each frequency [Hz] for ``dwell``, and at the last."""
    phase, last = 0.0, frequencies.size - 1
    for i in range(last):
        if t < (i + 1) * dwell:
            return 2.0 * math.pi * (phase + frequencies[i] * (t - i * dwell)), 2.0 * math.pi * frequencies[i]
        phase += frequencies[i] * dwell
    return 2.0 * math.pi * (phase + frequencies[last] * (t - last * dwell)), 2.0 * math.pi * frequencies[last]


def stepped_sine_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = t + p.shift
    g, dg = rise(t, p.ramp)
    a, w = stepped(t, p.frequencies, p.dwell)
    y[0] = p.amplitude * g * math.sin(a)
    y[1] = p.amplitude * (dg * math.sin(a) + g * w * math.cos(a))
    return 0


class _Stepped(_Excitation):
    frequencies: Annotated[np.ndarray, Vector("Hz", above=0)]
    """One, or several that follow one another; the phase goes on without a jump, and the last one stays."""
    dwell: Annotated[float, Number("s", above=0)] | None = None
    """Time at each frequency; needed if there are several."""

    @model_validator(mode="after")
    def _knows_how_long(self) -> _Stepped:
        if len(self.frequencies) > 1 and self.dwell is None:
            raise fault(f"{len(self.frequencies)} frequencies without a dwell; say how long each of them lasts")
        return self

    def _parameters(self) -> dict[str, Any]:
        return {"frequencies": np.asarray(self.frequencies), "dwell": 1.0 if self.dwell is None else self.dwell}


class SteppedSine(_Stepped):
    """A g(t) sin φ(t), dwelling at one frequency after another."""

    kind: Literal["stepped sine"] = "stepped sine"

    def block(self, name: str, shift: float = 0.0) -> Block:
        return self._block(name, stepped_sine_step, shift, self._parameters())


def gust_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = t + p.shift
    g, dg = rise(t, p.ramp)
    a, w = stepped(t, p.frequencies, p.dwell)
    if a > 2.0 * math.pi * p.gusts:
        g = dg = 0.0
    value, rate = 0.5 * (1.0 - math.cos(a)), 0.5 * w * math.sin(a)
    y[0], y[1] = p.amplitude * g * value, p.amplitude * (dg * value + g * rate)
    return 0


class Gust(_Stepped):
    """½A g(t) (1 − cos φ(t)): a train of 1-cosine gusts, or so many of them (``gusts``)."""

    kind: Literal["gust"] = "gust"
    gusts: Annotated[int, Field(ge=1)] | None = None

    def block(self, name: str, shift: float = 0.0) -> Block:
        gusts = math.inf if self.gusts is None else float(self.gusts)
        return self._block(name, gust_step, shift, {**self._parameters(), "gusts": gusts})


def random_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = t + p.shift
    g, dg = rise(t, p.ramp)
    value = rate = 0.0
    for i in range(p.phases.size):
        w = p.first + i * p.spacing
        a = w * t + p.phases[i]
        value += math.sin(a)
        rate += w * math.cos(a)
    y[0], y[1] = p.amplitude * g * value * p.scale, p.amplitude * p.scale * (dg * value + g * rate)
    return 0


class Random(_Excitation):
    """Random noise of the rms A g(t) from ``frequency`` to ``to``, its lines 1/``period`` apart; it repeats then."""

    kind: Literal["random"] = "random"
    frequency: Annotated[float, Number("Hz", above=0)]
    to: Annotated[float, Number("Hz", above=0)]
    period: Annotated[float, Number("s", above=0)]
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1

    @model_validator(mode="after")
    def _has_lines(self) -> Random:
        lines = self.period * (self.to - self.frequency)
        if not 1 <= lines <= MOST_LINES:
            top, longest = self.frequency + MOST_LINES / self.period, MOST_LINES / max(self.to - self.frequency, 1e-9)
            remedy = (
                f"end at {top:.4g} Hz or below, or repeat after {longest:.4g} s or less; a test carries less than half "
                "its sampling rate, 500 Hz with a step of 1 ms"
                if lines > MOST_LINES
                else f"let it end 1/period, {1.0 / self.period:.4g} Hz, or more above where it begins"
            )
            raise fault(
                f"{max(lines, 0.0):.4g} lines from {self.frequency:g} to {self.to:g} Hz in a period of {self.period:g} "
                f"s, where 1 to {MOST_LINES} are possible; {remedy}"
            )
        return self

    def block(self, name: str, shift: float = 0.0) -> Block:
        first, last = math.ceil(self.frequency * self.period - 1e-9), math.floor(self.to * self.period + 1e-9)
        phases = np.random.default_rng(self.seed).uniform(0.0, 2 * math.pi, last - first + 1)
        spacing = 2 * math.pi / self.period
        parameters = {"first": first * spacing, "spacing": spacing, "phases": phases}
        return self._block(name, random_step, shift, {**parameters, "scale": math.sqrt(2.0 / phases.size)})


def record_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    t = t + p.shift
    y[0] = y[1] = 0.0
    position = t / p.step
    if 0.0 <= position <= p.count - 1.0:
        i = min(int(position), int(p.count) - 2)
        slope = p.values[i + 1] - p.values[i]
        g, dg = rise(t, p.ramp)
        value = p.values[i] + (position - i) * slope
        y[0] = p.amplitude * g * value
        y[1] = p.amplitude * (dg * value + g * slope / p.step)
    return 0


class Record(_Excitation):
    """A recorded history, linear between its samples and zero after its end.

    ``file`` is text with one number a line, or with several columns separated by commas or blanks of which ``column``
    (1-based) is read; lines starting with ``#`` are skipped.  The amplitude key says what the number 1 in the file
    stands for: ``acceleration = "1 g_0"`` for a record in g, ``"0.4 g_0"`` to use 40 % of it.
    """

    kind: Literal["record"] = "record"
    file: ExistingFile
    time_step: Annotated[float, Number("s", above=0)]
    column: int = Field(default=1, ge=1, validate_default=True)

    @field_validator("column")
    @classmethod
    def _readable(cls, column: int, info: ValidationInfo) -> int:
        if "file" in info.data and not stored(info):
            read_column(info.data["file"], column)
        return column

    def block(self, name: str, shift: float = 0.0) -> Block:
        try:
            values = read_column(self.file, self.column)
        except PydanticCustomError as error:  # the file has changed since, or was not read: a run file names it too
            raise HalfrealError(f"excitation: {error.message()}") from error
        # the layout of a block is compiled in: a power of two keeps the number of layouts small
        padded = np.zeros(1 << max(values.size - 1, 1).bit_length())
        padded[: values.size] = values
        return self._block(
            name, record_step, shift, {"step": self.time_step, "count": float(values.size), "values": padded}
        )


def read_column(path: Any, column: int) -> np.ndarray:
    """One column of numbers from a text file; a fault names the line that cannot be read."""
    values: list[float] = []
    with Path(path).open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            words = line.replace(",", " ").replace(";", " ").split()
            if not words or words[0].startswith("#"):
                continue
            try:
                value = float(words[column - 1])
            except (IndexError, ValueError):
                raise fault(
                    f"line {number} of '{path}' is {line.strip()[:60]!r} where column {column} should be a number; "
                    "mark headings with '#', or choose another column"
                ) from None
            if not math.isfinite(value):
                raise fault(f"line {number} of '{path}' holds {value}; fill gaps in a record before using it")
            values.append(value)
    if len(values) < 2:
        raise fault(f"'{path}' holds {len(values)} number(s) where at least 2 are expected")
    return np.array(values)


Excitation = Annotated[
    Sine | Square | Chirp | SteppedSine | Gust | Random | Step | Pulse | Record, Field(discriminator="kind")
]


def silent_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    y[0] = y[1] = 0.0
    return 0


def silence(name: str, unit: str = "m") -> Block:
    """No excitation: the channels are there, and zero."""
    return Block(
        name=name, step=silent_step, inputs=(), outputs=(Channel(name, unit), Channel(f"{name}.rate", f"{unit}/s"))
    )
