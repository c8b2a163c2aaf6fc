"""An excitation that waits until it is released: by the operator in a run, at given times in a rehearsal, and in both
by an auxiliary channel of the rig, once, when that rises through a threshold.

The block "release" writes the time since the last release (−1 before the first) and the number of releases, whose
changes are events in the record.  The blocks of the excitation read that time in the place of the test's.  Blocks
before the guard rest until the test runs, and what was requested before its first tick does not count: nothing is
released before the test is running, and a push-button that is held from before has to be let go first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...contracts.context import Context
from ...kernels.atomic import load_word
from ...kernels.block import Block, Channel
from ...kernels.control import RELEASES as ASKED
from .silent import silence

SINCE, RELEASES = "excitation.time", "excitation.releases"
"""Channels: time since the last release [s], and how many there were."""
NEVER = -1.0
ON_TICK = 1e-9
"""Seconds by which a tick may be early, by rounding, for a release at its time."""


def release_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    if p.words == 0.0:
        for i in range(p.at.size):
            if s.timed < i + 1.0 and t >= p.at[i] - p.on_tick:
                s.count, s.timed, s.last = s.count + 1.0, i + 1.0, min(t, p.at[i])
    else:
        asked = float(load_word(int(p.words) + 8 * ASKED))
        if s.begun == 1.0 and asked != s.asked:
            s.count, s.last = s.count + 1.0, t
        s.asked, s.begun = asked, 1.0
    if u.size > 0:
        pressed = u[0] >= p.threshold
        if pressed and s.armed == 1.0:
            s.count, s.last, s.armed = s.count + 1.0, t, 2.0
        elif not pressed and s.armed == 0.0:
            s.armed = 1.0
    y[0] = t - s.last if s.count > 0.0 else p.never
    y[1] = s.count
    return 0


def release(at: Sequence[float] | np.ndarray, by: str | None = None, threshold: float = 0.0) -> Block:
    """The block "release", with releases at these times [s]; ``words``, once set, is where the operator asks.

    The channel ``by`` releases, too, the first time that it rises to the ``threshold``.
    """
    state = dict.fromkeys(("count", "timed", "last", "asked", "begun", "armed"), 0.0)
    return Block(
        name="release",
        step=release_step,
        inputs=() if by is None else (by,),
        outputs=(Channel(SINCE, "s"), Channel(RELEASES, "1")),
        parameters={
            "at": np.asarray(at if len(at) else [np.inf], dtype=float),
            "words": 0.0,
            "on_tick": ON_TICK,
            "never": NEVER,
            "threshold": threshold,
        },
        state=state,
        frozen=tuple(state),
        watched=(RELEASES,),
        initial=(NEVER, 0.0),
    )


def releases(context: Context) -> list[Block]:
    """The block "release" of a loop whose excitation waits for it; none in other loops."""
    given = context.test.excitation
    if not given.waits or context.virtual_excitation is None:
        return []
    at: Sequence[float] | np.ndarray = () if given.release_at is None else given.release_at
    if given.release_by is None:
        return [release(at)]
    by = given.release_by
    return [release(at, f"measured.{by.channel}", by.on_channel(context.test.auxiliary[by.channel].unit))]


def virtual_excitation(context: Context, name: str, shift: float) -> Block:
    """The excitation of the virtual substructure in a loop, by the test's time or by that since its release."""
    driven = context.virtual_excitation
    if driven is None:
        return silence(name)
    if driven.reads is not None:
        driven = driven.on_channel(context.test.auxiliary[driven.reads].unit)
    return driven.block(name, shift, SINCE) if releases(context) else driven.block(name, shift)
