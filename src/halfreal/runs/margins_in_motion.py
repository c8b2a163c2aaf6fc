"""Margins of a test in motion: the smallest changes of its rig with which a trial is unstable (``in_motion.py``).

Past a loss of stability a motion may stay bounded and turn quasi-periodic, with an exponent of zero.  So a trial counts
as stable where its exponent is clearly below zero, measured by that of the test as defined; but not if the loop has
memory, such as a permanent set, which is neutral where nothing yields any more; memory may come with the change alone.
Where exponents are known, the change at which they are zero is interpolated: for linear loops that is the margin of the
poles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..stability.gain_margins import GainMargins
from ..stability.margins import DelayMargin
from .in_motion import Trial, Trials
from .trial_loop import longest_delay

MOST_GAIN = 10.0
"""Factor on the specimen's force, up and down, up to which margins are searched."""
MOST_LAGS = 10.0
"""Times the rig's lag up to which an additional delay is searched."""
NEUTRAL, DECAYED = 0.02, 0.5
"""Share of the exponent of the test as defined that a trial must keep to be stable, if deviations decay there by so
much, as a logarithm."""
MOST_RISE = 10.0
"""Rise of the exponent, relative to its size before, up to which it is interpolated: beyond, another motion grows."""
DIGITS = 0.02
"""Relative width of the interval in which a margin is interpolated."""


@dataclass(frozen=True)
class MotionMargins:
    """Changes with which the test is no longer stable in motion."""

    delay: float
    """Additional [s]; inf if none was found up to ``searched_delay``, NaN where a delay has no meaning."""
    gain_up: float
    """Factor on the specimen's force above 1; inf if none was found up to ten."""
    gain_down: float
    """Factor below 1; 0 if none was found down to a tenth."""
    searched_delay: float = 0.0
    """Up to which an additional delay was searched [s]."""

    @property
    def gain_margin_db(self) -> float:
        return float(20.0 * np.log10(self.gain_up))

    @property
    def gain_reduction_db(self) -> float:
        """At or below zero; -inf if there is no limit."""
        return float(20.0 * np.log10(self.gain_down)) if self.gain_down > 0.0 else -np.inf


def margins_in_motion(
    trials: Trials,
    lag: float,
    share: float = 0.1,
    gain: float = 2.0**0.5,
    at_rest: DelayMargin | GainMargins | None = None,
) -> MotionMargins:
    """Search the margins of a test in motion.

    Parameters
    ----------
    trials
        The test.
    lag
        Of its rig [s]: delays are searched up to ten times it.
    share, gain
        What is promised, and tried first: an additional delay as a share of the lag, a factor on the specimen's force.
    at_rest
        Margins at rest, near which those in motion are searched next.
    """
    has = max(lag, trials.definition.timing.step)
    most = min(MOST_LAGS * has, longest_delay(trials.loops[0]))
    known = (np.inf, np.inf, np.inf)
    if at_rest is not None:
        known = (
            at_rest.critical_delay if isinstance(at_rest, DelayMargin) else np.inf,
            *(abs(one) * np.log(10.0) / 20.0 for one in (at_rest.gain_margin_db, at_rest.gain_reduction_db)),
        )

    def search(attempt: Callable[[float], Trial], first: float, last: float, rest: float) -> float:
        return first_unstable(trials, attempt, sizes_to_try(first, last, rest))

    delay = np.nan
    if trials.definition.slow is None:
        delay = search(lambda change: trials.attempt(delay=change), max(share, 0.01) * has, most, known[0])
    promised, last = float(np.log(max(gain, 1.01))), float(np.log(MOST_GAIN))
    up = search(lambda change: trials.attempt(gain=float(np.exp(change))), promised, last, known[1])
    down = search(lambda change: trials.attempt(gain=float(np.exp(-change))), promised, last, known[2])
    return MotionMargins(delay, float(np.exp(up)), float(np.exp(-down)), most)


def sizes_to_try(first: float, last: float, at_rest: float) -> list[float]:
    """Sizes of a change, in their order: what is promised, about the margin at rest, the largest."""
    about = [(1.0 - DIGITS / 2.0) * at_rest, (1.0 + DIGITS / 2.0) * at_rest] if at_rest < last else [3.0 * first]
    return [first, *(size for size in sorted(about) if first < size < last), last]


def first_unstable(trials: Trials, attempt: Callable[[float], Trial], sizes: Sequence[float]) -> float:
    """The smallest change with which a trial is unstable: the first of ``sizes``, refined by bisection; inf if none."""
    before, change_before, defined = trials.attempt(), 0.0, trials.attempt()
    if defined.unstable:
        return 0.0
    for size in sizes:
        after = attempt(size)
        if is_lost(after, defined, trials.remembers):
            break
        before, change_before = after, size
    else:
        return np.inf
    while size - change_before > 1.1 * DIGITS * size:
        middle = 0.5 * (change_before + size)
        trial = attempt(middle)
        if is_lost(trial, defined, trials.remembers):
            after, size = trial, middle
        else:
            before, change_before = trial, middle
    rise = after.exponent - before.exponent
    if after.ran_away is not None or not np.isfinite(rise) or not 0.0 < rise < MOST_RISE * abs(before.exponent):
        return 0.5 * (change_before + size)
    return max(float(change_before - before.exponent * (size - change_before) / rise), 0.0)


def is_lost(trial: Trial, defined: Trial, remembers: bool) -> bool:
    """Whether stability is lost in a trial, compared with the test as defined; ``remembers``: the loop has memory."""
    decays = not (remembers or trial.rests) and defined.exponent * defined.duration < -DECAYED
    return trial.unstable or (decays and trial.exponent > NEUTRAL * defined.exponent)
