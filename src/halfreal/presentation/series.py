"""From recorded numbers to series for plots: engineers' units, fewer points, the last cycles, the poles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..kernels.modes import OVER
from ..runs.run import Run, Stability

SMALLEST_POLE = 1e-6
"""Poles below it (delay lines that empty themselves) say nothing about the loop."""
TRIP = "guard.cause"
"""The channel on which the guard says why it stepped in."""
NARROW, MOSTLY = 1.15, 0.9
"""A motion has one frequency if this part of its power is within this factor of the strongest."""
LARGEST_DRAWN = 1e12
"""A diverged signal is drawn up to here: plotting libraries overflow beyond."""


@dataclass(frozen=True)
class Display:
    """A unit for people: multiply SI values by ``factor`` and write ``label``."""

    factor: float
    label: str


def display(unit: str, peak: float = 1.0) -> Display:
    """The unit in which to show values of an SI unit whose largest is ``peak``."""
    if unit == "m":
        return Display(1e6, "µm") if 0 < peak < 5e-6 else Display(1e3, "mm") if peak < 5 else Display(1.0, "m")
    if unit == "m/s":
        return Display(1e3, "mm/s") if peak < 5 else Display(1.0, "m/s")
    if unit == "N":
        return Display(1.0, "N") if peak < 1e4 else Display(1e-3, "kN") if peak < 1e7 else Display(1e-6, "MN")
    if unit == "s":
        return Display(1e3, "ms") if peak < 1 else Display(1.0, "s")
    if unit in ("rad", "rad/s"):
        return Display(1e3, f"m{unit}") if peak < 0.5 else Display(1.0, unit)
    return Display(1.0, "–" if unit == "1" else unit.replace("^2", "²").replace("^3", "³").replace("*", "·"))


@dataclass(frozen=True)
class Compared:
    """Which channels of a run are held against each other, and what they are called."""

    quantity: str
    """Of the target."""
    followed: str
    """Measured channel that should be the target."""
    answer: str
    """Measured channel that is not commanded: its work on the gap is the energy error."""
    response: str
    """Displacement of the virtual part at the interface, which should be the reference."""
    target: str = ""
    """Symbols; none where axes have names, as letters are taken."""
    measured: str = ""

    @property
    def by_force(self) -> bool:
        return self.followed == "measured.force"

    @property
    def gap(self) -> str:
        return f"{self.measured} − {self.target}" if self.target else "measured − target"


BY_DISPLACEMENT = Compared("displacement", "measured.displacement", "measured.force", "target", "z", "x")
BY_FORCE = Compared("force", "measured.force", "measured.displacement", "virtual.interface", "f", "F")


def compared(run: Run, dof: int = 1) -> Compared:
    """What to compare: by the unit of its target, a test asks the specimen for a displacement or for a force."""
    unit = run.units("target")[dof - 1]
    found = BY_FORCE if unit in ("N", "N m") else BY_DISPLACEMENT
    if unit in ("rad", "N m"):
        found = replace(found, quantity="moment" if found.by_force else "rotation")
    return found if axis_name(run, dof).isdigit() or len(run.interface) == 1 else replace(found, target="", measured="")


def axis_name(run: Run, dof: int) -> str:
    return run.interface.names[dof - 1]


def of_axis(run: Run, dof: int) -> str:
    """For captions: of which axis something is; nothing where there is only one."""
    return "" if len(run.interface) == 1 else f", axis {axis_name(run, dof)}"


def largest(run: Run, name: str, kept: np.ndarray) -> dict[str, float]:
    """Largest value of a vector signal on axes of each unit."""
    values = run.vector(name)
    found: dict[str, float] = {}
    if values is not None:
        for i, unit in enumerate(run.units(name)):
            found[unit] = max(found.get(unit, 0.0), peak(values[kept, i]))
    return found


def whole_steps(run: Run) -> np.ndarray:
    """Which samples are beginnings of integration steps, where a step has several exchanges; all where it has one.

    Between them the virtual part's displacements stand still.
    """
    stage = run.signals.get("virtual.stage")
    kept = np.ones(len(run.time), dtype=bool)
    if stage is not None and np.nanmax(stage.values, initial=0.0) > 0.0:
        kept[:] = False
        # counted from the end: while a stiffness is found out, every tick is a first one
        kept[int(np.flatnonzero(stage.values == 0.0)[-1]) :: -round(np.nanmax(stage.values) + 1.0)] = True
    return kept


def drawable(values: np.ndarray) -> np.ndarray:
    """The values with NaN (a gap in the line) where they are too large to draw."""
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(values) <= LARGEST_DRAWN, values, np.nan)


def peak(*signals: np.ndarray | None) -> float:
    """Largest absolute value that can be drawn of all the signals."""
    found = [np.abs(drawable(signal)) for signal in signals if signal is not None]
    finite = [values[np.isfinite(values)] for values in found]
    return float(max((values.max(initial=0.0) for values in finite), default=0.0))


def envelope(time: np.ndarray, values: np.ndarray, points: int = 1600) -> tuple[np.ndarray, np.ndarray]:
    """At most about ``points`` points of a long record that draw the same line: least and largest of each stretch."""
    stretches = points // 2
    length = len(values) // stretches if stretches else 0
    if length <= 2:
        return time, values
    used = len(values) // length * length
    blocks = values[:used].reshape(-1, length)
    gaps = np.isnan(blocks)
    low = np.argmin(np.where(gaps, np.inf, blocks), axis=1)
    high = np.argmax(np.where(gaps, -np.inf, blocks), axis=1)
    first = np.arange(len(blocks)) * length
    kept = np.unique(np.concatenate([first + low, first + high, [0], np.arange(used, len(values)), [len(values) - 1]]))
    return time[kept], values[kept]


def duration(run: Run) -> float:
    """How long the test is by its definition [s]; without end if that does not say."""
    value = _setting(run, "timing", "duration")
    return float(value) if isinstance(value, int | float) else np.inf


def in_test(run: Run, from_time: float = 0.0) -> np.ndarray:
    """Which samples belong to the test: from 0 s, or ``from_time`` [s], up to its duration.

    Before and after, a run is on its way to where the test begins and home again.
    """
    length = duration(run)
    ticks = np.round(length / run.step) if np.isfinite(length) else np.inf
    first = max(from_time, 0.0) - 1e-6 * run.step
    return (run.time >= first) & (run.time < (ticks - 0.5) * run.step)


def in_view(run: Run) -> np.ndarray:
    """Which samples a plot of errors must show in full: those of the test, and not the way there and back."""
    return judged(run) if run.outcome == "stopped" else in_test(run)


def extent(values: np.ndarray, kept: np.ndarray) -> tuple[float, float]:
    """Least and largest of the values that are kept, or of all if none of those can be drawn; NaN if none can."""
    shown = drawable(values)
    for part in (shown[kept], shown):
        if np.isfinite(part).any():
            return float(np.nanmin(part)), float(np.nanmax(part))
    return np.nan, np.nan


def cut_short(run: Run) -> float | None:
    """When the guard or the operator ended the test before its time [s], or None if it went through."""
    if run.outcome == "completed":
        return None
    trips = [event.time for event in run.events if event.channel == TRIP]
    if trips:
        return min(trips)
    modes = run.signals.get("guard.mode")
    ended = np.zeros(0, dtype=int) if modes is None else np.flatnonzero(np.isin(modes.values, OVER))
    return float(run.time[ended[0]]) if len(ended) else None


def judged(run: Run, from_time: float = 0.0) -> np.ndarray:
    """Which samples the test is judged by: its own, from ``from_time`` [s] on, and up to where it was cut short."""
    end = cut_short(run)
    return in_test(run, from_time) & (run.time <= (np.inf if end is None else end))


def closer_look(run: Run, values: np.ndarray) -> tuple[float, float]:
    """Times [s] of a closer look at a signal: around the end of a test that was cut short, or its last cycles."""
    end = cut_short(run)
    kept = in_test(run) if end is None else np.ones(len(run.time), dtype=bool)
    if not kept.any():
        kept[:] = True
    return last_cycles(run.time[kept], values[kept], end)


def last_cycles(
    time: np.ndarray, values: np.ndarray, trip: float | None = None, cycles: float = 3.0
) -> tuple[float, float]:
    """Times [s] between which the last cycles of a signal lie, or those around a trip.

    A cycle is that of the strongest frequency in the last part of the record, or of what led to the trip.
    """
    if not len(time):
        return 0.0, 1.0
    usable = np.flatnonzero(np.isfinite(drawable(values)) & (time <= (np.inf if trip is None else trip)))
    if len(usable) < 16:
        return float(time[0]), float(time[-1])
    end = int(usable[-1]) + 1
    start = int(0.6 * end)
    part = np.nan_to_num(drawable(values[start:end]))
    length = float(time[end - 1] - time[start])
    spectrum = np.abs(np.fft.rfft(np.hanning(len(part)) * (part - part.mean())))
    top = int(np.argmax(spectrum[1:])) + 1
    near = slice(max(1, top - 1), top + 2)  # a window's peak is three bins wide: its centre is finer than a bin
    period = (
        length * spectrum[near].sum() / (np.arange(len(spectrum))[near] @ spectrum[near]) if spectrum[top] else length
    )
    last = float(time[end - 1]) if trip is None else min(float(time[-1]), trip + period)
    first = max(float(time[0]), last - max(cycles * period, 40 * float(time[1] - time[0])))
    return first, last


def largest_cycle(values: np.ndarray) -> slice | None:
    """Which samples are the largest cycle of a motion about one frequency, such as a sine; None if it has many."""
    part = np.nan_to_num(drawable(values))
    if len(part) < 16:
        return None
    power = np.abs(np.fft.rfft(np.hanning(len(part)) * (part - part.mean()))) ** 2
    top = max(1, int(np.argmax(power)))
    near = power[int(top / NARROW) : int(top * NARROW) + 2]
    if near.sum() < MOSTLY * power.sum():
        return None
    middle, half = int(np.argmax(np.abs(part))), len(part) / top / 2
    first = max(0, min(round(middle - half), len(part) - round(2 * half)))
    return slice(first, first + round(2 * half) + 1)


def excitations(run: Run) -> list[str]:
    """Names of the recorded excitations that are not silent; rates and stages are for integration, not for people."""
    return [
        name
        for name, signal in run.signals.items()
        if name.startswith("excitation.")
        and not name.startswith("excitation.stage.")
        and not name.endswith(".rate")
        and peak(signal.values) > 0
    ]


def moved(run: Run) -> str:
    """What the commands of a run are counted along, in a word."""
    return "axis" if run.interface.moved_by is None else "actuator"


def command_limit(run: Run, number: int) -> float | None:
    """The trip limit of a command by the run's definition [SI], or None; commands are counted from 1."""
    if run.interface.moved_by is None:
        return limit(run, "command", run.interface.commanded_at[number - 1] + 1)
    value = _setting(run, "limits", "actuator", "stroke", "trip")
    if isinstance(value, list | tuple) and value:
        value = value[min(number, len(value)) - 1]
    return float(value) if isinstance(value, int | float) else None


