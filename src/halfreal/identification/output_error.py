"""The search for parameters of a rig under which it measures what was measured: least squares, and where to begin.

A delay begins where model and record correlate best; where the fit is poor, each parameter is tried at multiples of its
value.  A rig that follows a staircase of commands has its delay in whole steps of its own: these are tried one by one,
the others being fitted to each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..definition.definition import Definition
from ..definition.faults import DefinitionError
from .played_rig import measured_by_model
from .rig_record import RigRecord
from .sought import Sought, shifted_delay

SLIGHT = 1e-5
"""Change of a parameter, in its scale, for a slope."""
NODE = 0.02
"""Steps around whole ones within which a delay is tried on both sides: where a rig changes over to other samples of its
command, what it measures has a small jump."""
LEAST_NOISE = 1e-7
"""Of a channel over its rms: no record is known better."""
POOR, COLOURED = 0.05, 0.3
"""Share of what was measured that is left by a fit, and its correlation from sample to sample: beyond both it is no
noise, and other values are tried as a start."""
FACTORS = (0.125, 0.25, 0.5, 2.0, 4.0, 8.0)
"""Times the given value, for other starts."""


@dataclass
class Problem:
    """Records, and what is sought in them."""

    definition: Definition
    records: Sequence[RigRecord]
    evaluations: int = 0
    measured: list[np.ndarray] = field(init=False)
    scale: np.ndarray = field(init=False)
    """RMS of the channels."""

    def __post_init__(self) -> None:
        self.measured = [np.hstack([one.displacement, one.force])[one.kept] for one in self.records]
        self.measured = [one - one.mean(axis=0) for one in self.measured]
        self.scale = np.sqrt(np.mean(np.vstack(self.measured) ** 2, axis=0))
        self.scale[self.scale == 0.0] = 1.0

    def changed(self, sought: Sequence[Sought], values: np.ndarray) -> Definition:
        places = {k: v for one, value in zip(sought, values, strict=True) for k, v in one.at(float(value)).items()}
        return self.definition.with_values(places) if places else self.definition

    def left(self, sought: Sequence[Sought], values: np.ndarray) -> np.ndarray:
        """y − y(θ) − b, (samples of all records, channels)."""
        test = self.changed(sought, values)
        self.evaluations += 1
        parts = []
        for record, own in zip(self.records, self.measured, strict=True):
            model = measured_by_model(test, record)[record.kept]
            parts.append(own - (model - model.mean(axis=0)))
        return np.vstack(parts)


def searched(problem: Problem, sought: Sequence[Sought], start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best values and the noise of each channel."""
    start = _aligned(problem, sought, start)
    best = _least_squares(problem, sought, start, problem.scale)
    if _is_poor(problem, sought, best):
        best = _other_starts(problem, sought, best)
    noise = _noise(problem, sought, best)
    best = _least_squares(problem, sought, best, noise)
    best = _across_a_node(problem, sought, best, noise)
    return best, _noise(problem, sought, best)


