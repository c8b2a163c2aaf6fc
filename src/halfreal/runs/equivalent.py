"""Loops without a linearisation at rest, judged at the amplitudes of their rehearsal (``stability/equivalent.py``)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..contracts.context import AT_REST, OPEN_LOOP, Purpose
from ..definition.definition import Definition
from ..definition.user_code import remembered
from ..kernels.loop import Loop
from ..stability.equivalent import Steep, equivalent, steep_blocks
from ..stability.linearise import Linearisation, NoSlopeError, linearise
from .build import SETTLING_TICKS, build

SAMPLES = 1000
"""Of the rehearsal."""
SMALLEST = 2.0**-10
"""Times the rehearsal's amplitudes, down to which a loop is judged."""
UNDISTURBED = Purpose(ideal=True, endless=True)


def settled(definition: Definition, purpose: Purpose, factor: float = 1.0) -> Loop:
    """A loop at rest, past its first ticks; blocks that have no slope there are replaced by equivalent ones."""
    loop = build(definition, purpose)
    return smoothed(definition, loop, factor)


def smoothed(definition: Definition, loop: Loop, factor: float = 1.0) -> Loop:
    """A new loop, settled and with equivalent blocks for ``factor`` times the rehearsal; itself if it needs none."""
    ticks = SETTLING_TICKS * definition.virtual.ticks_per_step
    loop.run(ticks)
    steep = steep_of(definition)
    if not steep:
        return loop
    others = {}
    for one, motion in steep:
        block = equivalent(loop, one, motion, factor)
        if block is None:
            raise NoSlopeError(
                f"block '{one.name}' has no slope at rest, and the rehearsal does not move it, so there is no "
                "amplitude to linearise it at; excite the test, or smooth its law around zero, e.g. by tanh(v/v0) "
                "instead of sign(v)"
            )
        others[one.name] = block
    replaced = loop.with_blocks(others)
    replaced.run(ticks)
    return replaced


@remembered(maxsize=16)
def steep_of(definition: Definition) -> list[tuple[Steep, np.ndarray]]:
    """Blocks of a definition's loop without slopes at rest, and their motion in its rehearsal away from rest."""
    steep = steep_in(definition, AT_REST) or steep_in(definition, OPEN_LOOP)
    if not steep:
        return []
    moving = build(definition, UNDISTURBED)
    between = max(definition.timing.ticks // SAMPLES, 1)
    samples: dict[str, list[np.ndarray]] = {one.name: [] for one in steep}
    for _ in range(min(SAMPLES, definition.timing.ticks)):
        if between > 1:
            moving.run(between - 1, event_room=0)
        before = {one.name: moving.state_of(one.name)[one.fields] for one in steep}
        moving.run(1, event_room=0)
        now = {one.name: np.append(before[one.name], moving.inputs_of(one.name)) for one in steep}
        if moving.state("guard")["mode"] != 0.0 or not all(np.all(np.isfinite(one)) for one in now.values()):
            break
        for one in steep:
            samples[one.name].append(now[one.name] - np.append(one.state[one.fields], one.inputs))
    return [(one, np.array(samples[one.name]).reshape(-1, one.without.size)) for one in steep]


def steep_in(definition: Definition, purpose: Purpose) -> list[Steep]:
    """Such blocks of the loop that is built for a purpose: one that moves in the closed loop may stand in the cut one,
    as friction that has a force at rest does."""
    loop, ticks = build(definition, purpose), definition.virtual.ticks_per_step
    loop.run(SETTLING_TICKS * ticks)
    try:
        linearise(loop, ticks)
        return []
    except NoSlopeError:
        return steep_blocks(loop)


def told(definition: Definition, stable: bool) -> str:
    """What an answer for equivalent blocks rests on, and what may happen at smaller amplitudes."""
    listed = "; ".join(amplitudes(definition, *one) for one in steep_of(definition))
    text = f"no slope at rest, assessed with equivalent linear blocks at the amplitudes of the rehearsal: {listed}"
    if not stable:
        return text
    below = unstable_below(definition)
    if below is None:
        return f"{text}; so it is stable down to {SMALLEST:.2g} of them"
    return (
        f"{text}; at {below:.2g} of them and below the equivalent loop is unstable, so it may not come to rest, "
        "but keep moving at about that amplitude"
    )


def amplitudes(definition: Definition, steep: Steep, motion: np.ndarray) -> str:
    """The amplitudes, √2 of root mean squares, at which a block is judged."""
    loop = build(definition, AT_REST)
    block = loop.blocks[loop.row(steep.name)]
    units = {channel.name: channel.unit for channel in loop.channels}
    fields = [loop.name_of(loop.state_begin(steep.name) + int(i)) for i in steep.fields]
    names = [*((name, "") for name in fields), *((name, f" {units[name]}") for name in block.inputs)]
    sizes = np.sqrt(2.0 * np.mean(motion**2, axis=0)) if len(motion) else np.zeros(steep.without.size)
    parts = [
        f"{name} {size:.3g}{unit}" for (name, unit), size, bad in zip(names, sizes, steep.without, strict=True) if bad
    ]
    return f"block '{steep.name}' at {', '.join(parts)}"


def unstable_below(definition: Definition) -> float | None:
    """Times the rehearsal's amplitudes, the largest of halvings at which the equivalent loop is not stable."""
    factor = 0.5
    while factor >= SMALLEST:
        if not at(definition, factor).stable:
            return factor
        factor *= 0.5
    return None


def at(definition: Definition, factor: float) -> Linearisation:
    """The loop linearised with equivalent blocks for ``factor`` times the rehearsal's amplitudes."""
    found = linearise(settled(definition, AT_REST, factor), definition.virtual.ticks_per_step)
    return replace(found, equivalent=True)
