"""From a definition to the loop that runs.

excitation → start-up → virtual substructure → coupling → energy → guard → [record] → rig

A harmonic coupling has a twin of the virtual substructure before it; a slow test moves the rig between coupling and
guard (``halfreal.safety.slow_motion``).  The rig is one of

    transport → actuator → specimen → sensors                                in this process, simulated
    a link's own blocks (``halfreal.links``)                                 in another process, or real
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..contracts.axes import Axes
from ..contracts.state_space import StateSpace
from ..couplings.direct import Direct
from ..couplings.force_prediction import PREDICTED
from ..couplings.harmonic.coupling import Harmonic, twin
from ..couplings.harmonic.lti import loop_plant
from ..couplings.kalman_filter import FILTERED
from ..couplings.narrow_band_table import NarrowBandTable, given_frequency
from ..couplings.start_up import Measured
from ..definition.definition import Definition
from ..definition.sections import SimulatedRig
from ..definition.user_code import remembered
from ..kernels.block import Block, channels, names
from ..kernels.loop import GUARD_MODE, Loop
from ..models.excitations.excitation import silence
from ..models.force_control.constrained import Constrained
from ..models.structures.restoring import assemble
from ..models.structures.state_space import StateSpaceModel
from ..models.structures.structure import Structure
from ..rigs.assembled import AssembledRig
from ..rigs.electrodynamic import Electrodynamic
from ..rigs.force_actuated import ForceActuated
from ..rigs.force_controlled import ForceControlled
from ..rigs.sensors import Sensors
from ..rigs.servo_hydraulic import ServoHydraulic
from ..rigs.shaking_table import ShakingTable
from ..rigs.specimen import EXCITATION, Specimen
from ..rigs.transport import transport
from ..rigs.user import UserRig
from ..safety.energy_error import energy_error
from ..safety.guard import guard
from ..safety.limits import UNLIMITED
from ..safety.slow_motion import HOLDING
from ..stability.open_loop import PROBE, probe
from .compensation import with_model_data
from .harmonic_choice import Chosen, choose

SETTLING_TICKS = 4
"""Ticks at rest after which every block is past its first call."""


def at_rest(virtual: Any, rig: Any) -> Any:
    """A virtual substructure without its initial state; a user's model starts as its author says.

    A stiffness that is found out at the beginning of the test is taken to be that of the rig's model.
    """
    if isinstance(virtual, Constrained):
        probing, specimen = virtual.method.probing, getattr(rig, "specimen", None)
        if probing is not None and isinstance(specimen, Specimen):
            stiffness = specimen.matrices(virtual.axes)[2] + assemble(specimen.elements, virtual.axes).stiffness
            virtual = virtual.with_stiffness(probing.factor * stiffness)
        return virtual.at_rest()
    if isinstance(virtual, Structure):
        return virtual.model_copy(update={"initial_displacement": None, "initial_velocity": None})
    if isinstance(virtual, StateSpaceModel):
        return virtual.model_copy(update={"initial_state": None})
    return virtual


def numbered(signal: str, n: int) -> tuple[str, ...]:
    """Channels of a signal of the interface as blocks count them, before they are named after its axes."""
    return Axes.numbered(n).channels(signal)


def needed_to_resume(axes: Axes) -> tuple[str, ...]:
    """Channels without which a slow test cannot be taken up again."""
    signals = ("measured.displacement", "measured.force", "command.asked")
    return (*(name for signal in signals for name in axes.channels(signal)), GUARD_MODE, "motion.clock")


def build(
    definition: Definition,
    *,
    quiet: bool = False,
    ideal: bool = False,
    cut: bool = False,
    endless: bool = False,
    replayed: bool = False,
    link: Sequence[Block] = (),
    ticks_before: int | None = None,
) -> Loop:
    """Lay out the loop of a definition.

    ``quiet`` silences what is not part of the loop's own dynamics: excitation, initial state, start-up, and the
    sensors' noise, resolution and range.  It is for linearising; every other block is the one that runs.  ``ideal``
    leaves out the sensors' faults alone.  ``cut`` opens the loop at the command: the rig follows a probe instead
    (``halfreal.stability.open_loop``).  ``endless`` leaves out the soft start and the end.  ``replayed`` leaves out the
    motion of a slow test: the link gives what was measured, one tick after another.
    The blocks of a ``link`` take the place of the simulated rig.  ``ticks_before`` are the ticks of the soft start,
    those of the definition if left out.
    """
    step, virtual, slow = definition.timing.step, definition.virtual, definition.slow
    if quiet:
        virtual = at_rest(virtual, definition.rig)
    n, axes = virtual.axes, definition.interface
    target, command, displacement, force, asked = (
        numbered(name, n) for name in ("target", "command", "measured.displacement", "measured.force", "command.asked")
    )
    unit = "N" if definition.commands == "force" else "m"
    x0 = initial_displacement(virtual)
    # the force under which the rig's model stands there
    begin = definition.rig.stiffness(n) @ x0 if isinstance(definition.rig, ForceControlled) else None
    alone = quiet or cut or endless
    before = 0 if alone else definition.timing.ticks_before if ticks_before is None else ticks_before
    controller = before_the_guard(definition, virtual, unit, quiet=quiet, cut=cut)
    guarded = (asked, target, displacement, force)
    if slow is not None and not cut:
        controller.insert(0, controller.pop())  # the energy of the tick before: its target has been answered only now
    moved = slow is not None and not cut and not replayed
    if slow is not None and moved:
        places, forces = numbered("sensed.displacement", n), numbered("sensed.force", n)
        rate = definition.limits.watched(axes, definition.commands)[1].trip
        how: dict[str, Any] = {"begin": begin, "fixed": quiet, "axes": axes}
        controller.append(slow.block(step, unit, asked, places, forces, rate, x0, definition.commands, **how))
        moving, seen = numbered("motion.command", n), numbered("motion.displacement", n)
        guarded = (moving, moving, seen, forces)
    controller.append(
        guard(
            definition.limits,
            definition.period,
            unit,
            *guarded,
            numbered("energy.error", n),
            x0,
            soft_start=before * step,
            soft_stop=0.0 if alone else soft_stop(definition),
            duration=UNLIMITED if alone else definition.timing.ticks * step,
            commands=definition.commands,
            targets=definition.targets if slow is None else definition.commands,  # there it is the command on its way
            step=step,
            begin=begin,
            axes=axes,
            noisy=None if quiet or ideal or cut else noisy_sensors(definition),
        )
    )
    if cut:
        controller.insert(0, probe(n, unit))
        command = numbered(PROBE, n)
    when: dict[str, Any] = {"dt": step, "start": -before, "end": None if alone else definition.timing.ticks}
    if moved:
        when["hold"] = HOLDING
    inner, outer = ([], list(link)) if link else rig_blocks(definition, x0, command, quiet=quiet, ideal=ideal)
    if moved:
        outer = [sensing(block) for block in outer]
    controller = [axes.named(block) for block in controller]
    foreign = isinstance(definition.rig, AssembledRig)
    inner, outer = ([axes.named(block, foreign=foreign) for block in group] for group in (inner, outer))
    return Loop(controller, inner, outer, substeps=1 if link else getattr(definition.rig, "substeps", 1), **when)


def before_the_guard(definition: Definition, virtual: Any, unit: str, *, quiet: bool, cut: bool) -> list[Block]:
    """Excitation, start-up, virtual substructure, coupling, energy error."""
    step, n = definition.timing.step, virtual.axes
    target, displacement, force, feedback = (
        numbered(name, n) for name in ("target", "measured.displacement", "measured.force", "feedback")
    )
    driven = definition.excitation.virtual
    acts_as = "none" if driven is None else driven.acts_as
    wait = getattr(virtual, "probing_ticks", 0) * step
    shown = silence("excitation.virtual") if driven is None or quiet else driven.block("excitation.virtual", -wait)
    start_up = Measured() if quiet else definition.start_up
    energy = definition.limits.energy
    if isinstance(virtual, Constrained):
        whole = step * virtual.ticks_per_step
        names = [f"excitation.stage.{i + 1}" for i in range(len(virtual.shifts(whole)))]
        stages = [
            silence(name) if driven is None or quiet else driven.block(name, shift)
            for name, shift in zip(names, virtual.shifts(whole), strict=True)
        ]
        channels_of = tuple(channel for name in names for channel in (name, f"{name}.rate"))
        return [
            shown,
            *stages,
            start_up.block(step, "m", displacement, target, force),
            virtual.block(whole, acts_as, feedback, channels_of),
            plain_coupling(definition, unit),
            energy_error(step, energy.window, energy.floor, target, force, displacement),
        ]
    structure = virtual.block(step, acts_as, feedback)
    if isinstance(definition.coupling, Harmonic):
        coupling = harmonic_blocks(definition, structure, unit, quiet=quiet or cut)
    else:
        coupling = filtered_coupling(definition, unit)
    predicted = getattr(definition.coupling, "force_prediction", None)
    return [
        shown,
        *([] if predicted is None else [predicted.block(step, force)]),
        start_up.block(step, "N", force if predicted is None else numbered(PREDICTED, n), target, displacement),
        structure,
        *coupling,
        energy_error(step, energy.window, energy.floor, target, displacement, force),
    ]


def plain_coupling(definition: Definition, unit: str) -> Block:
    """A coupling that sees target and measurements."""
    assert not isinstance(definition.coupling, Harmonic)
    n = definition.virtual.axes
    measured = (*numbered("measured.displacement", n), *numbered("measured.force", n))
    known: dict[str, Any] = {}
    if isinstance(definition.coupling, NarrowBandTable):
        excitation = definition.excitation
        known["given"] = given_frequency((excitation.specimen, excitation.virtual))
    coupling = with_model_data(definition)
    return coupling.block(definition.timing.step, unit, numbered("target", n), measured, **known)


def filtered_coupling(definition: Definition, unit: str) -> list[Block]:
    """A plain coupling, which sees the measured displacement through a filter if it has one."""
    coupling, n = plain_coupling(definition, unit), definition.virtual.axes
    used = getattr(definition.coupling, "filter", None)
    if used is None:
        return [coupling]
    measured, seen = numbered("measured.displacement", n), numbered(FILTERED, n)
    inputs = tuple(seen[measured.index(name)] if name in measured else name for name in coupling.inputs)
    return [
        used.block(definition.timing.step, "m", measured, numbered("command", n)),
        replace(coupling, inputs=inputs),
    ]


def noisy_sensors(definition: Definition) -> np.ndarray:
    """Which sensors of the interface are known to vary, displacements first: their noise is not lost in rounding."""
    rig, axes = definition.rig, definition.interface
    sensors = getattr(rig, "sensors", None)
    if not isinstance(sensors, Sensors):
        return np.zeros(2 * len(axes))
    parts = [*sensors.of_motion(axes), *sensors.of_force(axes)]
    found = np.array([part.noise > 0.0 and part.noise >= 0.5 * part.resolution for part in parts], dtype=float)
    if getattr(rig, "camera", None) is not None:  # a frame stands until the next one
        found[: len(axes)] = 0.0
    return found


def soft_stop(definition: Definition) -> float:
    """Time in which the rig comes home after a test [s]; one commanded in force always does, as none is safe."""
    given = definition.timing.soft_stop
    return definition.limits.return_time if given == 0.0 and definition.commands == "force" else given


def initial_displacement(virtual: Any) -> np.ndarray:
    """Where the interface stands at the start."""
    if isinstance(virtual, Constrained):
        q = virtual.initial_displacement
        return np.zeros(virtual.axes) if q is None else np.asarray(virtual.constraint @ q)
    return np.asarray(virtual.initial_target(), dtype=float)


def sensing(block: Block) -> Block:
    """A rig's block in a slow test: its sensors are read all the time, and once a tick that becomes a measurement."""
    outputs = tuple(replace(channel, name=channel.name.replace("measured.", "sensed.")) for channel in block.outputs)
    return replace(block, outputs=outputs)


