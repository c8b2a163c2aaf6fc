"""What a check says beyond stability about harmonic couplings: whether the gap closes, and whether the rig will answer.

A random drive is uniform within ±A in real and imaginary part, so that the model's answer on axis o has the root mean
square A √(Σ_i Σ_c |H_i[o,c]|²/3).  It is held against what the loop shows while nothing is driven.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ... import units
from ...contracts.finding import Finding, note, told
from .answered import PERIODS, judged
from .choice import choice
from .memory import SETTLED, rounded

if TYPE_CHECKING:
    from ...runs.run import Run
    from ...studies.check.examined import Examined
    from .coupling import Harmonic

NMSE = "coupling.nmse"
OPEN = 0.1
"""Gap over target, root mean squares, above which it counts as open."""
CLOSING = "it is still closing"
ABOVE = 3.0
"""Times the noise that the answer to a random drive should reach."""
EXCITED, WARNING = "coupling.excited", "warning: "
MOST_TICKS = 20_000
"""At rest, from which the noise is found."""


def advice(coupling: Harmonic, examined: Examined) -> Iterable[Finding]:
    """What was chosen for the coupling, whether the rig will answer it, and whether the gap closes."""
    chosen = choice(examined.definition, coupling, lambda: examined.plant)
    closes = not stays_open(coupling, examined)
    yield from told(chosen.as_text(lambda: examined.plant, examined.definition.timing.step, closes=closes))
    yield from on_answer(coupling, examined)
    yield from on_excited(coupling, examined)
    yield from on_gap(coupling, examined)


# --- before the test --------------------------------------------------------------------------------------------------


def on_answer(coupling: Harmonic, examined: Examined) -> Iterable[Finding]:
    """A warning if the model's answer to the random drive is lost in the noise."""
    if not coupling.identifies:
        return
    chosen = choice(examined.definition, coupling, lambda: examined.plant)
    known = chosen.coupling
    transfer = examined.plant.response(2 * np.pi * known.hz) * chosen.lever.drives
    amplitude = float(known.amplitude or 0.0)
    answer = amplitude * np.sqrt(np.sum(np.abs(transfer) ** 2, axis=(0, 2)) / 3.0)
    noise = at_rest(known, examined)
    axis = int(np.argmax(noise / answer))
    size, lost_in = float(answer[axis]), float(noise[axis])
    unit = examined.definition.interface.units("m")[axis]
    if size >= ABOVE * lost_in:
        return
    text = (
        f"the model responds to the random drive with {units.text(size, unit, 3)} (RMS), not well "
        f"above the noise of {units.text(lost_in, unit, 3)}: what is identified may be noise; raise "
        f"coupling.amplitude from {units.text(amplitude, 'N')} to "
        f"{units.text(amplitude * ABOVE * float(noise[axis] / answer[axis]), 'N', 2)} if the rig permits it, or use "
        "better sensors"
    )
    yield Finding("warning", text, size, ABOVE * lost_in, unit)


def at_rest(known: Harmonic, examined: Examined) -> np.ndarray:
    """Noise of the gap of each axis [m or rad, rms]: its answer, g − g_ext, while nothing is driven."""
    test = examined.definition
    settings = test.coupling.written_down(test, lambda: examined.plant)
    alone = test.excitation.unchecked_copy({"specimen": None})
    loop = examined.cut_loop(test.unchecked_copy({"coupling": settings, "excitation": alone}))
    n, ticks = test.virtual.axes, min(MOST_TICKS, max(round(known.identification_time / test.timing.step), 1))
    signals = ("target", "measured.displacement", "twin")
    names = [name for signal in signals for name in test.interface.channels(signal)]
    log = loop.run(ticks, record=names).log[:, 1:]
    target, place, twin = log[:, :n], log[:, n : 2 * n], log[:, 2 * n :]
    return np.asarray(np.std(place - target + twin, axis=0))


# --- after the rehearsal ----------------------------------------------------------------------------------------------


