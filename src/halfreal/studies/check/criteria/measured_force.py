"""Whether the measured force is the specimen's, at the frequencies at which the test works.

What is sampled of a rig that is faster than the step need not be what its specimen does: a mass on an actuator that
follows a held command seems to have damping, or to generate energy (``rigs/felt_specimen.py``).  Filters and delays of
sensors do that too.  A shorter step, a smoother command or an anti-aliasing filter help: each is tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from .... import units
from ....contracts.finding import Finding, note
from ....definition.definition import Definition
from ....definition.paths import with_values
from ....errors import HalfrealError
from ....rigs.felt_specimen import ForceError, force_error
from ....rigs.sensor_filter import SensorFilter
from ....runs.loop_stability import cut_loop, linearised
from ....runs.rig_lag import seen
from ....stability.open_loop import answer
from ..examined import Examined

SLOW = 0.05
"""Of the sampling rate: frequencies below it are those at which the specimen's force must be right."""
SEEN = 0.1
"""Periods in a test from which on a frequency is seen in it."""
MOST_WRONG = 0.05
"""Share of the specimen's force that sampling may change; beyond it a rehearsal says nothing of the test."""
WORTH_STATING = 0.01
"""Share from which on what sensors add is reported."""
SHORTER = (2, 5, 10, 20)
"""Parts of the step that are tried."""
CUTOFFS, FINER = (0.1, 0.2, 0.4), 10
"""Of a filter that is tried, in parts of the sampling rate, on so many steps of the rig."""
MUCH = 0.2
"""Share that may be left for a remedy to be named."""
NEAR = 0.1
"""Share of a frequency within which the specimen's force is what errors are measured by: at an antiresonance it has
none."""
POINTS = 12
"""Frequencies of an excitation that sweeps."""


def measured_force(examined: Examined) -> Iterable[Finding]:
    found, definition = force_errors(examined), examined.definition
    if found is None:
        return
    sampled, sensed, in_loop = found
    if sampled.share.max() > MOST_WRONG:
        binding = bool(in_loop.max() > MOST_WRONG)
        place = int(np.argmax(in_loop)) if binding else sampled.worst
        hz, share = float(sampled.hz[place]), float(sampled.share[place])
        text = (
            f"the simulated rig does not represent its specimen: at {hz:.3g} Hz the measured force "
            f"{false_text(definition, sampled, place)} that the specimen does not have, {100 * share:.3g} % of its "
            f"force near that frequency, by sampling and hold with a step of {units.text(definition.timing.step, 's')}"
        )
        if not binding:
            yield Finding("warning", text, share, MOST_WRONG)
            return
        mend = examined.remedies(lambda: remedies(definition, hz))
        yield Finding("no-go", text, share, MOST_WRONG, remedies=mend, name="force of the specimen", room=0.0)
    elif sensed.share.max() > WORTH_STATING:
        place = sensed.worst
        yield note(
            f"at {sensed.hz[place]:.3g} Hz filter and delay of the force sensor change the measured force by "
            f"{100 * sensed.share[place]:.2g} %: it {false_text(definition, sensed, place)} that the specimen does "
            "not have"
        )


def is_wrong_in_loop(examined: Examined) -> bool:
    """Whether sampling makes another force of the specimen's at a frequency of the loop."""
    found = force_errors(examined)
    return found is not None and bool(found[2].max() > MOST_WRONG)


def force_errors(examined: Examined) -> tuple[ForceError, ForceError, np.ndarray] | None:
    """By sampling and by sensors, and the share of the former at the loop's frequencies; None if it is not known."""
    definition, axes = examined.definition, len(examined.definition.interface)
    if definition.slow is not None or definition.targets != "displacement":
        return None
    looped, worked = working_frequencies(examined)
    hz = np.unique([*looped, *worked])
    impedance = definition.rig.specimen_impedance(axes, np.array([*hz, 1.0]))
    if not hz.size or impedance is None:
        return None
    try:
        sampled, sensed = errors(definition, hz, examined.stability.linearisation.equivalent)
    except HalfrealError:
        return None  # where it has no slopes, the findings on stability state it
    if (impedance == impedance[0]).all():  # a spring: its force is that of the place alone, whenever it is sampled
        sampled = replace(sampled, share=np.zeros(hz.size))
    sensed = replace(sensed, share=np.where(np.isin(hz, worked), sensed.share, 0.0))
    return sampled, sensed, np.where(np.isin(hz, looped), sampled.share, 0.0)


def working_frequencies(examined: Examined) -> tuple[list[float], list[float]]:
    """Of the loop, its lightly damped poles, and of the test, its excitations and where it is critical [Hz]."""
    definition, poles = examined.definition, examined.stability.linearisation
    least, most = SEEN / definition.timing.duration, SLOW / poles.dt
    light, critical = poles.frequency_hz[poles.damping < 0.7], examined.stability.critical_hz
    worked = [critical]
    for part in (definition.excitation.virtual, definition.excitation.specimen):
        known = None if part is None else part.harmonics(definition.timing.step)
        if known is not None:
            ends = (known.frequency, known.frequency if known.to is None else known.to)
            swept = np.geomspace(*ends, POINTS if known.to is not None else 1) if min(ends) > 0.0 else np.array(ends)
            worked += [*(order * known.frequency for order in known.orders), *known.tones, *map(float, swept)]
    looped = [float(hz) for hz in (*light, critical)]
    return [hz for hz in looped if least < hz < most], [hz for hz in worked if least < hz < most]