def _across_a_node(problem: Problem, sought: Sequence[Sought], best: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """The better of the fits on both sides of a whole number of steps, if the delay is near one."""
    i = _delay(sought)
    step = problem.records[0].step
    if i is None or abs(best[i] - step * round(best[i] / step)) > NODE * step:
        return best
    node = step * round(best[i] / step)
    side = NODE * step * (1.0 if best[i] < node else -1.0)
    if node + side < sought[i].least:
        return best
    other = _least_squares(problem, sought, _with(best, i, node + side), noise)
    return min((best, other), key=lambda one: float(np.sum((problem.left(sought, one) / noise) ** 2)))


def _noise(problem: Problem, sought: Sequence[Sought], values: np.ndarray) -> np.ndarray:
    rms = np.sqrt(np.mean(problem.left(sought, values) ** 2, axis=0))
    return np.asarray(np.maximum(rms, LEAST_NOISE * problem.scale))


def _share(problem: Problem, sought: Sequence[Sought], values: np.ndarray) -> float:
    """Largest rms of what is left over that of what was measured."""
    try:
        left = problem.left(sought, values)
    except DefinitionError:
        return float("inf")
    rms = np.sqrt(np.mean(left**2, axis=0)) / problem.scale
    return float(rms.max()) if np.all(np.isfinite(rms)) else float("inf")


def _is_poor(problem: Problem, sought: Sequence[Sought], values: np.ndarray) -> bool:
    left = problem.left(sought, values)
    power = np.mean(left**2, axis=0)
    alike = np.mean(left[1:] * left[:-1], axis=0) > COLOURED * power
    return bool(np.any(alike & (np.sqrt(power) > POOR * problem.scale)))


def _other_starts(problem: Problem, sought: Sequence[Sought], best: np.ndarray) -> np.ndarray:
    """The best of fits from other values, one parameter after another."""
    least = _share(problem, sought, best)
    for i, one in enumerate(sought):
        trials = [_aligned(problem, sought, _with(best, i, factor * one.start)) for factor in FACTORS]
        trials = [trial for trial in trials if one.least <= trial[i] <= one.most]
        if not trials or one.start == 0.0:
            continue
        nearest = min(trials, key=lambda trial: _share(problem, sought, trial))
        found = _least_squares(problem, sought, nearest, problem.scale)
        share = _share(problem, sought, found)
        if share < least:
            best, least = found, share
    return best


def _with(values: np.ndarray, i: int, value: float) -> np.ndarray:
    changed = values.copy()
    changed[i] = value
    return changed


def _aligned(problem: Problem, sought: Sequence[Sought], values: np.ndarray) -> np.ndarray:
    """With the delay, if one is sought, moved by the shift at which model and record correlate best."""
    i = _delay(sought)
    if i is None:
        return values
    try:
        left = problem.left(sought, values)
    except DefinitionError:
        return values
    measured = np.vstack(problem.measured)
    n = measured.shape[1] // 2
    step = problem.records[0].step
    moved = shifted_delay(measured[:, :n] - left[:, :n], measured[:, :n], int(sought[i].most / step)) * step
    trial = _with(values, i, float(np.clip(values[i] + moved, sought[i].least, sought[i].most)))
    return trial if _share(problem, sought, trial) < _share(problem, sought, values) else values


def _least_squares(problem: Problem, sought: Sequence[Sought], start: np.ndarray, noise: np.ndarray) -> np.ndarray:
    from scipy.optimize import least_squares

    scale = np.array([one.scale for one in sought])
    low, high = (np.array([getattr(one, end) for one in sought]) / scale for end in ("least", "most"))

    def residual(z: np.ndarray) -> np.ndarray:
        try:
            left = problem.left(sought, z * scale) / noise
        except DefinitionError:
            left = np.full((sum(map(len, problem.measured)), noise.size), 1e6)
        return np.asarray(np.clip(np.nan_to_num(left, nan=1e6), -1e6, 1e6).ravel())

    def slopes(z: np.ndarray) -> np.ndarray:
        return np.asarray(slopes_of(problem, sought, z * scale, noise).reshape(-1, len(sought)) * scale)

    inside = np.clip(start / scale, low + 1e-9, high - 1e-9)
    found = least_squares(residual, inside, jac=slopes, bounds=(low, high), xtol=1e-9, ftol=1e-10, max_nfev=40)
    return np.asarray(found.x * scale)


def slopes_of(problem: Problem, sought: Sequence[Sought], values: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """∂e/∂θ by differences within the bounds, (samples, channels, parameters), over the noise."""
    here, columns = problem.left(sought, values), []
    for i, one in enumerate(sought):
        step = SLIGHT * max(abs(values[i]), 0.1 * one.scale, one.smallest)
        step = step if values[i] + step <= one.most else -step
        columns.append((problem.left(sought, _with(values, i, values[i] + step)) - here) / step / noise)
    return np.stack(columns, axis=-1)


def quantum(problem: Problem, sought: Sequence[Sought], values: np.ndarray) -> float:
    """Steps [s] in which the rig has its delay, where that is so; 0 elsewhere."""
    i = _delay(sought)
    if i is None:
        return 0.0
    step = problem.records[0].step
    here = problem.left(sought, values)
    slightly, far = (problem.left(sought, _with(values, i, values[i] + by * step)) for by in (1e-3, 1.0))
    if np.array_equal(slightly, here) and not np.array_equal(far, here):
        return step / problem.definition.rig.steps_per_tick
    return 0.0


def stepwise_delay(problem: Problem, sought: Sequence[Sought], values: np.ndarray, step: float) -> np.ndarray:
    """The best values with a delay in whole ``step``s: going up or down as long as that is better."""
    i = _delay(sought)
    assert i is not None
    others = [one for k, one in enumerate(sought) if k != i]

    def at(delay: float) -> tuple[float, np.ndarray]:
        held = Problem(problem.changed(sought[i : i + 1], np.array([delay])), problem.records)
        rest = np.delete(values, i)
        rest = _least_squares(held, others, rest, held.scale) if others else rest
        left = held.left(others, rest) / held.scale
        return float(np.sum(left**2)), np.insert(rest, i, delay)

    start = _aligned(problem, sought, values)
    best = at(step * round(start[i] / step))
    for way in (step, -step):
        while sought[i].least <= best[1][i] + way <= sought[i].most:
            tried = at(best[1][i] + way)
            if not tried[0] < best[0]:
                break
            best = tried
    return best[1]


def _delay(sought: Sequence[Sought]) -> int | None:
    return next((i for i, one in enumerate(sought) if one.is_delay), None)
