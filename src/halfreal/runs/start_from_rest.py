"""A loop whose coupling adapts, disturbed a little before its excitation begins: whether it comes to rest again.

With the coefficients of t = 0 such a loop may be unstable, or have too small margins.  What disturbs it then grows
until the coupling sees it, and learns.  That is harmless if the motion stays far below that of the test and dies out.
It is tried on the loop that runs, with a small force at the specimen for half a period of the slowest pole.
"""

from __future__ import annotations

import numpy as np

from ..contracts.context import AT_REST
from ..kernels.tick import FAULT
from .in_motion import MOST_TICKS, Trials
from .trial_loop import change, gain_step, trial_loop

DISTURBANCE, HARMLESS = 1e-4, 0.1
"""Force as a share of its peak in the test; motion as a share of the test's below which it is harmless."""
LEFT = 0.5
"""Share of the largest motion from rest that the last fifth of it may have where it dies out."""
SAMPLES, DECADES = 500, 8.0
"""Of such a trial, and powers of ten by which the slowest pole would grow or decay in it: half of them until the
coupling sees the motion even if a change of the rig halves the growth."""


def comes_to_rest(trials: Trials, *, delay: float = 0.0, gain: float = 1.0) -> bool:
    """Whether motion from rest stays harmless and dies out, with the rig later and its force times a gain."""
    moving, axes = trials.loops[0], trials.definition.interface
    peaks = [trials.peaks[[moving.index[name] for name in axes.channels(one)]] for one in ("target", "measured.force")]
    moved, force = peaks
    if not (moved > 0.0).all() or not np.isfinite(np.concatenate(peaks)).all():
        return False
    loop = trial_loop(trials.definition, AT_REST)
    change(loop, delay=delay, gain=gain)
    for block in loop.blocks:
        if block.step is gain_step:
            loop.state(block.name)["offset"] = DISTURBANCE * force
    loop.settle(1, half_period(trials))
    for block in loop.blocks:
        if block.step is gain_step:
            loop.state(block.name)["offset"] = 0.0
    places = [loop.index[name] for name in axes.channels("target")]
    path = np.zeros((SAMPLES, len(places)))
    every = max(ticks_from_rest(trials) // SAMPLES, 1)
    for row in path:
        loop.settle(1, every)
        row[:] = loop.vector[places]
        if loop.vector[FAULT] != 0.0 or not np.all(np.abs(row) < HARMLESS * moved):
            return False
    last = np.ptp(path[-SAMPLES // 5 :], axis=0)
    return bool(np.all(last <= LEFT * np.ptp(path, axis=0)))


def half_period(trials: Trials) -> int:
    """Of the slowest pole at rest [ticks]; one tick if it does not turn."""
    turns = abs(trials.slowest.imag)
    return max(round(np.pi / turns / trials.definition.timing.step), 1) if turns > 0.0 else 1


def ticks_from_rest(trials: Trials) -> int:
    """For which motion from rest is followed."""
    rate = abs(trials.slowest.real)
    wanted = DECADES * np.log(10.0) / max(rate, 1e-9) / trials.definition.timing.step
    return int(max(trials.ticks, min(wanted, MOST_TICKS)))