def rig_blocks(
    definition: Definition, x0: np.ndarray, command: tuple[str, ...], *, quiet: bool = False, ideal: bool = False
) -> tuple[list[Block], list[Block]]:
    """The blocks of the definition's own rig on its own step, and those of the end of a tick."""
    rig = definition.rig
    if isinstance(rig, UserRig):
        return [], [rig.block(command, definition.period)]
    return simulated(definition, rig, definition.virtual.axes, x0, command, quiet=quiet, ideal=ideal)


def harmonic_blocks(definition: Definition, structure: Block, unit: str, *, quiet: bool) -> list[Block]:
    """The twin of the virtual substructure, the phase that is followed, and the coupling."""
    assert isinstance(definition.coupling, Harmonic)
    step, n = definition.timing.step, definition.virtual.axes
    known = choice(definition)
    coupling = known.judged(lambda: plant(definition)) if quiet else known.coupling
    phase = coupling.phase_block(step, ("excitation.virtual", "excitation.virtual.rate"))
    return [
        silence("nothing"),
        twin(structure, numbered("feedback", n), "nothing"),
        *([] if phase is None else [phase]),
        coupling.block(
            step,
            unit,
            numbered("target", n),
            numbered("measured.displacement", n),
            numbered("twin", n),
            () if phase is None else ("excitation.phase",),
        ),
    ]


