"""An identification experiment that the limits of a test allow: a small multisine or chirp on one axis.

What is not given is chosen: a band up to 50 Hz or a twentieth of the sampling rate, five periods of a multisine, of
which the first one settles, and the amplitude that uses a part of the limit that binds first, as a rehearsal on the
definition's own rig shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ... import units
from ...contracts.excitation import Excitation
from ...definition.definition import Definition
from ...errors import HalfrealError
from ...identification.experiment import programme
from ...identification.rig_record import NotIdentifiableError
from ...models.excitations import Chirp, Random
from ...runs.rehearse import rehearse
from ...runs.run import Run

SignalKind = Literal["multisine", "chirp"]
PERIOD, PERIODS = 8.0, 5
"""Of a multisine [s] at most, and how often it is repeated at least."""
FEWEST_LINES, MOST_LINES = 16, 900
"""In the band of a multisine."""
HIGHEST, HIGHEST_HZ = 0.05, 50.0
"""Of the sampling rate, and in Hz: up to which a rig is moved if no band is given."""
USED = 0.25
"""Part of the limit that binds first which an experiment uses, where no amplitude is given."""
TRIED = 1e-4
"""Amplitude that is tried first [m or rad]."""


@dataclass(frozen=True)
class Plan:
    """An experiment on one axis."""

    definition: Definition
    excitation: Excitation
    axis: str
    text: str
    """For people: what is commanded, and from which limit that follows."""


def plan(
    definition: Definition,
    axis: int,
    *,
    signal: SignalKind = "multisine",
    amplitude: float | None = None,
    band: tuple[float, float] | None = None,
    duration: float | None = None,
) -> Plan:
    """The experiment on an axis, counted from 0; ``amplitude`` is the rms of a multisine, the peak of a chirp [m]."""
    axes, step = definition.interface, definition.timing.step
    if definition.commands != "displacement":
        raise HalfrealError(
            f"a rig of kind '{definition.rig.kind}' is commanded in force, but an experiment commands displacements; "
            "identify it from records (--run)"
        )
    if axes.passive or definition.kinematics is not None or definition.slow is not None:
        raise HalfrealError(
            "an experiment commands each axis in real time, but this test has passive axes, [kinematics] or [slow]; "
            "identify it from records (--run)"
        )
    low, high = band or (2.0 / PERIOD, min(HIGHEST / step, HIGHEST_HZ))
    _check_band(low, high, step)
    length = PERIODS * PERIOD if duration is None else duration
    period = step * round(min(length / PERIODS, PERIOD, MOST_LINES / (high - low)) / step)
    if period * (high - low) < FEWEST_LINES:
        raise NotIdentifiableError(
            f"{units.text(length, 's')} cover {PERIODS} periods of {units.text(period, 's')}, with "
            f"{period * (high - low):.0f} lines in the band; {FEWEST_LINES} are needed: give a longer --duration"
        )

    def made(size: float) -> Definition:
        return programme(definition, _excitation(signal, size, low, high, period, length), length, axis + 1)

    unit = axes.units("m")[axis]
    because = "as given"
    if amplitude is None:
        amplitude, because = _allowed(made)
    measure = "rms" if signal == "multisine" else "peak"
    on = f" on axis {axes.names[axis]}" if len(axes) > 1 else ""
    text = (
        f"{signal}{on}, {units.text(low, 'Hz', 3)} to {units.text(high, 'Hz', 3)}, "
        f"{units.text(amplitude, unit, 3)} {measure} ({because}), {units.text(length, 's', 3)}"
    )
    test = made(amplitude)
    assert test.excitation.virtual is not None
    return Plan(test, test.excitation.virtual, axes.names[axis], text)


def _check_band(low: float, high: float, step: float) -> None:
    half = 0.5 / step
    if not 0.0 < low < high < half:
        raise HalfrealError(
            f"band from {low:g} to {high:g} Hz; it must increase, from above 0 to below half the "
            f"sampling rate, {half:g} "
            "Hz"
        )


def _excitation(signal: SignalKind, size: float, low: float, high: float, period: float, length: float) -> Excitation:
    if signal == "chirp":
        return Chirp(displacement=size, frequency=low, to=high, duration=0.95 * length, ramp=min(0.5, 0.1 * length))
    return Random(displacement=size, frequency=low, to=high, period=period, ramp=min(0.5, 0.5 * period))


def _allowed(made: Callable[[float], Definition]) -> tuple[float, str]:
    """The amplitude that uses its part of the limit that binds first, and which limit that is."""
    size, name, share = TRIED, "", 0.0
    for _ in range(4):  # noise has its share at small amplitudes, and what is not linear at all
        run: Run = rehearse(made(size))
        used = {key: value for key, value in run.limits_used.items() if not key.startswith("time ")}
        if not used:
            raise HalfrealError("[limits] has no limit to derive an amplitude from; add one, or give --amplitude")
        name, share = max(used.items(), key=lambda item: item[1])
        if run.outcome == "completed" and abs(share - USED) < 0.1 * USED:
            break
        size *= min(USED / max(share, 1e-6), 1e3)
    return float(f"{size:.2g}"), f"{100 * USED:.0f} % of the limit on {name}, on the simulated rig"


def completed(run: Run) -> Run:
    """The run of an experiment, refused if it did not come to its end."""
    if run.outcome != "completed":
        raise NotIdentifiableError(
            f"the experiment {run.outcome}: {run.reason}; give a smaller --amplitude or a lower --band, or widen the "
            "limit if rig and specimen permit it"
        )
    return run
