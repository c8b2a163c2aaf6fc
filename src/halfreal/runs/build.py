"""From a definition to the loop that runs.

excitation → start-up → virtual substructure → coupling → [plant] → energy → guard → [record] → rig

Each part gives its own blocks (``halfreal.contracts``); here they are put in order.  A slow test moves the rig between
coupling and guard (``halfreal.safety.slow_motion``).  The rig is one of

    the blocks of the definition's rig: actuator → specimen → sensors                  in this process, simulated
    a link's own blocks (``halfreal.links``)                                           in another process, or real
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import replace

import numpy as np

from ..contracts.axes import Axes
from ..contracts.context import OPEN_LOOP, RUN, Context, Purpose, numbered
from ..contracts.coupling import Coupling
from ..contracts.quantities import UNLIMITED, Commands
from ..contracts.rig import Rig, RigBlocks
from ..contracts.state_space import StateSpace
from ..contracts.virtual import Virtual
from ..couplings.direct import Direct
from ..couplings.harmonic.lti import loop_plant
from ..couplings.start_up import Measured
from ..definition.definition import Definition
from ..definition.user_code import remembered
from ..errors import HalfrealError
from ..kernels.block import Block, Channel, Owner
from ..kernels.loop import GUARD_MODE, Loop, WiringError
from ..kernels.native import is_own
from ..kernels.user import try_out
from ..models.excitations import releases, virtual_excitation
from ..rigs.auxiliary import with_auxiliary
from ..safety.energy_error import energy_error
from ..safety.guard import GuardPlan, Seen, guard
from ..safety.slow_motion import HOLDING
from ..safety.watched import COMMAND_RATE, Watch
from ..settings import shown
from ..sites.client import WAITING
from ..stability.open_loop import PROBE, probe
from .checked_plant import online_blocks
from .coupled import commanded, coupling_blocks, measured_pose

CONTRACTED: dict[str, Owner] = {
    "target": "axis",
    "measured.displacement": "axis",
    "measured.force": "axis",
    "command.asked": "actuator",
}
"""Signals that the contracts of parts ask for, and what they have a channel for each of."""
SETTLING_TICKS = 4
"""Ticks at rest after which every block is past its first call."""


def ticks_alike(definition: Definition, loop: Loop) -> int:
    """Ticks after which a loop does the same again: of a step of its virtual part, and of the rates of its rig."""
    return math.lcm(definition.virtual.ticks_per_step, loop.period)


def needed_to_resume(axes: Axes) -> tuple[str, ...]:
    """Channels without which a slow test cannot be taken up again."""
    measured = (name for signal in ("measured.displacement", "measured.force") for name in axes.channels(signal))
    return (*measured, *axes.actuators.channels("command.asked"), GUARD_MODE, "motion.clock")


def context_of(definition: Definition, purpose: Purpose = RUN) -> Context:
    """What the parts of a definition are told when its loop is built."""
    virtual = definition.virtual.at_rest(definition.rig) if purpose.quiet else definition.virtual
    start = np.asarray(virtual.initial_target(), dtype=float)
    return Context(definition, virtual, start, purpose, lambda: plant(definition))


def build(
    definition: Definition,
    purpose: Purpose = RUN,
    *,
    link: Sequence[Block] = (),
    ticks_before: int | None = None,
) -> Loop:
    """Lay out the loop of a definition.

    The blocks of a ``link`` take the place of the simulated rig.  ``ticks_before`` are the ticks of the soft start,
    those of the definition if left out.
    """
    context = context_of(definition, purpose)
    axes, rig, timing = context.axes, definition.rig, definition.timing
    alone = purpose.alone
    before = 0 if alone else timing.ticks_before if ticks_before is None else ticks_before
    moved = definition.slow is not None and not purpose.cut and not purpose.replayed
    controller = before_the_guard(context)
    if definition.slow is not None and not purpose.cut:
        controller.insert(0, controller.pop())  # the energy of the tick before: its target has been answered only now
    if moved:
        controller.append(motion(context))
    command = numbered("command", len(axes.actuators))
    if purpose.cut:
        controller.insert(0, probe(len(axes.actuators), context.unit))
        command = numbered(PROBE, len(axes.actuators))
    inner, outer = ([], list(link)) if link else rig_blocks(context, command)
    outer += measured_pose(context, outer)
    if moved:
        auxiliary = {channel.name for channel in definition.auxiliary_channels}
        outer = [sensing(block, auxiliary) for block in outer]
    others: list[Channel] = []
    if not alone:
        others = [one for group in axes.named(controller, inner, outer) for block in group for one in block.outputs]
        definition.guarded.check_channels(others, linked=bool(link))
    controller.append(last_guard(context, before, moved, others))
    if purpose.quiet:
        controller, inner, outer = ([as_linearised(block) for block in group] for group in (controller, inner, outer))
    controller, inner, outer = axes.named(controller, inner, outer)
    check_written(axes, [*controller, *inner, *outer])
    return Loop(
        controller,
        inner,
        outer,
        dt=context.step,
        substeps=1 if link else rig.steps_per_tick,
        start=-before,
        end=None if alone else timing.ticks,
        hold=HOLDING if moved else None,
        held_from="virtual" if moved and context.virtual.client_port is not None else None,
    )


def as_linearised(block: Block) -> Block:
    """A block, or what stands in for it where the loop is linearised."""
    return block if block.stand_in is None else block.stand_in()


def rig_blocks(context: Context, command: tuple[str, ...]) -> RigBlocks:
    """The blocks of the test's own rig, with its auxiliary channels."""
    rig = context.test.rig
    answer = rig.blocks(context, command)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise HalfrealError(
            f"rig of kind '{rig.kind}': blocks() gave {shown(answer)}; it must give two lists of blocks"
        )
    return with_auxiliary(context, RigBlocks(*(looked_at("rig", rig, blocks) for blocks in answer)))


