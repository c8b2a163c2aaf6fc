"""What becomes of a simulated test as it is defined, and with what its acceptance promises; and which verdict is right.

A motion is judged over minutes: it runs away, it grows, it settles on what repeats with its excitation, or it remains
bounded without settling (self-excited, or chaotic as clearances are).  Bad is a test that runs away or grows as it is
defined, or with what is promised, in motion or from rest; good is one that settles in all of these, and somewhat beyond
the promises, and from twice its largest motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .force import ForceSimulation
from .force import lag as lag_of_force
from .harmonic import HarmonicSimulation
from .simulate import Simulation, Test
from .slow import SlowSimulation
from .ticks import FIRST_ORDER, SECOND_ORDER

GAIN, DELAY = 10.0 ** (3.0 / 20.0), 0.1
"""What [acceptance] promises by default: factor on the specimen's force, up and down; share of the rig's lag."""
BEYOND_GAIN, BEYOND_DELAY = 1.5, 1.2
"""What a good test tolerates: the factor, and times the promised delay."""
AMPLITUDE = 2.0
"""Times the largest motion from which free motion must decay."""
SMALL = 1e-4
"""Times the excitation, for motion at rest."""
SECONDS, LONGER, CYCLES = 60.0, 4, 60
"""Of a simulation; times that where the first shows nothing clear; and cycles at least."""
MOST = 100.0
"""Displacement [m] beyond which a motion has run away."""
WINDOWS = 12
GREW = 2.0
"""Growth of free motion from the second window to the last, as a factor, from which on it grows, if only to a cycle."""
NEUTRAL = 1e-6
"""Growth or decay of a pole [1/s] that is lost in rounding."""
RUNS_AWAY, GROWS, SETTLES, BOUNDED = "runs away", "grows", "settles", "bounded"
BAD = (RUNS_AWAY, GROWS)


def lag(test: Test) -> float:
    """From a slow command to the motion [s], in force control to the force; a tick where a drive is commanded."""
    if test.force is not None:
        return lag_of_force(test)
    if test.drive is not None:
        return test.step
    own = max(test.delay, test.step)
    if test.actuator == FIRST_ORDER:
        return own + test.dynamics[0]
    return own + test.dynamics[1] / (np.pi * test.dynamics[0]) if test.actuator == SECOND_ORDER else own


def simulation(test: Test, late: float = 0.0) -> Simulation | SlowSimulation | ForceSimulation | HarmonicSimulation:
    """A test with its rig later, from rest."""
    if test.force is not None:
        return ForceSimulation(test, late)
    if test.drive is not None:
        return HarmonicSimulation(test, late)
    return SlowSimulation(test) if test.slow else Simulation(test, late)


def outcome(test: Test, late: float = 0.0, gain: float = 1.0, size: float = 1.0) -> tuple[str, float]:
    """What becomes of a test with its rig later, its specimen's force times a gain, and its excitation times a size;
    and the largest displacement [m]."""
    if test.linear:
        return by_poles(test, late, gain), 0.0
    force, *shape = test.excitation
    changed = test.but(gain=test.gain * gain, excitation=(size * force, *shape))
    simulated = simulation(changed, late)
    period = round(1.0 / (shape[0] * test.step)) if shape[2] == 0.0 else 0
    seconds = max(SECONDS, CYCLES * period * test.step)
    found, peak = _part(simulated, seconds, period, shape[2])
    if found == BOUNDED:
        found, more = _part(simulated, LONGER * seconds, period, 0.0)
        peak = max(peak, more)
    return found, peak


def by_poles(test: Test, late: float, gain: float) -> str:
    """Of a linear test, whose growth is that of its slowest pole."""
    radius = np.abs(simulation(test.but(gain=test.gain * gain), late).poles()).max()
    rate = float(np.log(radius)) / test.step
    return GROWS if rate > NEUTRAL else SETTLES if rate < -NEUTRAL else BOUNDED


def _part(simulated: Any, seconds: float, period: int, skip: float) -> tuple[str, float]:
    ticks = int(seconds / simulated.test.step)
    motion = simulated.run(ticks)
    n = motion.shape[1] // 2
    peak = float(np.max(np.abs(motion[:, :n])))
    if len(motion) < ticks or not peak < MOST:
        return RUNS_AWAY, peak
    found = [_trend(one, period, int(skip / simulated.test.step)) for one in motion[:, :n].T]
    return next(one for one in (GROWS, BOUNDED, SETTLES) if one in found), peak


def _trend(z: np.ndarray, period: int, skip: int) -> str:
    """Whether the part of a motion that does not repeat with its excitation grows or decays, or the motion itself."""
    whole = z[skip:]
    if period:
        count = (len(whole) - 3 * period) // WINDOWS
        left = np.array([
            min(np.abs(w[m * period :] - w[: -m * period]).max() for m in (1, 2, 3))
            for w in (whole[i * count : (i + 1) * count + 3 * period] for i in range(WINDOWS))
        ])  # fmt: skip
    else:
        left = np.array([np.ptp(part) for part in np.array_split(whole, WINDOWS)])
    peaks = np.array([np.abs(part).max() for part in np.array_split(whole, WINDOWS)])
    largest = np.abs(z).max()
    if (
        left[-1] < 1e-6 * largest
        or (left[-1] < 1e-3 * largest and left[-1] < 0.9 * left[5])
        or left[-1] < 0.3 * left[5]
    ):
        return SETTLES
    if not period and left[-1] > GREW * left[1]:
        return GROWS
    for size in (peaks, left) if not period else (peaks,):
        before, middle, last = size[5], size[8], size[11]
        if middle > 1.01 * before and last > 1.01 * middle and last - middle > 0.7 * (middle - before):
            return GROWS
    return BOUNDED


@dataclass(frozen=True)
class Judged:
    """What an independent simulation shows of a test."""

    nominal: str
    promised: dict[str, str]
    beyond: dict[str, str]
    peak: float

    @property
    def bad(self) -> bool:
        return self.nominal in BAD or any(one in BAD for one in self.promised.values())

    @property
    def good(self) -> bool:
        return all(one == SETTLES for one in (self.nominal, *self.promised.values(), *self.beyond.values()))

    @property
    def text(self) -> str:
        told = [f"{name}: {one}" for name, one in (self.promised | self.beyond).items() if one != SETTLES]
        return "; ".join([f"as defined: {self.nominal}", *told])


def judge(test: Test, seconds: float) -> Judged:
    """Simulate a test of so many seconds as it is defined and with what is promised; beyond that where all settle.

    A coupling that adapts keeps at the end of the test what it has learnt.
    """
    share = DELAY * lag(test)
    nominal, peak = outcome(test)
    if nominal in BAD:
        return Judged(nominal, {}, {}, peak)
    promised = {name: outcome(test, late, gain)[0] for name, late, gain in changes(test, GAIN, share)}
    quiet = test if test.drive else test.but(excitation=(test.excitation[0], 0.0, 0.0, 0.5 / frequency(test)))
    at_rest = not (test.linear or test.slow)  # a slow test has no motion below the tolerance of its rig
    if at_rest and not any(one in BAD for one in promised.values()):
        for name, late, gain in (("", 0.0, 1.0), *changes(test, GAIN, share)):
            promised[f"small motion {name}".rstrip()] = outcome(quiet, late, gain, SMALL)[0]
    if nominal != SETTLES or any(one != SETTLES for one in promised.values()):
        return Judged(nominal, promised, {}, peak)
    more = changes(test, BEYOND_GAIN, BEYOND_DELAY * share)
    trials = [(name, partial(outcome, test, late, gain)) for name, late, gain in more]
    if test.adapts:  # a change that comes at once, before it is learnt
        adapted = Simulation(test)
        adapted.run(int(seconds / test.step))
        learnt = adapted.learnt()
        held = quiet.but(adapts=(), predicts=learnt.predicts, amplitude=learnt.amplitude)
        for name, late, gain in changes(test, GAIN, share):
            trials.append((f"as learnt {name}", partial(outcome, learnt, late, gain)))
            trials.append((f"small motion as learnt {name}", partial(outcome, held, late, gain, SMALL)))
    if not test.linear:
        trials.append(("larger excitation", partial(outcome, test, size=BEYOND_GAIN)))
    if test.slow:  # small motion would be within the tolerance of its rig
        for name, _, gain in (("", 0.0, 1.0), *more):
            trials.append(
                (f"free motion {name}".rstrip(), partial(free_motion, quiet.but(gain=gain), AMPLITUDE * peak))
            )
    if at_rest and test.drive is None:
        for dof in range(len(test.mass)):  # modes of all sorts
            trials.append((f"free motion {dof + 1}", partial(free_motion, quiet.but(pushed=dof), AMPLITUDE * peak)))
    if at_rest:
        trials += [(f"small motion {name}", partial(outcome, quiet, late, gain, SMALL)) for name, late, gain in more]
    beyond: dict[str, str] = {}
    for name, trial in trials:
        beyond[name] = trial()[0]
        if beyond[name] != SETTLES:
            break
    return Judged(nominal, promised, beyond, peak)


def changes(test: Test, factor: float, late: float) -> list[tuple[str, float, float]]:
    """Changes of a rig: name, additional delay [s], factor on the specimen's force."""
    found = [(f"× {factor:.3g}", 0.0, factor), (f"× {1 / factor:.3g}", 0.0, 1.0 / factor)]
    return found if test.slow else [*found, (f"+ {1e3 * late:.3g} ms", late, 1.0)]


def frequency(test: Test) -> float:
    """About that of the structure with its specimen [Hz]."""
    stiffness = np.abs(np.diag(test.stiffness)).max()
    return float(np.sqrt(stiffness / np.diag(test.mass).max()) / (2.0 * np.pi))


def free_motion(quiet: Test, wanted: float) -> tuple[str, float]:
    """After a pulse that is so large that the motion reaches so much [m]."""
    size = 1.0
    for _ in range(6):
        simulated = simulation(quiet.but(excitation=(size * quiet.excitation[0], *quiet.excitation[1:])))
        motion = simulated.run(int(2.0 * quiet.excitation[3] / quiet.step))
        reached = np.abs(motion[:, : motion.shape[1] // 2]).max()
        size *= np.clip(wanted / reached, 0.01, 100.0)
        if abs(reached - wanted) < 0.05 * wanted:
            break
    return outcome(quiet, size=float(size))