def on_excited(coupling: Harmonic, examined: Examined) -> Iterable[Finding]:
    """Harmonics that the rig of the rehearsal did not answer, and those of which that cannot be determined."""
    if not coupling.identifies:
        return
    known = choice(examined.definition, coupling, lambda: examined.plant).coupling
    time, interval = known.identification_time, float(known.random_interval or 0.0)
    can = judged(known.hz, examined.definition.virtual.axes, examined.definition.timing.step, time, interval)
    if not can.all():
        lost = ", ".join(units.text(float(hz), "Hz") for hz in known.hz[~can])
        yield note(
            f"whether the rig responds to the random drive at {lost} cannot be determined from "
            f"{time / interval:.3g} intervals "
            f"of {units.text(interval, 's', 3)}: {2 * PERIODS:.3g} period of the harmonic in each, and "
            f"{examined.definition.virtual.axes + 2} intervals, are needed"
        )
    for event in examined.rehearsal.events:
        if event.channel.startswith(EXCITED) and event.text.startswith(WARNING):
            yield Finding("warning", event.text.removeprefix(WARNING))


def stays_open(coupling: Harmonic, examined: Examined) -> bool:
    """Whether the gap does not close in the rehearsal, which then contradicts any rate of small errors."""
    run = examined.rehearsal
    if run.outcome != "completed" or NMSE not in run.signals:
        return run.outcome != "completed"
    if coupling.identification_time >= examined.definition.timing.duration:
        return False  # it has not begun to close
    return gap_left(run) > OPEN and not ways_to_close(coupling, examined)[0].startswith(CLOSING)


def gap_left(run: Run) -> float:
    """Gap over target, root mean squares, at the end of a rehearsal."""
    return float(np.sqrt(run.signals[NMSE].values[-1]))


def on_gap(coupling: Harmonic, examined: Examined) -> Iterable[Finding]:
    """The gap at the end of a rehearsal, with a warning and what would help if it is open."""
    run = examined.rehearsal
    if run.outcome != "completed":
        return
    if NMSE not in run.signals:
        yield note(f"convergence of the gap is not known, because {NMSE} is not recorded; add it to record.channels")
        return
    left = gap_left(run)
    share = f"{100 * left:.3g} %" if left >= 1e-4 else "less than 0.01 %"
    worst = " on the worst axis" if len(examined.definition.interface) > 1 else ""
    text = f"gap at the end of the rehearsal: {share} of the target{worst}"
    if left <= OPEN:
        yield Finding("note", text, left, OPEN)
    else:
        ways = ways_to_close(coupling, examined)
        closing = ways[0].startswith(CLOSING)  # a test that is cut short, and not a coupling that fails
        told = f"{text}; {', or '.join(ways)}"
        yield Finding("warning" if closing else "no-go", told, left, OPEN, name="gap of the coupling", room=0.0)


def ways_to_close(coupling: Harmonic, examined: Examined) -> list[str]:
    """What may close a gap that a rehearsal left open."""
    timing, run = examined.definition.timing, examined.rehearsal
    begun, end = coupling.identification_time, timing.duration
    if begun >= end:
        return [f"the test ends before the identification of {units.text(begun, 's')}: lengthen timing.duration"]
    values = run.signals[NMSE].values
    halfway = int(np.searchsorted(run.time, 0.5 * (begun + end)))
    if values[-1] < 0.5 * values[min(halfway, len(values) - 1)]:
        return [f"{CLOSING}: lengthen timing.duration"]
    slowest = float(examined.stability.linearisation.continuous.real.max(initial=-math.inf))
    if math.isfinite(slowest) and slowest < 0.0 and SETTLED / -slowest > end - begun:
        needed = units.text(rounded(begun + SETTLED / -slowest), "s")
        return [
            *coupling.ways_to_close(timing.step),
            f"lengthen timing.duration to about {needed}, because the slowest pole decays as exp({slowest:.3g} t/s)",
        ]
    return [*coupling.ways_to_close(timing.step), "add the remaining harmonics of the gap to the coupling"]
