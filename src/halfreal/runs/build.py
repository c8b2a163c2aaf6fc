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
from typing import NamedTuple

import numpy as np

from ..contracts.axes import Axes
from ..contracts.client_port import GOAL, WAITING
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
from ..kernels.loop import GUARD_MODE, Loop
from ..kernels.memory import WiringError
from ..kernels.native import is_own
from ..kernels.user import try_out
from ..models.excitations import releases, virtual_excitation
from ..rigs.auxiliary import with_auxiliary
from ..safety.energy_error import energy_error
from ..safety.guard import Goal, GuardPlan, Seen, guard
from ..safety.slow_motion import HOLDING
from ..safety.watched import COMMAND, COMMAND_RATE, Watch
from ..settings import shown
from ..stability.open_loop import PROBE, probe
from .alike import laid_out, once, settled
from .checked_plant import online_blocks
from .coupled import commanded, coupling_blocks, measured_pose

CONTRACTED: dict[str, Owner] = {
    "target": "axis",
    "measured.displacement": "axis",
    "measured.force": "axis",
    "command.asked": "actuator",
}
"""Signals that the contracts of parts ask for, and what they have a channel for each of."""
STALE = "link.stale"
"""Channel that is not zero while measurements of a rig behind a link are missing."""
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
    """What the parts of a definition receive when its loop is built."""
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
    """Build the loop of a definition.

    Parameters
    ----------
    definition
        The test.
    purpose
        Variant of the loop, such as without noise or cut at the command; default: the loop that runs.
    link
        Blocks that replace the simulated rig.
    ticks_before
        Ticks of the soft start; default: those of the definition.

    Returns
    -------
    Loop
        Compiled blocks in their order.
    """
    context = settled(context_of(definition, purpose))
    axes, rig, timing = context.axes, definition.rig, definition.timing
    alone = purpose.alone
    before = 0 if alone else timing.ticks_before if ticks_before is None else ticks_before
    moved = definition.slow is not None and not purpose.cut and not purpose.replayed
    controller = before_the_guard(context)
    if definition.slow is not None and not purpose.cut:
        controller.insert(0, controller.pop())  # the energy of the tick before: its target has been answered only now
    stale = (STALE,) if any(one.name == STALE for block in link for one in block.outputs) else ()
    if moved:
        controller.append(motion(context, stale))
    command = numbered("command", len(axes.actuators))
    if purpose.cut:
        controller.insert(0, probe(len(axes.actuators), context.unit))
        command = numbered(PROBE, len(axes.actuators))
    inner, outer = RigBlocks([], list(link)) if link else once("rig", context, rig_blocks, command, of=rig)
    outer = [*outer, *measured_pose(context, outer)]
    if moved:
        auxiliary = {channel.name for channel in definition.auxiliary_channels}
        outer = [sensing(block, auxiliary) for block in outer]
    others: tuple[Channel, ...] = ()
    if not alone:
        before_it = (*controller, *inner, *outer)
        others = tuple(axes.named_channel(one) for block in before_it for one in block.outputs)
        definition.guarded.check_channels(others, linked=bool(link))
    noisy = None if context.faultless or purpose.cut else rig.varying_sensors(axes)
    controller.append(once("guard", context, last_guard, before, moved, others, noisy, begin_force(context), stale))
    if purpose.quiet:
        controller, inner, outer = ([as_linearised(block) for block in group] for group in (controller, inner, outer))
    timed = Timed(
        dt=context.step,
        substeps=1 if link else rig.steps_per_tick,
        start=-before,
        end=None if alone else timing.ticks,
        hold=HOLDING if moved else STALE if stale else None,
        held_from=held_from(context, moved, bool(stale)),
    )
    first, second = len(controller), len(controller) + len(inner)

    def lay_out(blocks: list[Block]) -> Loop:
        check_written(axes, blocks)
        return Loop(blocks[:first], blocks[first:second], blocks[second:], **timed._asdict())

    blocks = [*controller, *inner, *outer]
    return laid_out((purpose, axes, first, second, timed), blocks, lambda: axes.named(blocks)[0], lay_out)


def held_from(context: Context, moved: bool, stale: bool) -> str | None:
    """The block from which on a loop runs while its tick is held, if it is not the one that holds it."""
    if moved:
        return None if context.virtual.client_port is None else "virtual"
    return "guard" if stale else None


class Timed(NamedTuple):
    """When the blocks of a loop are run, in addition to their order."""

    dt: float
    substeps: int
    start: int
    end: int | None
    hold: str | None
    held_from: str | None


def as_linearised(block: Block) -> Block:
    """A block, or what replaces it where the loop is linearised."""
    return block if block.stand_in is None else block.stand_in()


def rig_blocks(context: Context, command: tuple[str, ...]) -> RigBlocks:
    """The blocks of the test's own rig, with its auxiliary channels."""
    rig = context.test.rig
    answer = rig.blocks(context, command)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise HalfrealError(
            f"rig of kind '{rig.kind}': blocks() returned {shown(answer)}; it must return two lists of blocks"
        )
    return with_auxiliary(context, RigBlocks(*(looked_at("rig", rig, blocks) for blocks in answer)))


def looked_at(place: str, part: Virtual | Coupling | Rig, blocks: Sequence[Block]) -> list[Block]:
    """The blocks that a part gives; those that are not halfreal's own are tried out."""
    if not isinstance(blocks, list | tuple) or not all(isinstance(block, Block) for block in blocks):
        whose = f"{place} of kind '{part.kind}'"
        raise HalfrealError(f"{whose}: blocks() returned {shown(blocks)}; it must return a list of blocks")
    for block in blocks:
        if not is_own(block.step):
            try_out(block)
    return list(blocks)


