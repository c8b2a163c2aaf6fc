"""Auxiliary channels of a simulated rig: each measures its signal, another channel of the rig, or nothing.

    signal of the channel (an excitation's block) ─┐
    another channel of the rig, in its own unit  ──┴→  block "auxiliary": factor · value  →  measured.NAME

They are measured at the end of a tick, after displacement and force.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from .. import units
from ..contracts.context import Context
from ..contracts.rig import RigBlocks
from ..errors import HalfrealError
from ..kernels.block import Block, Channel
from ..kernels.loop import Loop


def auxiliary_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for i in range(y.size):
        y[i] = p.factor[i] * u[int(p.place[i])] if p.factor[i] != 0.0 else 0.0
    return 0


def with_auxiliary(context: Context, blocks: RigBlocks) -> RigBlocks:
    """The blocks of a rig, with those of the test's auxiliary channels; a quiet loop has none of these."""
    given = context.test.auxiliary
    if not given or context.quiet:
        return blocks
    inner, outer = context.axes.named(blocks.inner, blocks.outer)
    known = dict(written([*inner, *outer]))
    signals: list[Block] = []
    inputs, factors, first = list[str](), list[float](), list[float]()
    for name, one in given.items():
        source, factor, value = "", 0.0, 0.0
        if one.signal is not None:
            block = one.signal.on_channel(one.unit).block(f"rig.auxiliary.{name}")
            outputs = (
                Channel(f"rig.auxiliary.{name}", one.unit),
                Channel(f"rig.auxiliary.{name}.rate", units.per(one.unit, "s")),
            )
            signals.append(replace(block, outputs=outputs))
            source, factor = f"rig.auxiliary.{name}", 1.0
            value = float(Loop([block], dt=context.step).run(1, record=[source]).log[0, 1])
        elif one.reads is not None:
            if one.reads not in known:
                raise HalfrealError(unknown(name, one.reads, list(known)))
            channel, value = known[one.reads]
            try:
                source, factor = one.reads, float(units.factor(channel.unit, one.unit))
            except units.UnitError as error:
                raise HalfrealError(f"auxiliary.{name}: {one.reads} {error}") from error
        inputs.append(source)
        factors.append(factor)
        first.append(factor * value)
    read = list(dict.fromkeys(source for source in inputs if source))
    measured = Block(
        name="auxiliary",
        step=auxiliary_step,
        inputs=tuple(read),
        outputs=context.test.auxiliary_channels,
        parameters={
            "factor": np.array(factors),
            "place": np.array([float(read.index(source)) if source else 0.0 for source in inputs]),
        },
        initial=tuple(first),
    )
    return RigBlocks(blocks.inner, [*blocks.outer, *signals, measured])


def simulated(context: Context) -> list[Block]:
    """The signals of auxiliary channels as if they were measured at every step, for a loop without a rig."""
    found = []
    for name, one in context.test.auxiliary.items():
        if one.signal is not None:
            block = one.signal.on_channel(one.unit).block(f"rig.auxiliary.{name}")
            found.append(replace(block, outputs=(Channel(f"measured.{name}", one.unit), block.outputs[1])))
    return found


def written(blocks: Iterable[Block]) -> Iterable[tuple[str, tuple[Channel, float]]]:
    """Every channel that blocks write, with its value before the first tick."""
    for block in blocks:
        first = (*block.initial, *[0.0] * (len(block.outputs) - len(block.initial)))
        for channel, value in zip(block.outputs, first, strict=True):
            yield channel.name, (channel, value)


def unknown(name: str, reads: str, known: list[str]) -> str:
    near = difflib.get_close_matches(reads, known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"available: {', '.join(known)}"
    return f"auxiliary.{name}.reads: '{reads}' is not a channel of this simulated rig; {hint}"
