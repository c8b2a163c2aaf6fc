"""Parameters of a definition's own rig from records, with confidence intervals: an output-error fit.

The rig of the definition is run under the recorded commands (``played_rig.py``), and its parameters θ are those for
which what it measures, y(θ), comes closest to what was measured, y, on all channels c of displacement and force:

    e_c(t) = y_c(t) − y_c(t; θ) − b_c,        minimise Σ_c Σ_t e_c(t)²/σ_c²

b_c, the offset of a sensor, and σ_c, the rms of what is left, are estimated too.  Under noise of the sensors this is
the maximum-likelihood estimate (L. Ljung, System Identification: Theory for the User, 2nd ed., Prentice Hall 1999,
section 7.5).  Commands are known exactly, so that noise does not bias it, in a closed loop either.

Intervals do not rely on what is left being white: with J = ∂y/∂θ and scores g_t = Σ_c J_c(t) e_c(t)/σ_c²,

    Σ = (JᵀJ)⁻¹ S (JᵀJ)⁻¹,         S the long-run covariance of g (``felt_specimen.long_run``)

and 95 % are ± t Σ_ii^½.  A parameter that is known to half of its value only, or that changes nothing measured, is not
determined by the records: it is kept as it was given, the others are fitted again, and the result states what it
cannot be distinguished from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..definition.definition import Definition
from .felt_specimen import PARZEN, WINDOW_CYCLES, long_run
from .output_error import Problem, quantum, searched, slopes_of, stepwise_delay
from .rig_record import NotIdentifiableError, RigRecord
from .sought import Sought

CONFIDENCE = 0.95
ALIKE = 0.95
"""Correlation from which on two estimates are reported as depending on each other."""
UNKNOWN = 0.5
"""Half of an interval over the value, beyond which it is not determined."""
AT_END = 1e-6
"""Distance from the end of its range, in its scale, at which a parameter counts as at the end."""
LEAST_WIDTH = 1e-6
"""Half of an interval over the value, or over its scale, at least: a simulation without noise is known no better."""


@dataclass(frozen=True)
class Fitted:
    """A parameter as records show it, or why they do not."""

    sought: Sought
    value: float
    half_width: float
    """Half of the 95 % interval; inf if it is not determined."""
    why_not: str = ""
    """Why the records do not give it; it is then kept as it was given."""

    @property
    def determined(self) -> bool:
        return not self.why_not

    @property
    def at_end(self) -> bool:
        """Whether it is at the end of the range in which it was sought, other than at 0."""
        ends = [end for end in (self.sought.least, self.sought.most) if np.isfinite(end) and end != 0.0]
        return any(abs(self.value - end) <= AT_END * self.sought.scale for end in ends)

    @property
    def low(self) -> float:
        return max(self.value - self.half_width, self.sought.least)

    @property
    def high(self) -> float:
        return min(self.value + self.half_width, self.sought.most)


@dataclass(frozen=True)
class RigFit:
    """The parameters of a rig."""

    parameters: tuple[Fitted, ...]
    definition: Definition
    """With the rig as it was found."""
    left: np.ndarray
    """RMS of what the fit leaves on each channel, displacements first, then forces [m or rad, N or N m]."""
    share: np.ndarray
    """The same over the rms of what was measured."""
    residuals: tuple[np.ndarray, ...]
    """Of each record, (samples, channels)."""
    depend: tuple[tuple[str, str, float], ...] = ()
    """Estimates that depend on each other, and their correlation."""
    samples: int = 0


def fit_rig(
    definition: Definition,
    records: Sequence[RigRecord],
    sought: Sequence[Sought],
    on_progress: Callable[[str], None] = lambda text: None,
) -> RigFit:
    """Fit what is sought to all records together; what they do not give is kept as the definition has it."""
    problem = Problem(definition, records)
    left_out: list[Fitted] = []
    in_steps: list[Fitted] = []
    active = list(sought)
    start = np.array([one.start for one in active])
    best, noise = start, problem.scale.copy()
    steps = quantum(problem, active, start) if active else 0.0
    if steps:
        on_progress("delay, in whole steps of the rig")
        best = stepwise_delay(problem, active, start, steps)
        i = next(i for i, one in enumerate(active) if one.is_delay)
        in_steps.append(Fitted(active[i], float(best[i]), steps))
        problem = Problem(problem.changed(active[i : i + 1], best[i : i + 1]), records)
        active.pop(i)
        best = np.delete(best, i)
    fitted: list[Fitted] = []
    depend: tuple[tuple[str, str, float], ...] = ()
    while active:
        on_progress(f"fitting {', '.join(one.name for one in active)}")
        best, noise = searched(problem, active, best)
        half, correlation = _intervals(problem, active, best, noise)
        fitted = [Fitted(one, float(v), float(h)) for one, v, h in zip(active, best, half, strict=True)]
        worst = _least_known(fitted)
        if worst is None:
            depend = _dependent(active, correlation)
            break
        left_out.append(_not_determined(fitted, worst, correlation))
        active.pop(worst)
        best = np.delete(best, worst)
        fitted = []
    left = problem.left(active, best)
    order = {one.name: i for i, one in enumerate(sought)}
    found = sorted([*in_steps, *fitted, *left_out], key=lambda one: order[one.sought.name])
    sizes = np.cumsum([len(one) for one in problem.measured])[:-1]
    rms = np.sqrt(np.mean(left**2, axis=0))
    return RigFit(
        tuple(found),
        problem.changed(active, best),
        rms,
        rms / problem.scale,
        tuple(np.split(left, sizes)),
        depend,
        len(left),
    )


def _intervals(
    problem: Problem, sought: Sequence[Sought], values: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Half-widths of the 95 % intervals, and the correlation of the estimates."""
    from scipy.special import stdtrit

    left = problem.left(sought, values) / noise
    slopes = slopes_of(problem, sought, values, noise)
    n, size = len(left), np.sqrt(np.sum(slopes**2, axis=(0, 1)))
    half = np.full(len(sought), np.inf)
    correlation = np.eye(len(sought))
    moves = size * np.array([max(abs(v), one.scale) for v, one in zip(values, sought, strict=True)])
    alive = moves > 1e-9 * np.sqrt(n)
    if not alive.any():
        return half, correlation
    scaled = slopes[:, :, alive] / size[alive]
    lags = max(WINDOW_CYCLES * _cycle(problem), 8.0)
    freedom = n / (PARZEN * lags) - alive.sum()
    if freedom < 2.0:
        raise NotIdentifiableError(
            f"the records contain {n / (lags / WINDOW_CYCLES):.1f} cycles of motion, too few for {int(alive.sum())} "
            f"parameter(s); at least {PARZEN * WINDOW_CYCLES * (2 + alive.sum()):.0f} are needed: record longer, or "
            "identify fewer (--parameter)"
        )
    normal = np.einsum("tci,tcj->ij", scaled, scaled)
    inverse = np.linalg.pinv(normal, rcond=1e-13, hermitian=True)
    scores = np.einsum("tci,tc->ti", scaled, left)
    spread = inverse @ (n * long_run(scores, lags)) @ inverse * n / max(n - alive.sum(), 1)
    deviation = np.sqrt(np.maximum(np.diag(spread), 0.0))
    known = float(stdtrit(freedom, 0.5 * (1.0 + CONFIDENCE))) * deviation / size[alive]
    least = LEAST_WIDTH * np.array([max(abs(v), one.scale) for v, one in zip(values, sought, strict=True)])[alive]
    half[alive] = np.maximum(known, least)
    eigenvalues, directions = np.linalg.eigh(normal)
    if eigenvalues[0] < 1e-12 * eigenvalues[-1]:  # the records do not determine this direction
        blind = np.abs(directions[:, 0]) > 0.1
        half[np.flatnonzero(alive)[blind]] = np.inf
    # rounding may leave an eigenvalue below zero, of which no covariance has one
    covariance = directions / np.maximum(eigenvalues, 1e-15 * eigenvalues[-1]) @ directions.T
    root = np.sqrt(np.diag(covariance))
    correlation[np.ix_(alive, alive)] = covariance / np.outer(root, root)
    return half, correlation


