"""An adaptive loop with the coefficients that it reaches in its rehearsal, each held: its poles and margins there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..contracts.context import AT_REST, OPEN_LOOP, Purpose
from ..definition.definition import Definition
from ..errors import HalfrealError
from ..kernels.loop import GUARD_MODE, Loop
from ..stability.linearise import Linearisation
from ..stability.margins import DelayMargin, delay_margin
from ..stability.open_loop import open_loop
from .build import SETTLING_TICKS, build
from .loop_stability import linearised, without_margins

TIMES = 4
"""At which coefficients are taken, the end of the test being the last."""
MANY_STATES = 1000
"""Entries of a loop's vector from which on margins are computed at the end of the test alone."""
ALIKE = 1e-6
"""Distance of poles up to which coefficients have not moved them."""


@dataclass(frozen=True)
class Adapted:
    """The loop with the coefficients reached at a time [s], held."""

    time: float
    linearisation: Linearisation
    margin: DelayMargin | None
    """None if it is unstable, if the poles are those at the beginning, or if it is not known."""
    moved: bool
    """Whether the poles differ from those with the coefficients at the beginning."""


def adapted(definition: Definition, first: Linearisation) -> tuple[Adapted, ...]:
    """The loop with coefficients reached in the rehearsal; ``first`` is with those at the beginning.

    None of a loop that does not adapt, nor after a trip.
    """
    ran = build(definition)
    if not any(block.held for block in ran.blocks):
        return ()
    found, ticks = [], definition.timing.ticks
    for part in range(1, TIMES + 1):
        ran.run(part * ticks // TIMES - int(ran.vector[0]))
        if GUARD_MODE in ran.index and ran.vector[ran.index[GUARD_MODE]] != 0.0 and part < TIMES:
            break
        there = as_adapted(definition, ran)
        if there is None:
            break
        moved = not _alike(first.eigenvalues, there.eigenvalues)
        wanted = moved and there.stable and (part == TIMES or ran.vector.size < MANY_STATES)
        found.append(Adapted(ran.time, there, _margin(definition, ran) if wanted else None, moved))
    return tuple(found)


def as_adapted(definition: Definition, ran: Loop) -> Linearisation | None:
    """The loop linearised with what its adaptive blocks have come to in ``ran``; None if it has none."""
    loop = _with_coefficients(definition, ran, AT_REST)
    return None if loop is None else linearised(definition, loop)


def _margin(definition: Definition, ran: Loop) -> DelayMargin | None:
    """Margins of the open loop with the same coefficients."""
    cut = None if without_margins(definition) else _with_coefficients(definition, ran, OPEN_LOOP)
    if cut is None:
        return None
    cut.run(SETTLING_TICKS)
    try:
        return delay_margin(open_loop(cut))
    except HalfrealError:
        return None


def _with_coefficients(definition: Definition, ran: Loop, purpose: Purpose) -> Loop | None:
    """A loop with what the adaptive blocks of ``ran`` have come to; None if it has none."""
    loop = build(definition, purpose)
    running = {block.name: block.step for block in ran.blocks}
    adaptive = [block for block in loop.blocks if block.held and running.get(block.name) is block.step]
    for block in adaptive:
        mine, theirs = loop.state(block.name), ran.state(block.name)
        for name in block.frozen:
            mine[name] = theirs[name]
    return loop if adaptive else None


def _alike(some: np.ndarray, others: np.ndarray) -> bool:
    """Whether poles are the same, in any order."""
    return some.size == others.size and bool(np.all(np.abs(some[:, None] - others).min(axis=1) < ALIKE))
