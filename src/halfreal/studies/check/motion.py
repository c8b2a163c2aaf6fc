"""A test in motion: as it is defined, with what its acceptance promises, and at its margins.

Of a loop that is proven linear the poles and margins at rest hold in any motion.  Every other loop is tried
(``runs/in_motion.py``): nonlinear laws, friction, saturation, ranges of sensors, adaptive couplings, slow tests, users'
code and FMUs.  An acceptance of 3 dB and 10 % promises that the test stays stable with a specimen of 1.41 and of 0.71
times the force, and with a rig that is 10 % later: each is rehearsed.  The margins in motion are searched where that
takes no longer than a check may; where a promise is not kept, the margin is always searched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...definition.acceptance import OFF
from ...definition.definition import Definition
from ...runs.in_motion import Trial, Trials, trials_of
from ...runs.lag_in_motion import lag_in_motion
from ...runs.loop_stability import LoopStability, finite
from ...runs.margins_in_motion import MotionMargins, first_unstable, is_lost, margins_in_motion
from ...runs.rehearse import Progress
from ...runs.run import InMotion
from ...runs.trial_loop import trial_loop

MUCH_WORK, MOST_WORK = 2e6, 1e7
"""Ticks times states of a trial from which on margins in motion are not searched where the promises are kept."""
TRIALS = 20
"""About how many trials a search for margins takes."""


@dataclass(frozen=True)
class Promise:
    """A change of the rig that the acceptance of a test promises to tolerate, and what became of it."""

    name: str
    """Of the setting of [acceptance]."""
    trial: Trial
    kept: bool
    margin: float | None = None
    """Where it is not kept: the change up to which the test is stable, a factor or an additional delay [s]."""

    def within(self, share: float) -> tuple[float, float]:
        """Additional delay [s] and factor at a share of the margin."""
        if self.margin is None:
            return share * self.trial.delay, self.trial.gain**share
        return (share * self.margin, 1.0) if self.trial.delay > 0.0 else (0.0, self.margin**share)


@dataclass(frozen=True)
class Motion:
    """What is known of a test in motion."""

    trials: Trials
    lag: float
    """Of the rig [s], of which the acceptance allows a share more."""
    promises: tuple[Promise, ...] = ()
    margins: MotionMargins | None = None
    """None where they were not searched."""
    worst: Trial | None = None
    """The worst case of the uncertain numbers."""

    @property
    def defined(self) -> Trial:
        """The test as it is defined."""
        return self.trials.attempt()

    def for_the_record(self, unit: str) -> InMotion:
        """What a run file keeps of it; ``unit`` is that of the target."""
        found = self.margins
        return InMotion(
            self.defined.summary(unit),
            finite(self.defined.exponent),
            None if found is None else finite(found.delay),
            None if found is None else finite(found.gain_margin_db),
            None if found is None else finite(found.gain_reduction_db),
        )

    @cached_property
    def duration(self) -> float:
        """Of a trial [s]."""
        return float(self.trials.ticks * self.trials.definition.timing.step)


def study_motion(
    definition: Definition, stability: LoopStability, worst: Definition | None, on_progress: Progress | None = None
) -> Motion | None:
    """Try a test in motion; ``worst`` is the worst case of its uncertain numbers.  None if it cannot be repeated."""
    report = on_progress or (lambda done, total: None)
    trials, lag = trials_of(definition, stability), stability.rig_lag
    if lag is None and stability.poles_unknown:
        lag = lag_in_motion(definition, trial_loop(definition))
    lag = lag or definition.timing.step
    motion = Motion(trials, lag)
    if not trials.repeatable:
        return None
    if motion.defined.unstable:
        return motion
    report(1, TRIALS)
    promises = []
    for name, delay, gain in promised(definition, lag):
        promises.append(keep_promise(trials, name, delay, gain, search=trials.work <= MOST_WORK))
        report(len(promises) + 1, TRIALS)
    margins = None
    if all(one.kept for one in promises) and trials.work <= MUCH_WORK:
        share, factor = definition.acceptance.least("delay_margin"), required_gain(definition)
        margins = margins_in_motion(trials, lag, share, factor, stability.gains)
    tried = None if worst is None else trials_of(worst, stability).attempt()
    return replace(motion, promises=tuple(promises), margins=margins, worst=tried)


def required_gain(definition: Definition) -> float:
    """Factor on the specimen's force, up and down, that the acceptance promises to tolerate; 1 if none."""
    return float(10.0 ** (definition.acceptance.least("gain_margin") / 20.0))


def promised(definition: Definition, lag: float) -> list[tuple[str, float, float]]:
    """Changes that the acceptance of a test promises: name, additional delay [s], factor on the specimen's force."""
    asked, found = definition.acceptance, []
    factor, share = required_gain(definition), asked.least("delay_margin")
    if asked.gain_margin != OFF and factor > 1.0:
        found += [("gain_margin", 0.0, factor), ("gain_margin", 0.0, 1.0 / factor)]
    if asked.delay_margin != OFF and share > 0.0 and definition.slow is None:
        found.append(("delay_margin", share * lag, 1.0))
    return found


def keep_promise(trials: Trials, name: str, delay: float, gain: float, search: bool = True) -> Promise:
    """Try a change that was promised; where stability is lost, ``search`` up to where it is kept."""
    trial = trials.attempt(delay=delay, gain=gain)
    if not is_lost(trial, trials.attempt(), trials.remembers):
        return Promise(name, trial, kept=True)
    if not search:
        return Promise(name, trial, kept=False)
    if delay > 0.0:
        return Promise(name, trial, False, first_unstable(trials, lambda change: trials.attempt(delay=change), [delay]))
    sign, size = np.sign(np.log(gain)), abs(float(np.log(gain)))
    found = first_unstable(trials, lambda change: trials.attempt(gain=float(np.exp(sign * change))), [size])
    return Promise(name, trial, False, float(np.exp(sign * found)))
