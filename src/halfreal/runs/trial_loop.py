"""The loop of a test with a changed rig, for trials in motion: later by any delay, its specimen's force times a gain.

The delay is inserted between coupling and guard, the gain between specimen and sensors, so that ranges of sensors act
on the changed force.  In force control the gain changes the displacement instead: a softer specimen moves further.  A
rig whose sensors are no blocks of their own is changed behind them.

    command(t) = asked(t − delay)              linear between ticks
    rig.force  → gain · rig.force              in force control rig.displacement

Limits and the resolution of sensors are left out: a trip would end the motion, and rounding hides small deviations.
Noise, ranges, friction, backlash and saturation are those of the test.  Both changes are parameters of one loop, which
is laid out once.  With a gain of zero the loop is cut there, and what replaces the feedback is an offset.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..contracts.context import Purpose
from ..contracts.quantities import UNLIMITED
from ..definition.definition import Definition
from ..kernels.block import Block, Channel
from ..kernels.loop import Loop
from .build import build

DELAY, GAIN = "trial.delay", "trial.gain"
HISTORY = 1024
"""Ticks of the longest additional delay."""
IN_MOTION = Purpose(endless=True)
"""Without soft start and end, and with all faults of sensors."""


def delay_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    rows = s.history.shape[0]
    if s.count == 0.0:  # as if it had always been there
        for j in range(rows):
            for c in range(u.size):
                s.history[j, c] = u[c]
    s.count += 1.0
    now = int(s.count) % rows
    whole = int(p.ticks)
    part = p.ticks - whole
    for c in range(u.size):
        s.history[now, c] = u[c]
        y[c] = s.history[(now - whole) % rows, c]
        if part > 0.0:
            y[c] = (1.0 - part) * y[c] + part * s.history[(now - whole - 1) % rows, c]
    return 0


def gain_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for c in range(u.size):
        y[c] = p.gain * u[c] + s.offset[c]
    return 0


def trial_loop(definition: Definition, purpose: Purpose = IN_MOTION) -> Loop:
    """The loop of a test without limits, with no change yet (``change``)."""
    exact = definition.unchecked_copy({"rig": definition.rig.without_resolution()})
    return changeable(definition, without_limits(build(exact, purpose)))


def changeable(definition: Definition, loop: Loop) -> Loop:
    """The loop of a test at its beginning, with the blocks that change its rig."""
    feedback = "displacement" if definition.targets == "force" else "force"
    controller = list(loop.controller) if definition.slow is not None else _delayed(loop.controller)
    return loop.rearranged(controller, loop.inner, _scaled(loop.outer, feedback))


def without_limits(loop: Loop) -> Loop:
    """The loop with a guard that never trips, and with ramps of a slow test that take as long to any command; what a
    coupling has derived from the limits remains."""
    *before, guard = loop.controller
    limits = {name: np.full_like(guard.parameters[name], UNLIMITED) for name in ("trip", "warn", "first", "rate")}
    tolerant = replace(guard, parameters={**guard.parameters, **limits})
    return loop.rearranged([*(_at_any_rate(block) for block in before), tolerant], loop.inner, loop.outer)


def _at_any_rate(block: Block) -> Block:
    """The block of a slow test without the limit of the command's rate; others as they are."""
    if block.name != "motion":
        return block
    return replace(block, parameters={**block.parameters, "rate": np.full_like(block.parameters["rate"], UNLIMITED)})


def change(loop: Loop, *, delay: float = 0.0, gain: float = 1.0) -> None:
    """Set the additional delay [s] and the factor on the feedback of a trial loop, and begin again."""
    for block in loop.blocks:
        if block.step is delay_step:
            loop.parameter(block.name)["ticks"] = min(delay / loop.dt, HISTORY - 2.0)
        elif block.step is gain_step:
            loop.parameter(block.name)["gain"] = gain
    loop.reset()


def cut_feedback(loop: Loop) -> tuple[list[str], np.ndarray]:
    """Cut a trial loop where it is at the gain: the channels that come to the cut, and what replaces them.

    The latter are entries of the loop's vector; they have the values of the channels, so that a loop at rest remains
    there.
    """
    names, places = list[str](), list[np.ndarray]()
    for block in loop.blocks:
        if block.step is gain_step:
            loop.state(block.name)["offset"] = loop.inputs_of(block.name)
            loop.parameter(block.name)["gain"] = 0.0
            names += block.inputs
            places.append(loop.state_indices(block.name, "offset"))
    return names, np.concatenate([np.zeros(0, dtype=int), *places])


def longest_delay(loop: Loop) -> float:
    """The longest additional delay that can be set [s]."""
    return (HISTORY - 2.0) * loop.dt


def _delayed(controller: Iterable[Block]) -> list[Block]:
    """These blocks with the command on its way to the guard delayed."""
    *before, guard = controller
    asked = [channel for block in before for channel in block.outputs if _is(channel.name, "command.asked")]
    late = [replace(channel, name=f"{DELAY}.{i}", of=None) for i, channel in enumerate(asked)]
    names = {one.name: other.name for one, other in zip(asked, late, strict=True)}
    delay = Block(
        name=DELAY,
        step=delay_step,
        inputs=tuple(names),
        outputs=tuple(late),
        parameters={"ticks": 0.0},
        state={"count": 0.0, "history": np.zeros((HISTORY, len(asked)))},
        frozen=("count", "history"),
    )
    return [*before, delay, _reads(guard, names)]


def _scaled(outer: Iterable[Block], quantity: str) -> list[Block]:
    """These blocks with what the sensors of a quantity are given, or what they give, times the gain."""
    found: list[Block] = []
    for block in outer:
        measured = [c for c in block.outputs if any(_is(c.name, f"{one}.{quantity}") for one in ("measured", "sensed"))]
        true = [name for name in block.inputs if any(_is(name, f"{one}.{quantity}") for one in ("rig", "filtered"))]
        name = f"{GAIN}.{block.name}"
        if not measured:
            found.append(block)
        elif true:
            changed = {one: Channel(f"{name}.{one}", measured[0].unit) for one in true}
            names = {one: channel.name for one, channel in changed.items()}
            found += [_gain(name, tuple(true), tuple(changed.values())), _reads(block, names)]
        else:
            raw = {c.name: replace(c, name=f"{name}.{c.name}", of=None) for c in measured}
            hidden = replace(block, outputs=tuple(raw.get(c.name, c) for c in block.outputs))
            initial = [value for c, value in zip(block.outputs, block.initial, strict=False) if c.name in raw]
            found += [hidden, _gain(name, tuple(c.name for c in raw.values()), tuple(measured), tuple(initial))]
    return found


def _gain(name: str, inputs: tuple[str, ...], outputs: tuple[Channel, ...], initial: tuple[float, ...] = ()) -> Block:
    return Block(
        name=name,
        step=gain_step,
        inputs=inputs,
        outputs=outputs,
        parameters={"gain": 1.0},
        state={"offset": np.zeros(len(inputs))},
        frozen=("offset",),
        initial=initial,
    )


def _reads(block: Block, names: dict[str, str]) -> Block:
    """A block that reads other channels in the places of some."""
    return replace(block, inputs=tuple(names.get(name, name) for name in block.inputs))


def _is(name: str, signal: str) -> bool:
    """Whether a channel is of a signal, on any axis."""
    return name == signal or name.startswith(f"{signal}.")