def looked_at(place: str, part: Virtual | Coupling | Rig, blocks: Sequence[Block]) -> list[Block]:
    """The blocks that a part gives; those that are not halfreal's own are tried out."""
    if not isinstance(blocks, list | tuple) or not all(isinstance(block, Block) for block in blocks):
        whose = f"{place} of kind '{part.kind}'"
        raise HalfrealError(f"{whose}: blocks() gave {shown(blocks)}; it must give a list of blocks")
    for block in blocks:
        if not is_own(block.step):
            try_out(block)
    return list(blocks)


def check_written(axes: Axes, blocks: Sequence[Block]) -> None:
    """Raise an error if a part has left out what its contract asks for, or has not said what it belongs to."""
    written = {channel.name for block in blocks for channel in block.outputs if channel.of is not None}
    for signal, owner in CONTRACTED.items():
        missing = [name for name in axes.of(owner).channels(signal) if name not in written]
        if missing:
            raise WiringError(
                f"no block writes {', '.join(missing)}; its channels must say what they are counted along, as in "
                f'channels("{signal}", unit, n, of="{owner}")'
            )


def before_the_guard(context: Context) -> list[Block]:
    """Excitation, start-up, virtual substructure, coupling, identified plant, energy error."""
    test, step = context.test, context.step
    coupling = test.coupling
    # while the specimen's stiffness is found out, the excitation waits
    wait = context.virtual.probing_ticks * step
    shown = [*releases(context), virtual_excitation(context, "excitation.virtual", -wait)]
    start_up = Measured() if context.quiet else test.start_up
    signals = ("target", "measured.displacement", "measured.force")
    target, displacement, force = (context.channels(name) for name in signals)
    to_force = context.virtual.targets == "force"
    of_target = force if to_force else displacement
    between, fed_back = coupling.feedback_blocks(context)
    energy = test.limits.energy
    judged = [commanded(context, name) for name in signals]
    if to_force:
        judged = [judged[0], judged[2], judged[1]]
    return [
        *shown,
        *between,
        start_up.block(step, "m" if to_force else "N", fed_back, target, of_target),
        *looked_at("virtual", context.virtual, context.virtual.blocks(context)),
        *looked_at("coupling", coupling, coupling_blocks(context)),
        *online_blocks(context),
        energy_error(step, energy.window, energy.floor, *judged),
    ]


