"""From recorded numbers to series for plots: engineers' units, fewer points, the last cycles, the poles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..runs.columns import Column, computed, part, pieces
from ..runs.judged_samples import BY_DISPLACEMENT as BY_DISPLACEMENT
from ..runs.judged_samples import BY_FORCE as BY_FORCE
from ..runs.judged_samples import LARGEST_DRAWN as LARGEST_DRAWN
from ..runs.judged_samples import TRIP as TRIP
from ..runs.judged_samples import Compared as Compared
from ..runs.judged_samples import axis_name as axis_name
from ..runs.judged_samples import compared as compared
from ..runs.judged_samples import cut_short as cut_short
from ..runs.judged_samples import drawable as drawable
from ..runs.judged_samples import duration as duration
from ..runs.judged_samples import envelope as envelope
from ..runs.judged_samples import judged as judged
from ..runs.judged_samples import judged_rows as judged_rows
from ..runs.judged_samples import largest as largest
from ..runs.judged_samples import last_cycles as last_cycles
from ..runs.judged_samples import peak as peak
from ..runs.judged_samples import rows_in_test as rows_in_test
from ..runs.judged_samples import setting as setting
from ..runs.judged_samples import whole_steps as whole_steps
from ..runs.run import Run, Stability
from ..runs.spectra import transforms, windowed

SMALLEST_POLE = 1e-6
"""Poles below it (delay lines that empty themselves) say nothing about the loop."""
NARROW, MOSTLY = 1.15, 0.9
"""A motion has one frequency if this part of its power is within this factor of the strongest."""


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
    if unit == "N m":
        return Display(1.0, unit) if peak < 1e4 else Display(1e-3, "kN m") if peak < 1e7 else Display(1e-6, "MN m")
    if unit == "Pa":
        return Display(1.0, unit) if peak < 1e4 else Display(1e-6, "MPa")
    if unit == "s":
        return Display(1e3, "ms") if peak < 1 else Display(1.0, "s")
    if unit in ("rad", "rad/s"):
        return Display(1e3, f"m{unit}") if peak < 0.5 else Display(1.0, unit)
    return Display(1.0, "–" if unit == "1" else unit.replace("^2", "²").replace("^3", "³").replace("*", "·"))


def of_axis(run: Run, dof: int) -> str:
    """For captions: of which axis something is; nothing where there is only one."""
    return "" if len(run.interface) == 1 else f", axis {axis_name(run, dof)}"


def whole_run(run: Run) -> slice:
    """All samples."""
    return slice(0, len(run.time))


def leaves_the_test(run: Run) -> bool:
    """Whether samples were recorded before or after the test."""
    return rows_in_test(run) != whole_run(run)


def in_view(run: Run) -> slice:
    """Which samples a plot of errors must show in full: those of the test, and not the way there and back."""
    return judged_rows(run) if run.outcome == "stopped" else rows_in_test(run)


def extent(values: Column, rows: slice) -> tuple[float, float]:
    """Least and largest of the values in these rows, or of all if none of those can be drawn; NaN if none can."""
    for shown in (part(drawable(values), rows), drawable(values)):
        low, high = np.inf, -np.inf
        for (piece,) in pieces(shown):
            finite = piece[np.isfinite(piece)]
            low, high = min(low, finite.min(initial=np.inf)), max(high, finite.max(initial=-np.inf))
        if low <= high:
            return float(low), float(high)
    return np.nan, np.nan


def closer_look(run: Run, values: Column) -> tuple[float, float]:
    """Times [s] of a closer look at a signal: around the end of a test that was cut short, or its last cycles."""
    end = cut_short(run)
    rows = rows_in_test(run) if end is None else whole_run(run)
    if rows.start == rows.stop:
        rows = whole_run(run)
    return last_cycles(part(run.time, rows), part(values, rows), end)


def largest_cycle(values: Column) -> slice | None:
    """Which samples are the largest cycle of a motion about one frequency, such as a sine; None if it has many."""
    values = computed(np.nan_to_num, drawable(values))
    if len(values) < 16:
        return None
    motion = windowed(values)
    top, strongest, total = 1, 0.0, 0.0
    for numbers, (transform,) in transforms(motion):
        power = np.abs(transform) ** 2
        total += power.sum()
        if power.max() > strongest:
            top, strongest = max(1, int(numbers[np.argmax(power)])), power.max()
    near = sum(
        (np.abs(transform) ** 2)[(numbers >= int(top / NARROW)) & (numbers <= int(top * NARROW) + 1)].sum()
        for numbers, (transform,) in transforms(motion)
    )
    if near < MOSTLY * total:
        return None
    middle, most, count = 0, -1.0, 0
    for (piece,) in pieces(values):
        at = int(np.argmax(np.abs(piece)))
        if abs(piece[at]) > most:
            middle, most = count + at, abs(piece[at])
        count += len(piece)
    half = len(motion) / top / 2
    first = max(0, min(round(middle - half), len(values) - round(2 * half)))
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


def responses(run: Run) -> list[str]:
    """Recorded channels of the responses that the definition's virtual part requests."""
    asked = setting(run, "virtual", "responses") or {}
    return [channel for channel in (f"virtual.{name}" for name in asked) if channel in run.signals]


def auxiliary(run: Run) -> list[str]:
    """Recorded channels that the rig measures in addition to displacement and force."""
    return [channel for name in run.definition.get("auxiliary") or {} if (channel := f"measured.{name}") in run.signals]


def moved(run: Run) -> str:
    """What the commands of a run are counted along, in a word."""
    return "axis" if run.interface.moved_by is None else "actuator"


def command_limit(run: Run, number: int) -> float | None:
    """The trip limit of a command by the run's definition [SI], or None; commands are counted from 1."""
    if run.interface.moved_by is None:
        return limit(run, "command", run.interface.commanded_at[number - 1] + 1)
    value = setting(run, "limits", "actuator", "stroke", "trip")
    if isinstance(value, list | tuple) and value:
        value = value[min(number, len(value)) - 1]
    return float(value) if isinstance(value, int | float) else None


def limit(run: Run, signal: str, dof: int = 1, which: str = "trip") -> float | None:
    """A ``"trip"`` or ``"warn"`` limit of a signal ("command", "force", …) by the run's definition [SI], or None."""
    turns = run.interface.rotations
    group = ("rotation",) if turns[dof - 1] and signal != "energy" else ()
    value = setting(run, "limits", *group, signal, which)
    if isinstance(value, list | tuple) and value:  # one for all axes, or one for each of their kind
        place = dof - 1 if signal == "energy" else int((turns[: dof - 1] == turns[dof - 1]).sum())
        value = value[min(place, len(value) - 1)]
    return float(value) if isinstance(value, int | float) else None


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


def pole_of(s: complex, step: float) -> Pole:
    """A root in continuous time as a pole."""
    size = abs(s)
    return Pole(s, size / (2 * np.pi), -s.real / size if size else np.nan, float(np.exp(s.real * step)))


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
