"""An excitation that waits until it is released: by the operator in a run, at given times in a rehearsal.

The block "release" writes the time since the last release (−1 before the first) and the number of releases, whose
changes are events in the record.  The blocks of the excitation read that time in the place of the test's.  Blocks
before the guard rest until the test runs, and what was asked for before its first tick does not count: nothing is
released before the test is running.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...contracts.context import Context
from ...kernels.atomic import load_word
from ...kernels.block import Block, Channel
from ...kernels.control import RELEASES as ASKED
from .silence import silence

SINCE, RELEASES = "excitation.time", "excitation.releases"
"""Channels: time since the last release [s], and how many there were."""
NEVER = -1.0
ON_TICK = 1e-9
"""Seconds by which a tick may be early, by rounding, for a release at its time."""


def release_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    if p.words == 0.0:
        for i in range(p.at.size):
            if s.count < i + 1.0 and t >= p.at[i] - p.on_tick:
                s.count, s.last = i + 1.0, min(t, p.at[i])
    else:
        asked = float(load_word(int(p.words) + 8 * ASKED))
        if s.begun == 1.0 and asked != s.asked:
            s.count, s.last = s.count + 1.0, t
        s.asked, s.begun = asked, 1.0
    y[0] = t - s.last if s.count > 0.0 else p.never
    y[1] = s.count
    return 0


def release(at: Sequence[float] | np.ndarray) -> Block:
    """The block "release", with releases at these times [s]; ``words``, once set, is where the operator asks."""
    return Block(
        name="release",
        step=release_step,
        inputs=(),
        outputs=(Channel(SINCE, "s"), Channel(RELEASES, "1")),
        parameters={
            "at": np.asarray(at if len(at) else [np.inf], dtype=float),
            "words": 0.0,
            "on_tick": ON_TICK,
            "never": NEVER,
        },
        state={"count": 0.0, "last": 0.0, "asked": 0.0, "begun": 0.0},
        frozen=("count", "last", "asked", "begun"),
        watched=(RELEASES,),
        initial=(NEVER, 0.0),
    )


def releases(context: Context) -> list[Block]:
    """The block "release" of a loop whose excitation waits for it; none in other loops."""
    at = context.test.excitation.release_at
    return [] if at is None or context.virtual_excitation is None else [release(at)]


def virtual_excitation(context: Context, name: str, shift: float) -> Block:
    """The excitation of the virtual substructure in a loop, by the test's time or by that since its release."""
    driven = context.virtual_excitation
    if driven is None:
        return silence(name)
    return driven.block(name, shift, SINCE) if releases(context) else driven.block(name, shift)
