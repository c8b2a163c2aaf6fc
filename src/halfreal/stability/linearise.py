"""The state-transition matrix of the code that runs, taken by perturbing the loop's own state vector.

One tick (or one period of ``period`` ticks, where something acts at a slower rate of its own) is a map F of the loop's
dynamic state x.  Its Jacobian at the present state is measured column by column on the compiled loop itself,

    A e_i = (F(x + ε e_i) − F(x − ε e_i)) / 2ε

so that for any blocks the answer is that of the loop that will run.  How large ε is for each state the
code itself shows (``slopes.py``).  At rest the difference for a linear loop is exact to rounding, elsewhere good to
about eight digits.  A large block may offer its own Jacobian in place of that (``pieces.py``).

The eigenvalues λ of A are the loop's poles: it is stable if all |λ| < 1, and with s = ln λ / T a pole has the frequency
|s|/2π and the damping ratio −Re s/|s|.  States that are memory, and their poles at λ = 1, are left out (``memory.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigvals

from ..errors import HalfrealError
from ..kernels.loop import Loop
from ..kernels.tick import FAULT
from ..summaries import Summarised
from .condensed import condensed
from .condensed_poles import all_poles
from .memory import find_memory
from .pieces import is_large, taken_apart
from .slopes import SHRUNK, SIZES, Slopes, first_size, slopes_along

MARGINAL = 1e-9
UNKNOWN = "poles and margins at rest are not known"
MOST_DENSE = 600
"""States up to which poles in motion are those of one dense matrix, where it does not fall apart."""
RESTING = 1e-6
"""Distance from 1 of a pole that may be that of memory at rest."""
FEW_DENSE = 250
"""States up to which one dense matrix takes less time than a loop that falls apart."""
HALF_RATE = 0.95
"""Part of half the sampling rate from which on a pole alternates from tick to tick."""
ALTERNATING = (
    "caused by a degree of freedom too stiff for its mass and the step (if it has no mass, give it none), or "
    "by a loop gain near 1 there"
)

CHANGING = (
    "treats its state differently from tick to tick, e.g. with a ring buffer or a slower rate, so one tick "
    "does not determine its poles: make it act in the same way in every tick, e.g. by shifting its entries"
)


class NoSlopeError(HalfrealError):
    """A loop that has no linearisation where it stands: forces that jump, or rise infinitely steeply."""


@dataclass(frozen=True, repr=False)
class Linearisation(Summarised):
    """Transition matrix of a loop over ``period`` ticks of ``dt`` seconds, and what follows from it."""

    matrix: Any
    dt: float
    period: int = 1
    memory: tuple[str, ...] = ()
    """Fields of states that are memory, whose poles are left out."""
    changing: tuple[str, ...] = ()
    """Blocks that act otherwise in other ticks, so that one tick does not give their poles."""
    equivalent: bool = False
    """Whether blocks without a slope at rest are replaced by equivalent ones."""
    poles: np.ndarray | None = None
    """The eigenvalues, where they are known without asking the matrix, which is sparse then."""
    unknown: str = ""
    """Why the poles are not known: a part keeps its state to itself, and no model reproduces it.  There are none then,
    and the loop does not count as stable."""

    @classmethod
    def of_nothing(cls, why: str, dt: float) -> Linearisation:
        """Of a loop whose poles are not known."""
        return cls(np.zeros((0, 0)), dt, poles=np.zeros(0), unknown=why)

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues over one period, largest first."""
        values = np.asarray(eigvals(self.matrix)) if self.poles is None else self.poles
        return values[np.argsort(-np.abs(values), kind="stable")]

    @property
    def spectral_radius(self) -> float:
        """Largest |λ| per tick; NaN if it is not known."""
        if self.unknown:
            return float("nan")
        return float(abs(self.eigenvalues[0]) ** (1.0 / self.period)) if self.eigenvalues.size else 0.0

    @property
    def stable(self) -> bool:
        """All poles decay; one on the limit, to rounding, is not stable."""
        return self.spectral_radius < 1.0 - MARGINAL

    @cached_property
    def continuous(self) -> np.ndarray:
        """Poles s = ln λ / T [1/s]; poles at λ = 0 (samples that merely drop out) are left out."""
        alive = self.eigenvalues[np.abs(self.eigenvalues) > 1e-12]
        return np.asarray(np.log(alive.astype(complex)) / (self.period * self.dt))

    @property
    def frequency_hz(self) -> np.ndarray:
        return np.asarray(np.abs(self.continuous) / (2 * np.pi))

    @property
    def damping(self) -> np.ndarray:
        """Damping ratio of each pole; NaN for a pole at rest (λ = 1)."""
        size = np.abs(self.continuous)
        return np.asarray(np.where(size > 0, -self.continuous.real / np.where(size > 0, size, 1.0), np.nan))

    @property
    def at_half_rate(self) -> np.ndarray:
        """Which poles alternate from tick to tick, or nearly so: they are no motion that the step could follow."""
        half = np.pi / (self.period * self.dt)
        return np.asarray(np.abs(self.continuous.imag) > HALF_RATE * half) & (self.period == 1)

    def summary(self) -> str:
        """One sentence for people."""
        if self.unknown:
            return f"{UNKNOWN}: {self.unknown}"
        radius = self.spectral_radius
        poles, alternating = self.continuous, self.at_half_rate
        worst = poles[0] if poles.size else complex(-np.inf)
        rate, hz = worst.real, abs(worst.imag) / (2 * np.pi)
        besides = f", which is half the sampling rate: {ALTERNATING}" if np.any(alternating[:1]) else ""
        if abs(radius - 1.0) <= MARGINAL:
            besides += f"; {' and '.join(map(repr, self.changing))} {CHANGING}" if self.changing else ""
            return (
                f"on the limit: spectral radius {radius:.9f}, a pole at {hz:.3g} Hz neither grows nor decays{besides}"
            )
        if radius < 1.0 and besides and not alternating.all():
            slowest = poles[~alternating][0]
            return (
                f"stable: spectral radius {radius:.6f}, the slowest pole at {abs(slowest.imag) / (2 * np.pi):.3g} Hz "
                f"decays as exp({slowest.real:.3g} t/s); one at {hz:.3g} Hz decays as exp({rate:.3g} t/s){besides}"
            )
        if np.isneginf(rate):
            return "stable: spectral radius 0, small deviations vanish within a few steps"
        if radius < 1.0:
            return (
                f"stable: spectral radius {radius:.6f}, the slowest pole at {hz:.3g} Hz decays as exp({rate:.3g} t/s)"
            )
        return f"unstable: spectral radius {radius:.6f}, a pole at {hz:.3g} Hz grows as exp({rate:.3g} t/s)"


