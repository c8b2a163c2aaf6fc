"""What a check says beyond stability about harmonic couplings: whether the gap closes, and whether the rig will answer.

A random drive is uniform within ±A in real and imaginary part, so that the model's answer on axis o has the root mean
square A √(Σ_i Σ_c |H_i[o,c]|²/3).  It is held against what the loop shows while nothing is driven.
"""

from __future__ import annotations

import numpy as np

from ... import units
from ...couplings.harmonic.coupling import Harmonic
from ...couplings.harmonic.rls import HarmonicRls
from ...definition.definition import Definition
from ...runs.build import build, choice, plant, written_down
from ...runs.run import Run

NMSE = "coupling.nmse"
OPEN = 0.1
"""Gap over target, root mean squares, above which it counts as open."""
ABOVE = 3.0
"""Times the noise that the answer to a random drive should reach."""
MOST_TICKS = 20_000
"""At rest, from which the noise is found."""


def harmonic_advice(definition: Definition, run: Run) -> list[str]:
    """Sentences for a check, ``run`` being the rehearsal; none for any other coupling."""
    coupling = definition.coupling
    if not isinstance(coupling, Harmonic):
        return []
    return [*on_answer(definition, coupling), *on_gap(definition, coupling, run)]


# --- before the test --------------------------------------------------------------------------------------------------


def on_answer(definition: Definition, coupling: Harmonic) -> list[str]:
    """A warning if the model's answer to the random drive is lost in the noise."""
    if coupling.identification_time == 0.0:
        return []
    known = choice(definition).coupling
    transfer = plant(definition).response(2 * np.pi * known.hz)
    amplitude = float(known.amplitude or 0.0)
    answer = amplitude * np.sqrt(np.sum(np.abs(transfer) ** 2, axis=(0, 2)) / 3.0)
    noise = at_rest(definition)
    axis = int(np.argmax(noise / answer))
    if answer[axis] >= ABOVE * noise[axis]:
        return []
    return [
        f"warning: the model answers the random drive with {units.text(float(answer[axis]), 'm', 3)} (rms), not well "
        f"above the noise of {units.text(float(noise[axis]), 'm', 3)}: what is identified may be noise; raise "
        f"coupling.amplitude from {units.text(amplitude, 'N')} to "
        f"{units.text(amplitude * ABOVE * float(noise[axis] / answer[axis]), 'N', 2)} if the rig bears it, or use "
        "better sensors"
    ]


def at_rest(definition: Definition) -> np.ndarray:
    """Noise of the gap of each axis [m, rms]: its answer, g − g_ext, while nothing is driven."""
    n, step = definition.virtual.axes, definition.timing.step
    alone = definition.excitation.model_copy(update={"specimen": None})
    resting = written_down(definition).model_copy(update={"excitation": alone})
    ticks = min(MOST_TICKS, max(round(choice(definition).coupling.identification_time / step), 1))
    signals = ("target", "measured.displacement", "twin")
    names = [name for signal in signals for name in definition.interface.channels(signal)]
    log = build(resting, cut=True).run(ticks, record=names).log[:, 1:]
    target, place, twin = log[:, :n], log[:, n : 2 * n], log[:, 2 * n :]
    return np.asarray(np.std(place - target + twin, axis=0))


# --- after the rehearsal ----------------------------------------------------------------------------------------------


def on_gap(definition: Definition, coupling: Harmonic, run: Run) -> list[str]:
    """The gap at the end of a rehearsal, with a warning and what would help if it is open."""
    if run.outcome != "completed":
        return []
    if NMSE not in run.signals:
        return [f"whether the gap closes is not known, as {NMSE} is not recorded; add it to record.channels"]
    left = float(np.sqrt(run.signals[NMSE].values[-1]))
    share = f"{100 * left:.3g} %" if left >= 1e-4 else "less than 0.01 %"
    told = f"gap at the end of the rehearsal: {share} of the target"
    if left <= OPEN:
        return [told]
    return [f"warning: {told}; {', or '.join(remedies(definition, coupling, run))}"]


def remedies(definition: Definition, coupling: Harmonic, run: Run) -> list[str]:
    """What may close a gap that a rehearsal left open."""
    begun, end = coupling.identification_time, definition.timing.duration
    if begun >= end:
        return [f"the test ends before the identification of {units.text(begun, 's')}: lengthen timing.duration"]
    values = run.signals[NMSE].values
    halfway = int(np.searchsorted(run.time, 0.5 * (begun + end)))
    if values[-1] < 0.5 * values[min(halfway, len(values) - 1)]:
        return ["it is still closing: lengthen timing.duration"]
    found = []
    goes_on = isinstance(coupling, HarmonicRls) and coupling.mode == "simultaneous"
    if isinstance(coupling, HarmonicRls) and not goes_on:
        found.append('use coupling.mode = "simultaneous"')
    if begun > 0.0 and not goes_on:
        found.append("lengthen coupling.identification_time")
    if coupling.memories(definition.timing.step) or getattr(coupling, "gain", None) is not None:
        found.append("leave the coupling's gains and memories out, to have them chosen")
    return [*found, "give the coupling the harmonics that are left in the gap"]