def motion(context: Context) -> Block:
    """The block that moves the rig of a slow test."""
    test, slow = context.test, context.test.slow
    assert slow is not None
    return slow.block(
        context.step,
        context.unit,
        context.channels("command.asked"),
        context.channels("sensed.displacement"),
        context.channels("sensed.force"),
        watch(test)[COMMAND_RATE].trip,
        context.start,
        test.commands,
        begin=begin_force(context),
        fixed=context.quiet,
        axes=context.axes,
        waiting=() if context.virtual.client_port is None else (WAITING,),
    )


def last_guard(context: Context, ticks_before: int, moved: bool, others: Sequence[Channel]) -> Block:
    """The guard of a loop; in a slow test it guards the command on its way.  Limits may name ``others`` to watch."""
    test, purpose = context.test, context.purpose
    axes, kinematics = context.axes, test.kinematics
    asked, aims, place, force = "command.asked", "target", "measured.displacement", "measured.force"
    if moved:
        asked = aims = "motion.command"
        place, force = "motion.displacement", "sensed.force"
    seen = Seen(
        asked=numbered(asked, len(axes.actuators)),
        target=commanded(context, aims),
        displacement=context.channels(place),
        force=context.channels(force),
        energy=numbered("energy.error", len(axes.commanded)),
    )
    return guard(
        test.guarded,
        GuardPlan(
            context.period,
            seen,
            context.start,
            commands=test.commands,
            targets=guarded_targets(test),
            begin=begin_force(context),
            step=context.step,
            duration=UNLIMITED if purpose.alone else test.timing.ticks * context.step,
            soft_start=ticks_before * context.step,
            soft_stop=0.0 if purpose.alone else soft_stop(test),
            axes=axes,
            to_commands=None if kinematics is None else kinematics.strokes_at,
            noisy=None if context.faultless or purpose.cut else test.rig.varying_sensors(context.axes),
            channels=others,
        ),
    )


def begin_force(context: Context) -> np.ndarray | None:
    """The force under which the rig's model stands at the start, if it is commanded in force."""
    rig = context.test.rig
    return rig.rest_command(context.start) if rig.commanded_in == "force" else None


def guarded_targets(definition: Definition) -> Commands:
    """What the guard takes for the target: in a slow test it is the command on its way."""
    return definition.targets if definition.slow is None else definition.commands


def watch(definition: Definition, loop: Loop | None = None) -> Watch:
    """What the guard of a test watches; without its loop, leaving out channels that only limits name."""
    commands, targets, others = definition.commands, guarded_targets(definition), list[Channel]()
    if loop is not None:
        read = set(loop.blocks[loop.row("guard")].inputs)
        others = [channel for channel in loop.channels if channel.name in read]
    return definition.guarded.watched(definition.interface, commands, targets, others)


def soft_stop(definition: Definition) -> float:
    """Time in which the rig comes home after a test [s]; one commanded in force always does, as none is safe."""
    given = definition.timing.soft_stop
    return definition.limits.return_time if given == 0.0 and definition.commands == "force" else given


def sensing(block: Block, auxiliary: Container[str]) -> Block:
    """A rig's block in a slow test: its sensors are read all the time, and once a tick that becomes a measurement.

    ``auxiliary`` channels are what they are all the time.
    """

    def sensed(channel: Channel) -> Channel:
        if channel.name in auxiliary:
            return channel
        name, signal = (one.replace("measured.", "sensed.") for one in (channel.name, channel.signal))
        return replace(channel, name=name, signal=signal)

    return replace(block, outputs=tuple(sensed(channel) for channel in block.outputs))


@remembered(maxsize=8)
def plant(definition: Definition) -> StateSpace:
    """The loop of a definition from the command to the gap, with the model of its rig and without its coupling."""
    loop = build(definition.unchecked_copy({"coupling": Direct()}), OPEN_LOOP)
    loop.run(SETTLING_TICKS)
    return loop_plant(loop, *(definition.interface.channels(name) for name in ("target", "measured.displacement")))