def derivative(loop: Loop, columns: np.ndarray, rows: np.ndarray, period: int = 1) -> np.ndarray:
    """Derivative of entries ``rows`` of the loop's vector after ``period`` ticks by its entries ``columns`` before.

    The loop is left as it was.  Large blocks that provide their Jacobian give it (``pieces.py``), the rest
    is perturbed.  Raises an error that names the states where there is no derivative.
    """
    pieces = taken_apart(loop, columns, rows, perturbed) if period == 1 else None
    return perturbed(loop, columns, rows, period) if pieces is None else pieces.together()


def perturbed(loop: Loop, columns: np.ndarray, rows: np.ndarray, period: int = 1) -> np.ndarray:
    """The same derivative, every column by perturbing the loop itself."""
    found = slopes(loop, columns, rows, period)
    if found.without.any():
        column = int(np.argmax(found.without.any(axis=1)))
        at = loop.name_of(int(rows[int(np.argmax(found.without[column]))]))
        raise NoSlopeError(
            f"the loop has no linearisation at rest: '{at}' does not change in proportion to "
            f"'{loop.name_of(int(columns[column]))}', even for small changes; smooth the law around zero, e.g. by "
            "tanh(v/v0) instead of sign(v)"
        )
    return found.values.T


def slopes(loop: Loop, columns: np.ndarray, rows: np.ndarray, period: int = 1) -> Slopes:
    """What ``derivative`` is made of: slopes, a row for each column, also where the code has none."""
    sizes = first_size(loop.vector[columns])
    found = slopes_along(lambda which, by: loop.images(columns[which], by, rows, period), sizes, rows.size)
    unknown = np.isnan(found.values)
    if unknown.any():
        column = int(np.argmax(unknown.any(axis=1)))
        raise HalfrealError(_not_finite(loop, int(columns[column]), rows[unknown[column]], period))
    return found


def _not_finite(loop: Loop, index: int, rows: np.ndarray, period: int) -> str:
    """Why a slope is not finite: because the loop itself is not, or because no perturbation is small enough."""
    base = loop.vector.copy()
    loop.run(period, event_room=0)
    fault, now = loop.describe(float(loop.vector[FAULT])), loop.vector.copy()
    loop.vector[:] = base
    if fault:
        return f"the loop cannot be linearised: {fault}"
    bad = [name for name, place in loop.index.items() if not np.isfinite(now[place])]
    bad += [loop.name_of(int(i)) for i in rows if not np.isfinite(now[i])]
    if bad:
        return f"the loop cannot be linearised: '{bad[0]}' is not finite; correct the block that writes it"
    smallest = float(first_size(base[index])) / SHRUNK ** (SIZES - 1)
    return (
        f"the loop cannot be linearised: '{loop.name_of(int(rows[0]))}' is not finite, or a block has a fault, once "
        f"'{loop.name_of(index)}' differs by as little as {smallest:.1g} from {base[index]:.6g}, "
        "its value at rest; correct "
        "the function that reads it, so that it returns finite numbers near there"
    )