@remembered(maxsize=8)
def choice(definition: Definition) -> Chosen:
    """The harmonic coupling of a definition with everything known, and what of it was chosen."""
    return choose(definition, lambda: plant(definition))


def written_down(definition: Definition) -> Definition:
    """The definition with everything that is chosen for its harmonic coupling written down."""
    return definition.model_copy(update={"coupling": choice(definition).settings})


@remembered(maxsize=8)
def plant(definition: Definition) -> StateSpace:
    """The loop of a definition from the command to the gap, with the model of its rig and without its coupling."""
    loop = build(definition.model_copy(update={"coupling": Direct()}), quiet=True, cut=True)
    loop.run(SETTLING_TICKS)
    return loop_plant(loop, *(definition.interface.channels(name) for name in ("target", "measured.displacement")))


def simulated(
    definition: Definition,
    rig: SimulatedRig | ForceActuated | ForceControlled | ServoHydraulic | Electrodynamic | ShakingTable | AssembledRig,
    n: int,
    x0: np.ndarray,
    command: tuple[str, ...],
    *,
    quiet: bool = False,
    ideal: bool = False,
) -> tuple[list[Block], list[Block]]:
    """The blocks of a simulated rig on its own step, and those of the end of a tick: its sensors."""
    if isinstance(rig, AssembledRig):
        return rig.blocks(definition.period, command, x0)
    step, pushed, axes = definition.period, definition.excitation.specimen, definition.interface
    excitation = silence(EXCITATION, "N") if pushed is None or quiet else pushed.block(EXCITATION)
    if isinstance(rig, ForceActuated | ServoHydraulic | Electrodynamic):
        converted: dict[str, Any] = {} if isinstance(rig, ForceActuated) else {"ideal": quiet or ideal}
        moving = rig.block(command, step, x0, **converted)
        resting = np.array(moving.initial)[: 2 * n]
        sensors = rig.sensors.block(axes, definition.timing.seed, resting, ideal=quiet or ideal, dt=step)
        return [excitation, moving], [sensors]
    if isinstance(rig, ForceControlled):
        return force_controlled(definition, rig, n, x0, command, quiet=quiet, ideal=ideal)
    if isinstance(rig, ShakingTable):
        way, table = rig.blocks(command, step, x0)
        resting = np.array(table.initial[: 2 * n])
        sensors = rig.sensors.block(axes, definition.timing.seed, resting, ideal=quiet or ideal, dt=step)
        return [way, excitation, table], [sensors]
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
    return inner, [rig.sensors.block(axes, definition.timing.seed, resting, ideal=quiet or ideal, dt=step)]


def force_controlled(
    definition: Definition,
    rig: ForceControlled,
    n: int,
    x0: np.ndarray,
    command: tuple[str, ...],
    *,
    quiet: bool,
    ideal: bool,
) -> tuple[list[Block], list[Block]]:
    """A rig in force control: its blocks, load cells, and displacement sensors or camera."""
    period, seed = definition.period, definition.timing.seed
    moving = rig.block(command, period, x0)
    sensors = rig.sensors.block(definition.interface, seed, np.array(moving.initial), ideal=quiet or ideal, dt=period)
    if rig.camera is None:
        return [moving], [sensors]
    seen = channels("camera.displacement", "m", n)
    sensors = replace(sensors, outputs=(*seen, *sensors.outputs[n:]))
    start = np.array(moving.initial[:n])
    frames = rig.camera.block(names(seen), period, start, seed, holds=definition.slow is None, whole=quiet)
    return [moving], [sensors, frames]