def limit(run: Run, signal: str, dof: int = 1, which: str = "trip") -> float | None:
    """A ``"trip"`` or ``"warn"`` limit of a signal ("command", "force", …) by the run's definition [SI], or None."""
    turns = run.interface.rotations
    group = ("rotation",) if turns[dof - 1] and signal != "energy" else ()
    value = _setting(run, "limits", *group, signal, which)
    if isinstance(value, list | tuple) and value:  # one for all axes, or one for each of their kind
        place = dof - 1 if signal == "energy" else int((turns[: dof - 1] == turns[dof - 1]).sum())
        value = value[min(place, len(value) - 1)]
    return float(value) if isinstance(value, int | float) else None


def _setting(run: Run, *keys: str) -> Any:
    value: Any = run.definition
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


@dataclass(frozen=True)
class Pole:
    """A pole of the loop; a complex pair is one pole here, at its positive frequency."""

    s: complex
    """In the s-plane [1/s]: s = ln λ / Δt."""
    frequency_hz: float
    damping: float
    magnitude: float

    @property
    def time_constant(self) -> float:
        """Time [s] in which it decays (or grows, if negative) by the factor e."""
        return -1 / self.s.real if self.s.real else float("inf")


def poles(stability: Stability, step: float) -> list[Pole]:
    """The loop's poles, slowest decay first, each pair once.

    With the real part σ = ln|λ|/Δt and the damping ratio ζ = −σ/|s|, the imaginary part is √(|s|² − σ²).
    """
    found: list[Pole] = []
    seen: set[tuple[str, str]] = set()
    for frequency, damping, magnitude in zip(
        stability.frequency_hz, stability.damping, stability.magnitude, strict=True
    ):
        key = (f"{abs(frequency):.8g}", f"{magnitude:.8g}")
        if not (SMALLEST_POLE < magnitude < LARGEST_DRAWN) or key in seen:
            continue
        seen.add(key)
        real = float(np.log(magnitude) / step)
        omega = abs(real / damping) if abs(damping) > 1e-6 else 2 * np.pi * abs(frequency)
        imaginary = float(np.sqrt(max(omega**2 - real**2, 0.0)))
        if np.isfinite(imaginary):
            found.append(Pole(complex(real, imaginary), float(abs(frequency)), float(damping), float(magnitude)))
    return sorted(found, key=lambda pole: -pole.magnitude)
