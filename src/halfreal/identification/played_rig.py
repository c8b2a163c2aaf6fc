"""The rig of a definition under recorded commands: the code that runs, without the rest of its loop.

The recorded commands take the place of the guard; actuator, specimen and sensors are the blocks of the definition's own
rig, with sensors that are ideal but for their delay, and with the excitation that its specimen had in the record.  What
they measure at a tick is held against what was measured at that tick.  So delay, reconstruction, dynamics and all that
is not linear are in the comparison just as they are in a rehearsal.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..contracts.context import Purpose, numbered
from ..definition.definition import Definition
from ..kernels.block import Block, Value, channels
from ..kernels.loop import Loop
from ..rigs.sensors import IDEAL
from ..runs.build import context_of, rig_blocks
from .rig_record import RigRecord

PLAYED = "played"
ALONE = Purpose(endless=True)


def played_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    k = int(min(s.count, p.last))
    for i in range(y.size):
        y[i] = p.values[k, i]
    s.count += 1.0
    return 0


def played_block(commands: np.ndarray, unit: str) -> Block:
    """Recorded commands, one row a tick; the last one stays."""
    samples, n = commands.shape
    # the layout of a block is compiled in: a power of two keeps the number of layouts small
    padded = np.zeros((1 << max(samples - 1, 1).bit_length(), n))
    padded[:samples] = commands
    parameters: dict[str, Value] = {"values": padded, "last": float(samples - 1)}
    return Block(
        name=PLAYED,
        step=played_step,
        inputs=(),
        outputs=channels(PLAYED, unit, n, of="actuator"),
        parameters=parameters,
        state={"count": 0.0},
    )


def measured_by_model(definition: Definition, record: RigRecord) -> np.ndarray:
    """Displacements and forces, (samples, 2 axes), that the definition's rig measures under the recorded commands."""
    sensors = definition.rig.known_sensors
    sensing = None if sensors is None else definition.rig.with_sensors(sensors.changed(IDEAL, IDEAL))
    test = definition.unchecked_copy({"excitation": record.excitation, "rig": sensing or definition.rig})
    context = context_of(test, ALONE if sensing else replace(ALONE, ideal=True))
    if definition.commands == "displacement" and not definition.interface.passive:
        context = replace(context, start=record.displacement[0].copy())  # where it stood
    axes, count = definition.interface, len(definition.interface.actuators)
    inner, outer = rig_blocks(context, numbered(PLAYED, count))
    player = [played_block(record.commands, context.unit)]
    player, inner, outer = axes.named(player, inner, outer)
    loop = Loop(
        player,
        inner,
        outer,
        dt=context.step,
        substeps=definition.rig.steps_per_tick,
        start=round(float(record.time[0]) / context.step),
    )
    names = [*axes.channels("measured.displacement"), *axes.channels("measured.force")]
    # a row is written before the rig moves, as in every loop: it holds what was measured at its tick
    return np.asarray(loop.run(len(record.time), record=names, event_room=0).log[:, 1:])
