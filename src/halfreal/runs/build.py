"""From a definition to the loop that runs.

excitation → start-up → virtual substructure → coupling → guard → [record] → transport → actuator → specimen → sensors
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..couplings.start_up import Measured
from ..definition.definition import Definition, SimulatedRig
from ..kernels.block import channels, names
from ..kernels.loop import Loop
from ..models.excitation import silence
from ..models.state_space import StateSpace
from ..models.structure import Structure
from ..rigs.transport import transport
from ..stability.open_loop import PROBE, probe

SETTLING_TICKS = 4
"""Ticks at rest after which every block is past its first call."""


def at_rest(virtual: Any) -> Any:
    """A virtual substructure without its initial state; a user's model starts as its author says."""
    if isinstance(virtual, Structure):
        return virtual.model_copy(update={"initial_displacement": None, "initial_velocity": None})
    if isinstance(virtual, StateSpace):
        return virtual.model_copy(update={"initial_state": None})
    return virtual


def build(definition: Definition, *, quiet: bool = False, ideal: bool = False, cut: bool = False) -> Loop:
    """Lay out the loop of a definition.

    ``quiet`` silences what is not part of the loop's own dynamics: excitation, initial state, start-up, and the
    sensors' noise, resolution and range.  It is for linearising; every other block is the one that runs.  ``ideal``
    leaves out the sensors' faults alone.  ``cut`` opens the loop at the command: the rig follows a probe instead
    (``halfreal.stability.open_loop``).
    """
    step, rig, virtual = definition.timing.step, definition.rig, definition.virtual
    if quiet:
        virtual = at_rest(virtual)
    n = virtual.axes
    target, asked, command, feedback, displacement, force = (
        names(channels(name, "", n))
        for name in ("target", "command.asked", "command", "feedback", "measured.displacement", "measured.force")
    )
    x0 = np.asarray(virtual.initial_target(), dtype=float)
    driven, pushed = definition.excitation.virtual, definition.excitation.specimen
    start_up = Measured() if quiet else definition.start_up
    controller = [
        silence("excitation.virtual") if driven is None or quiet else driven.block("excitation.virtual"),
        start_up.block(step, "N", force, target, displacement),
        virtual.block(step, "none" if driven is None else driven.acts_as, feedback),
        definition.coupling.block(step, "m", target, (*displacement, *force)),
        definition.limits.block(step, "m", asked, target, displacement, force, x0),
    ]
    if cut:
        controller.insert(0, probe(n, "m"))
        command = names(channels(PROBE, "", n))
    if not isinstance(rig, SimulatedRig):
        return Loop(controller, outer=[rig.block(command, step)], dt=step)

    specimen = rig.specimen.block(n, x0, step / rig.substeps)
    inner = [
        transport(
            command,
            "m",
            step,
            rig.substeps,
            rig.actuator.delay,
            rig.actuator.reconstruction,
            x0,
            dynamic=rig.actuator.kind != "delay",
        ),
        rig.actuator.block(step / rig.substeps, "m", x0, rig.substeps),
        silence("excitation.specimen", "N") if pushed is None or quiet else pushed.block("excitation.specimen"),
        specimen,
    ]
    resting = np.array([*x0, *(specimen.initial or np.zeros(n))])
    sensors = rig.sensors.block(n, definition.timing.seed, resting, ideal=quiet or ideal)
    return Loop(controller, inner, [sensors], dt=step, substeps=rig.substeps)