def linearise(loop: Loop, period: int = 1) -> Linearisation:
    """Compute the transition matrix of a loop at its present state, which is restored.

    Parameters
    ----------
    loop
        The loop, see ``build``.
    period
        Ticks over which it is computed; multiplied until the loop repeats its pattern of rates.

    Returns
    -------
    Linearisation
        Matrix, poles and which states are memory.
    """
    indices, period = loop.dynamic_indices(), math.lcm(period, loop.period)
    pieces = taken_apart(loop, indices, indices, perturbed) if period == 1 else None
    if pieces is None:
        return without_memory(loop, perturbed(loop, indices, indices, period), indices, period)
    small = condensed(pieces, indices.size, loop.dt)
    poles = None if small is None else all_poles(small)
    if small is None or poles is None:
        return without_memory(loop, pieces.together(), indices, period)
    whole = Linearisation(pieces.sparse(), loop.dt, poles=poles)
    if whole.stable:
        return whole
    memory = find_memory(loop, indices)
    poles = all_poles(small.without(*memory.of(pieces.columns[0], len(small.a)).bases()))
    return Linearisation(whole.matrix, loop.dt, 1, memory.names, memory.changing, poles=poles)


@dataclass(frozen=True)
class InMotion:
    """Poles of a loop at a state in motion, to first order."""

    poles: np.ndarray
    """Of the loop, hysteretic memory that moves included."""
    by_themselves: tuple[np.ndarray, ...]
    """Transition matrices of the large blocks with what they read held, or their poles."""

    @cached_property
    def own(self) -> float:
        """Largest |λ| of the large blocks by themselves."""
        poles = [eigvals(one) if one.ndim == 2 else one for one in self.by_themselves]
        return max(float(np.abs(one).max(initial=0.0)) for one in poles)


def in_motion(loop: Loop) -> InMotion | None:
    """The loop at its present state, with large blocks that offer their Jacobian there; None if none does.

    A law that yields follows its strain regardless of its history, and one that does not keeps its set: hysteretic
    memory of a large block is no pole of its own, and its Jacobian has the tangents that come of it.
    """
    names = [block.name for block in loop.controller if is_large(block)]
    if not names or loop.period > 1:
        return None
    held = loop.memory_indices()
    memories = held[~np.isin(loop.owners_of(held), [loop.row(name) for name in names])]
    indices = np.concatenate([loop.dynamic_indices(), memories])
    pieces = taken_apart(loop, indices, indices, lambda one, x, y: slopes(one, x, y).values.T)
    if pieces is None:
        return None
    small = None if indices.size <= FEW_DENSE else condensed(pieces, indices.size, loop.dt)
    poles = None if small is None else all_poles(small)
    if poles is None and indices.size > MOST_DENSE:
        return None
    if small is None or poles is None:
        alone, whole = tuple(one.of_state().a for one in pieces.large), pieces.together()
        values = np.asarray(eigvals(whole))
        rest = values[np.abs(values - 1.0) > RESTING]  # what is left when memory rests, which takes longer to find out
        if values.size - rest.size > held.size or np.abs(rest).max(initial=0.0) >= 1.0 - MARGINAL:
            values = without_memory(loop, whole, indices).eigenvalues
        return InMotion(values, alone)
    if np.abs(poles).max(initial=0.0) >= 1.0 - MARGINAL:
        memory = find_memory(loop, indices).of(pieces.columns[0], len(small.a))
        found = all_poles(small.without(*memory.bases()))
        poles = poles if found is None else found
    return InMotion(poles, (np.concatenate([small.modes, small.apart]),))


def without_memory(loop: Loop, matrix: np.ndarray, indices: np.ndarray, period: int = 1) -> Linearisation:
    """The linearisation of which ``matrix`` is the transition of all states at ``indices``, memory left out."""
    whole = Linearisation(matrix, loop.dt, period)
    # of the ticks of a virtual part's step, each leaves others alone
    if period > loop.period or whole.stable:
        return whole
    memory = find_memory(loop, indices)
    inner, outer = memory.bases()
    return Linearisation(outer @ matrix @ inner, loop.dt, period, memory.names, memory.changing)