def _cycle(problem: Problem) -> float:
    """Samples in a cycle of the commands, in the mean."""
    moved = [one.commands[one.kept] - one.commands[one.kept].mean(axis=0) for one in problem.records]
    power = sum(np.sum(one**2, axis=0) for one in moved)
    rate = sum(np.sum(np.diff(one, axis=0) ** 2, axis=0) for one in moved)
    moves = np.asarray(power) > 0.0  # each command by its own motion
    square = np.mean(np.asarray(rate)[moves] / np.asarray(power)[moves]) if moves.any() else 0.0
    return float(2 * np.pi / np.sqrt(max(float(square), 1e-300)))


def _least_known(fitted: Sequence[Fitted]) -> int | None:
    """Which parameter is known least, of those that are not known; None if all are."""
    stuck = next((i for i, one in enumerate(fitted) if one.at_end), None)
    if stuck is not None:
        return stuck
    share = [one.half_width / max(abs(one.value), one.sought.smallest, 1e-300) for one in fitted]
    worst = int(np.argmax(share))
    return worst if share[worst] > UNKNOWN else None


def _not_determined(fitted: Sequence[Fitted], which: int, correlation: np.ndarray) -> Fitted:
    """A parameter that is kept as it was given, and why."""
    one = fitted[which]
    others = [i for i in range(len(fitted)) if i != which]
    nearest = max(others, key=lambda i: abs(correlation[which, i]), default=None)
    if one.at_end:
        end = one.sought.text(one.value)
        why = f"fits best at {end}, the end of its range: the rig differs from [rig], or the bounds are too narrow"
    elif not np.isfinite(one.half_width) and (nearest is None or abs(correlation[which, nearest]) < ALIKE):
        why = "the measurements do not depend on it here"
    elif nearest is not None and abs(correlation[which, nearest]) > ALIKE:
        other = fitted[nearest].sought.name
        why = (
            f"cannot be distinguished from {other} (correlation {correlation[which, nearest]:.3f}): excite a wider band"
        )
    else:
        why = (
            f"determined only to {one.sought.text(one.value)} ± {one.sought.text(one.half_width)}: too small to be "
            "identified, or not excited enough"
        )
    return Fitted(one.sought, one.sought.given, np.inf, why)


def _dependent(sought: Sequence[Sought], correlation: np.ndarray) -> tuple[tuple[str, str, float], ...]:
    found = []
    for i, one in enumerate(sought):
        for j in range(i):
            if abs(correlation[i, j]) > ALIKE:
                found.append((sought[j].name, one.name, float(correlation[i, j])))
    return tuple(found)
