"""Excitations: a support displacement, a force or a ground acceleration as a function of time.

The key that carries the amplitude says how it acts: ``displacement`` moves the support, ``force`` pushes a degree of
freedom, ``acceleration`` shakes the ground.  Every excitation gives its value and its rate, and rises over ``ramp``
seconds along g(t) = ½ (1 − cos πt/ramp).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator, model_validator

from ..kernels.block import Block, Channel
from ..kernels.compile import kernel
from ..settings import ExistingFile, Number, Settings, fault, stored

UNITS = {"displacement": "m", "force": "N", "acceleration": "m/s^2"}
ACTS_AS: dict[str, Literal["support", "force", "ground"]] = {
    "displacement": "support",
    "force": "force",
    "acceleration": "ground",
}


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

    def _block(self, name: str, step: Any, parameters: dict[str, Any]) -> Block:
        unit = UNITS[self.quantity]
        return Block(
            name=name,
            step=step,
            inputs=(),
            outputs=(Channel(name, unit), Channel(f"{name}.rate", f"{unit}/s" if unit != "m/s^2" else "m/s^3")),
            parameters={"amplitude": self.amplitude, "ramp": self.ramp, **parameters},
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

    def block(self, name: str) -> Block:
        return self._block(name, sine_step, {"omega": 2 * math.pi * self.frequency, "phase": self.phase})


def chirp_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
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

    def block(self, name: str) -> Block:
        omega, last = 2 * math.pi * self.frequency, 2 * math.pi * self.to
        return self._block(
            name, chirp_step, {"omega": omega, "rate": (last - omega) / self.duration, "duration": self.duration}
        )


def step_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    g, dg = rise(t, p.ramp)
    y[0], y[1] = p.amplitude * g, p.amplitude * dg
    return 0


class Step(_Excitation):
    """A g(t): a step, or a smooth rise to a constant with ``ramp``."""

    kind: Literal["step"] = "step"

    def block(self, name: str) -> Block:
        return self._block(name, step_step, {})


def pulse_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
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

    def block(self, name: str) -> Block:
        return self._block(name, pulse_step, {"duration": self.duration})


def record_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
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

    def block(self, name: str) -> Block:
        values = read_column(self.file, self.column)
        # the layout of a block is compiled in: a power of two keeps the number of layouts small
        padded = np.zeros(1 << max(values.size - 1, 1).bit_length())
        padded[: values.size] = values
        return self._block(name, record_step, {"step": self.time_step, "count": float(values.size), "values": padded})


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


Excitation = Annotated[Sine | Chirp | Step | Pulse | Record, Field(discriminator="kind")]


def silent_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    y[0] = y[1] = 0.0
    return 0


def silence(name: str, unit: str = "m") -> Block:
    """No excitation: the channels are there, and zero."""
    return Block(
        name=name, step=silent_step, inputs=(), outputs=(Channel(name, unit), Channel(f"{name}.rate", f"{unit}/s"))
    )
