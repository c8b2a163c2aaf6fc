"""From a definition to the loop that runs.

excitation → start-up → virtual substructure → coupling → energy → guard → [record] → rig, which is one of

    transport → actuator → specimen → sensors                                in this process, simulated
    a link's own blocks (``halfreal.links``)                                 in another process, or real
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..couplings.start_up import Measured
from ..definition.definition import Definition, SimulatedRig
from ..kernels.block import Block, channels, names
from ..kernels.loop import Loop
from ..models.excitation import silence
from ..models.state_space import StateSpace
from ..models.structure import Structure
from ..rigs.force_actuated import ForceActuated
from ..rigs.specimen import EXCITATION
from ..rigs.transport import transport
from ..rigs.user import UserRig
from ..safety.energy_error import energy_error
from ..safety.guard import guard
from ..safety.limits import UNLIMITED
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


def interface(name: str, n: int) -> tuple[str, ...]:
    """Channel names of a signal of the interface."""
    return names(channels(name, "", n))


def build(
    definition: Definition,
    *,
    quiet: bool = False,
    ideal: bool = False,
    cut: bool = False,
    endless: bool = False,
    link: Sequence[Block] = (),
    ticks_before: int | None = None,
) -> Loop:
    """Lay out the loop of a definition.

    ``quiet`` silences what is not part of the loop's own dynamics: excitation, initial state, start-up, and the
    sensors' noise, resolution and range.  It is for linearising; every other block is the one that runs.  ``ideal``
    leaves out the sensors' faults alone.  ``cut`` opens the loop at the command: the rig follows a probe instead
    (``halfreal.stability.open_loop``).  ``endless`` leaves out the soft start and the end.
    The blocks of a ``link`` take the place of the simulated rig.  ``ticks_before`` are the ticks of the soft start,
    those of the definition if left out.
    """
    step, rig, virtual = definition.timing.step, definition.rig, definition.virtual
    if quiet:
        virtual = at_rest(virtual)
    n = virtual.axes
    target, command, displacement, force = (
        interface(name, n) for name in ("target", "command", "measured.displacement", "measured.force")
    )
    unit = "N" if definition.commands == "force" else "m"
    x0 = np.asarray(virtual.initial_target(), dtype=float)
    driven = definition.excitation.virtual
    start_up = Measured() if quiet else definition.start_up
    alone = quiet or cut or endless
    before = 0 if alone else definition.timing.ticks_before if ticks_before is None else ticks_before
    controller = [
        silence("excitation.virtual") if driven is None or quiet else driven.block("excitation.virtual"),
        start_up.block(step, "N", force, target, displacement),
        virtual.block(step, "none" if driven is None else driven.acts_as, interface("feedback", n)),
        definition.coupling.block(step, unit, target, (*displacement, *force)),
        energy_error(
            step, definition.limits.energy.window, definition.limits.energy.floor, target, displacement, force
        ),
        guard(
            definition.limits,
            step,
            unit,
            interface("command.asked", n),
            target,
            displacement,
            force,
            interface("energy.error", n),
            x0,
            soft_start=before * step,
            soft_stop=0.0 if alone else definition.timing.soft_stop,
            duration=UNLIMITED if alone else definition.timing.ticks * step,
            commands=definition.commands,
        ),
    ]
    if cut:
        controller.insert(0, probe(n, unit))
        command = interface(PROBE, n)
    when: dict[str, Any] = {"dt": step, "start": -before, "end": None if alone else definition.timing.ticks}
    if link:
        return Loop(controller, outer=link, **when)
    if isinstance(rig, UserRig):
        return Loop(controller, outer=[rig.block(command, step)], **when)
    inner, sensors = simulated(definition, rig, n, x0, command, quiet=quiet, ideal=ideal)
    return Loop(controller, inner, [sensors], substeps=getattr(rig, "substeps", 1), **when)


def simulated(
    definition: Definition,
    rig: SimulatedRig | ForceActuated,
    n: int,
    x0: np.ndarray,
    command: tuple[str, ...],
    *,
    quiet: bool = False,
    ideal: bool = False,
) -> tuple[list[Block], Block]:
    """The blocks of a simulated rig on its own step, and its sensors."""
    step, pushed = definition.timing.step, definition.excitation.specimen
    excitation = silence(EXCITATION, "N") if pushed is None or quiet else pushed.block(EXCITATION)
    if isinstance(rig, ForceActuated):
        moving = rig.block(command, step, x0)
        return [excitation, moving], rig.sensors.block(
            n, definition.timing.seed, np.array(moving.initial), ideal=quiet or ideal
        )
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
        excitation,
        specimen,
    ]
    resting = np.array([*x0, *(specimen.initial or np.zeros(n))])
    return inner, rig.sensors.block(n, definition.timing.seed, resting, ideal=quiet or ideal)