def check_written(axes: Axes, blocks: Sequence[Block]) -> None:
    """Raise an error if a part has left out what its contract requests, or has not said what it belongs to."""
    written = {channel.name for block in blocks for channel in block.outputs if channel.of is not None}
    for signal, owner in CONTRACTED.items():
        missing = [name for name in axes.of(owner).channels(signal) if name not in written]
        if missing:
            raise WiringError(
                f"no block writes {', '.join(missing)}; its channels must state what they are counted along, e.g. "
                f'channels("{signal}", unit, n, of="{owner}")'
            )


def before_the_guard(context: Context) -> list[Block]:
    """Excitation, start-up, virtual substructure, coupling, identified plant, energy error."""
    test, coupling = context.test, context.test.coupling
    # while the specimen's stiffness is found out, the excitation waits
    wait = context.virtual.probing_ticks * context.step
    between, fed_back = once("feedback", context, coupling.feedback_blocks, of=coupling)
    return [
        *once("excitation", context, excitation_blocks, wait, of=test.excitation.virtual),
        *between,
        once("start-up", context, start_up_block, fed_back),
        *once("virtual", context, virtual_blocks, of=context.virtual),
        *looked_at("coupling", coupling, once("coupling", context, coupling_blocks, of=coupling)),
        *online_blocks(context),
        once("energy", context, energy_block),
    ]


def excitation_blocks(context: Context, wait: float) -> list[Block]:
    """What drives the virtual substructure, and when it begins."""
    return [*releases(context), virtual_excitation(context, "excitation.virtual", -wait)]


def start_up_block(context: Context, fed_back: tuple[str, ...]) -> Block:
    """The block that chooses what the virtual substructure is given at the start."""
    start_up = Measured() if context.quiet else context.test.start_up
    to_force = context.test.targets == "force"
    of_target = context.channels("measured.force" if to_force else "measured.displacement")
    return start_up.block(context.step, "m" if to_force else "N", fed_back, context.channels("target"), of_target)


def energy_block(context: Context) -> Block:
    """The block that sums up the energy error."""
    displacement, force = "measured.displacement", "measured.force"
    to_force = context.test.targets == "force"
    judged = ("target", force, displacement) if to_force else ("target", displacement, force)
    energy = context.test.limits.energy
    return energy_error(context.step, energy.window, energy.floor, *(commanded(context, name) for name in judged))


def virtual_blocks(context: Context) -> list[Block]:
    """The blocks of the virtual substructure."""
    return looked_at("virtual", context.virtual, context.virtual.blocks(context))


def motion(context: Context, stale: tuple[str, ...]) -> Block:
    """The block that moves the rig of a slow test, but not while measurements are ``stale``."""
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
        stale=stale,
    )


def last_guard(
    context: Context,
    ticks_before: int,
    moved: bool,
    others: Sequence[Channel],
    noisy: np.ndarray | None,
    begin: np.ndarray | None,
    stale: tuple[str, ...],
) -> Block:
    """The guard of a loop; in a slow test it guards the command on its way.  Limits may name ``others`` to watch.

    ``noisy`` are the sensors that are known to vary, ``begin`` the force of ``begin_force``, ``stale`` the channel that
    shows that measurements are missing.
    """
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
        goals=goals(context, moved),
    )
    return guard(
        test.guarded,
        GuardPlan(
            context.period,
            seen,
            context.start,
            commands=test.commands,
            targets=guarded_targets(test),
            begin=begin,
            step=context.step,
            duration=UNLIMITED if purpose.alone else test.timing.ticks * context.step,
            soft_start=ticks_before * context.step,
            soft_stop=0.0 if purpose.alone else soft_stop(test),
            axes=axes,
            to_commands=None if kinematics is None else kinematics.strokes_at,
            noisy=noisy,
            channels=others,
            stale="".join(stale),
        ),
    )


def goals(context: Context, moved: bool) -> tuple[Goal, ...]:
    """Values that commands and targets are on their way to: of a slow test, and of a client in real time."""
    test, plain = context.test, context.test.kinematics is None
    if moved:
        names = numbered("command.asked", len(context.axes.actuators))
        quantities = (COMMAND, "target") if plain else (COMMAND,)
    elif context.virtual.client_port is not None and test.slow is None:
        names = commanded(context, GOAL)
        quantities = (COMMAND, "target") if plain and test.commands == "displacement" else ("target",)
    else:
        return ()
    return tuple(Goal(name, one, i) for one in quantities for i, name in enumerate(names))


def begin_force(context: Context) -> np.ndarray | None:
    """The force under which the rig's model is at the start, if it is commanded in force."""
    rig = context.test.rig
    return rig.rest_command(context.start) if rig.commanded_in == "force" else None


def guarded_targets(definition: Definition) -> Commands:
    """What the guard takes for the target: in a slow test it is the command on its way."""
    return definition.targets if definition.slow is None else definition.commands


def watch(definition: Definition, loop: Loop | None = None) -> Watch:
    """What the guard of a test watches; without its loop, leaving out channels that only limits name."""
    others: tuple[Channel, ...] = ()
    if loop is not None:
        read = set(loop.blocks[loop.row("guard")].inputs)
        others = tuple(channel for channel in loop.channels if channel.name in read)
    return once("watch", context_of(definition), watched, others)


def watched(context: Context, others: Sequence[Channel]) -> Watch:
    """What the guard watches, and of ``others`` those that have limits."""
    test = context.test
    return test.guarded.watched(context.axes, test.commands, guarded_targets(test), others)


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
