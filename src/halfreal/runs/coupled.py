"""The coupling in the coordinates in which it works, and what stands between them and the actuators.

Most tests have a command for each axis, and then the coupling's blocks are put into the loop as they are.  Passive axes
are kept from it, and with [kinematics] (``halfreal.rigs.kinematics``) it works

    in the pose:       target, measured pose → coupling → pose.asked → strokes → command.asked
    in actuators:      target, measured pose → strokes → coupling → command.asked
"""

from __future__ import annotations

from dataclasses import replace

from pydantic_core import PydanticCustomError

from ..contracts.context import Context, numbered
from ..errors import HalfrealError
from ..kernels.block import Block, Channel, channels
from ..rigs.kinematics import STROKE
from ..values import found_in

TARGET, PLACE, POSE = "target.stroke", "coupling.stroke", "pose.asked"
"""Strokes of the target and of the measured pose; the pose that the coupling requests."""


def commanded(context: Context, signal: str) -> tuple[str, ...]:
    """Channels of a signal of the interface on those axes that are commanded, as blocks count them."""
    found = context.channels(signal)
    return tuple(found[i] for i in context.axes.commanded_at)


def coupling_blocks(context: Context) -> list[Block]:
    """From target and measurements to the asked commands.

    Settings that a coupling chooses itself are looked at here only: what is at odds with them is an error of the test.
    """
    try:
        return _blocks(context)
    except PydanticCustomError as error:
        found = "; ".join(f"{'.'.join(('coupling', *map(str, place)))}: {text}" for place, text in found_in(error))
        raise HalfrealError(found) from None


def _blocks(context: Context) -> list[Block]:
    axes, kinematics, coupling = context.axes, context.test.kinematics, context.test.coupling
    if kinematics is None and not axes.passive:
        return coupling.blocks(context)
    target, place, force = (commanded(context, name) for name in ("target", "measured.displacement", "measured.force"))
    if kinematics is None:
        return _rewired(context, {"target": target, "measured.displacement": place, "measured.force": force})
    if kinematics.coupling_in == "pose":
        asked = numbered(POSE, len(target))
        seen = {"target": target, "measured.displacement": place, "measured.force": force, "command": asked}
        return [*_rewired(context, seen), kinematics.to_strokes("strokes", asked, "command.asked")]
    count = len(kinematics.actuators)
    seen = {"target": numbered(TARGET, count), "measured.displacement": numbered(PLACE, count)}
    if len(force) == count:  # they remain those of the axes
        seen["measured.force"] = force
    return [
        kinematics.to_strokes("target strokes", target, TARGET),
        kinematics.to_strokes("measured strokes", place, PLACE),
        *_rewired(context, seen),
    ]


def _rewired(context: Context, seen: dict[str, tuple[str, ...]]) -> list[Block]:
    """The coupling's blocks, which count along what it works on, with the channels that they see there."""
    axes, kinematics = context.axes, context.test.kinematics
    in_actuators = kinematics is not None and kinematics.coupling_in == "actuators"
    told = replace(context, along=axes.actuators if in_actuators else axes.commanded)
    wires = {name: to for signal, there in seen.items() for name, to in zip(told.channels(signal), there, strict=True)}

    def counted(channel: Channel) -> Channel:
        if channel.signal == "command.asked" and kinematics is not None and not in_actuators:
            name = channel.name.replace("command.asked", POSE, 1)
            return replace(channel, name=name, signal=POSE, of="commanded")
        return replace(channel, of="actuator" if in_actuators else "commanded") if channel.of == "axis" else channel

    made = []
    for block in context.test.coupling.blocks(told):
        if "measured.force" not in seen and set(block.inputs) & set(told.channels("measured.force")):
            raise HalfrealError(
                f"the coupling '{context.test.coupling.kind}' reads measured forces, of {len(axes.commanded)} axes, "
                f"and works on {len(axes.actuators)} actuators; omit kinematics.coupling_in"
            )
        inputs = tuple(wires.get(name, name) for name in block.inputs)
        made.append(replace(block, inputs=inputs, outputs=tuple(counted(one) for one in block.outputs)))
    return made


def measured_pose(context: Context, outer: list[Block]) -> list[Block]:
    """The block that finds the pose of a rig out of the strokes that it measures, if it measures these."""
    kinematics, axes = context.test.kinematics, context.axes
    if kinematics is None or not any(one.signal == STROKE for block in outer for one in block.outputs):
        return []
    place = channels("measured.displacement", "m", len(axes), of="axis")
    at = axes.commanded_at
    strokes = numbered(STROKE, len(kinematics.actuators))
    block = kinematics.to_pose("pose", strokes, tuple(place[i] for i in at))
    return [replace(block, initial=tuple(float(context.start[i]) for i in at))]