def errors(definition: Definition, hz: np.ndarray, smooth: bool = False) -> tuple[ForceError, ForceError]:
    """What sampling and hold make of the specimen's force, and what filter and delay of its sensors do."""
    axes, sensors = definition.interface, definition.rig.known_sensors
    loop, n = cut_loop(definition, smooth), len(axes)
    names = [*axes.channels("rig.displacement"), *axes.channels("measured.force")]
    if any(name not in loop.index for name in names):
        raise HalfrealError("this rig has no channel of its true motion")
    found = seen(answer(loop, names)).response(2.0 * np.pi * hz)  # without the resonators of a coupling
    motion, measured = found[:, :n], found[:, n:]
    impedance = definition.rig.specimen_impedance(n, hz)
    assert impedance is not None
    sensed_by, near = (
        impedance,
        [definition.rig.specimen_impedance(n, factor * hz) for factor in (1.0 - NEAR, 1.0 + NEAR)],
    )
    if sensors is not None:
        sensed_by = np.stack([part.response(hz) for part in sensors.of_force(axes)], axis=1)[:, :, None] * impedance
    sizes = np.array([np.abs(one).max(axis=(1, 2)) for one in (impedance, *near) if one is not None])
    weight = sizes[0] / np.maximum(sizes.max(axis=0), np.finfo(float).tiny)  # small at an antiresonance
    both = force_error(hz, motion, measured, sensed_by), force_error(hz, motion, sensed_by @ motion, impedance)
    sampled, sensed = (replace(one, share=weight * one.share) for one in both)
    return sampled, sensed


def false_text(definition: Definition, error: ForceError, place: int) -> str:
    """Damping and stiffness that a force adds, for people; of the axis where they are largest."""
    axes, omega = definition.interface, 2.0 * np.pi * error.hz[place]
    moved = np.flatnonzero(~axes.rotations)
    if not moved.size:
        return "has parts"
    axis = moved[int(np.argmax(np.hypot(omega * error.damping[place, moved], error.stiffness[place, moved])))]
    on = f" on axis {axes.names[axis]}" if len(axes) > 1 else ""
    damping, stiffness = error.damping[place, axis], error.stiffness[place, axis]
    return f"adds {damping:+.3g} N s/m of damping and {stiffness / 1e3:+.3g} N/mm of stiffness{on}"


def remedies(definition: Definition, hz: float) -> Iterator[str]:
    """Changes with which the measured force is the specimen's at a frequency [Hz], each tried."""
    found: dict[str, tuple[float, str]] = {}
    for group, name, variant in variants(definition):
        if group in found and found[group][0] < MOST_WRONG:
            continue
        try:
            sampled, sensed = errors(variant, np.array([hz]))
            stable = linearised(variant).stable
        except HalfrealError:
            continue
        false = sampled.damping + sensed.damping
        left = false.flat[np.argmax(np.abs(false))]
        share = float(sampled.share[0] + sensed.share[0])
        after = "" if stable else "; the loop is still unstable with it"
        if share < found.get(group, (MUCH, ""))[0]:
            found[group] = share, f"{name} leaves {left:+.2g} N s/m, {100 * share:.2g} % of the force{after}"
    yield from (text for _, text in found.values())
    if not found:
        yield (
            f"a shorter step than {units.text(definition.timing.step / SHORTER[-1], 's')}, or an actuator with less "
            "bandwidth"
        )


def variants(definition: Definition) -> Iterator[tuple[str, str, Definition]]:
    """What may help, group by group: a smoother command, a shorter step, a filter; with the text a user writes."""
    step, sensors, smoother = definition.timing.step, definition.rig.known_sensors, definition.rig.smoother
    if smoother is not None:
        yield "command", smoother[0], definition.unchecked_copy({"rig": smoother[1]})
    for parts in SHORTER:
        try:
            shorter = with_values(definition, {"timing.step": step / parts})
        except HalfrealError:
            continue
        yield "step", f"a step of {units.text(step / parts, 's')}", shorter
    for cutoff in CUTOFFS if sensors is not None and sensors.force.filter is None else ():
        low_pass = SensorFilter(cutoff=float(f"{cutoff / step:.3g}"))
        rig = definition.rig.with_sensors(sensors.changed({}, {"filter": low_pass})) if sensors is not None else None
        if rig is not None and "substeps" in type(rig).model_fields:
            finer = max(FINER, rig.steps_per_tick)
            text = f'rig.sensors.force.filter = {{ cutoff = "{units.text(low_pass.cutoff, "Hz")}" }}'
            variant = definition.unchecked_copy({"rig": rig.unchecked_copy({"substeps": finer})})
            yield "filter", f"{text} with rig.substeps = {finer}", variant
