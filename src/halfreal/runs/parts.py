"""A part of a test's loop on its own, for another program that closes the loop: its blocks, wired as they are there.

======== ===================================================== ============================================
part     blocks                                                reads
======== ===================================================== ============================================
virtual  the virtual substructure                              excitation and its rate, feedback
coupling the coupling, with what it does to the feedback       target, measurements
rig      the simulated rig: actuators, specimen, sensors       command
loop     the whole loop: excitation, guard and all             nothing
======== ===================================================== ============================================

What a part reads and does not write itself, it is given: the block "inputs" shows it to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from ..definition.definition import Definition
from ..errors import HalfrealError
from ..kernels.block import Block, Channel
from ..kernels.loop import Loop
from .build import build, context_of
from .coupled import coupling_blocks

Part = Literal["virtual", "coupling", "rig", "loop"]
PARTS: tuple[Part, ...] = get_args(Part)
INPUTS = "inputs"


class PartError(HalfrealError):
    """A part of a test that cannot stand on its own."""


def inputs_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for i in range(y.size):
        y[i] = s.value[i]
    return 0


def part_of(definition: Definition, part: Part) -> Loop:
    """The loop of this part alone, at its beginning."""
    if definition.slow is not None and part in ("rig", "loop"):
        raise PartError(
            f"part '{part}' of a slow test has no fixed step, because a tick takes as long as the rig needs; export "
            "its virtual substructure or its coupling, or remove [slow]"
        )
    whole = build(definition)
    if part == "loop":
        check_portable(whole.blocks)
        return whole
    context = context_of(definition)
    if part == "rig":
        return _alone(whole, [], whole.inner, whole.outer)
    if part == "virtual":
        made = context.virtual.blocks(context)
    else:
        made = [*definition.coupling.feedback_blocks(context)[0], *coupling_blocks(context)]
    names = {block.name for block in made}
    return _alone(whole, [block for block in whole.controller if block.name in names])


def _alone(whole: Loop, controller: Sequence[Block], inner: Sequence[Block] = (), outer: Sequence[Block] = ()) -> Loop:
    """These blocks of a loop, with a block before them that shows what they are given."""
    blocks = (*controller, *inner, *outer)
    check_portable(blocks)
    written = {channel.name for block in blocks for channel in block.outputs}
    read = list(dict.fromkeys(name for block in blocks for name in block.inputs if name not in written))
    known = {channel.name: channel for channel in whole.channels}
    given = [Channel(name, known[name].unit) for name in read if not name.startswith("loop.")]
    start = np.array([whole.vector[whole.index[channel.name]] for channel in given])
    shown = Block(INPUTS, inputs_step, (), tuple(given), state={"value": start} if given else {})
    return Loop([shown, *controller], inner, outer, dt=whole.dt, substeps=whole.substeps)


def check_portable(blocks: Sequence[Block]) -> None:
    """Raise an error if a block calls what lives in this process alone."""
    foreign = [block.name for block in blocks if block.keeps is not None]
    if foreign:
        raise PartError(
            f"the block '{foreign[0]}' calls a compiled library or an FMU, which is a separate file; use that file "
            "directly, and export parts without it"
        )
