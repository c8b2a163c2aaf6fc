"""Characteristic roots of delay systems: the rightmost ones, each corrected by Newton's method and with its error.

The roots of E x˙(t) = A_0 x(t) + Σ A_k x(t − τ_k) are those s at which Δ(s) is singular (``dde_system``).  They are
approximated by the eigenvalues of a discretised generator (``dde_pseudospectral``), corrected on Δ itself
(``dde_newton``), and the discretisation is refined until it resolves all roots that are asked for and two sizes agree
on them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..figures import BAD, GOOD, QUIET, new_figure, styled
from .dde_newton import correct
from .dde_pseudospectral import generator, late_variables, needed_degree
from .dde_system import DelayError, DelaySystem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DelayError", "DelaySystem", "Spectrum", "abscissa", "roots"]

FIRST_DEGREE = 14
LARGEST = 1500
"""Rows of the largest matrix whose eigenvalues are taken: some seconds."""
SAME = 1e-8
"""Two roots closer than this, measured by |s| + 1/τ, are one root found twice."""
RESOLVED = 1e-6
"""Eigenvalues closer than this to a root, measured likewise, are resolved: as many as the root's multiplicity."""
CLEAR = 0.05
"""Roots are sought this far, measured by 1/τ, to the right of where infinitely many gather."""


@dataclass(frozen=True)
class Spectrum:
    """Roots s [1/s], rightmost first and both of a conjugate pair, with the errors |δs| that they may have.

    ``essential`` is the real part to which infinitely many roots of a neutral system tend (−∞ otherwise), and
    ``high_frequency_gain`` the gain of which this comes: 1 and above is unstable for any delay.
    """

    roots: np.ndarray
    errors: np.ndarray
    essential: float
    high_frequency_gain: float
    degree: int

    @property
    def frequency_hz(self) -> np.ndarray:
        return np.asarray(np.abs(self.roots) / (2 * np.pi))

    @property
    def damping(self) -> np.ndarray:
        """Damping ratio of each root; NaN for a root at zero."""
        size = np.abs(self.roots)
        return np.asarray(np.where(size > 0, -self.roots.real / np.where(size > 0, size, 1.0), np.nan))

    @property
    def abscissa(self) -> float:
        """Largest real part [1/s], that of the essential spectrum included."""
        return float(max(self.roots.real.max(initial=-np.inf), self.essential))

    @property
    def stable(self) -> bool:
        return self.abscissa < 0.0

    def summary(self) -> str:
        """One sentence for people."""
        if self.high_frequency_gain >= 1.0:
            return (
                f"unstable for any delay: the gain at high frequencies is {self.high_frequency_gain:.3g}, not below 1, "
                f"and infinitely many roots tend to the real part {self.essential:.3g} 1/s"
            )
        if not self.roots.size:
            return f"{'stable' if self.stable else 'undecided'}: no roots where they were sought"
        lead = self.roots[0]
        hz = abs(lead.imag) / (2 * np.pi)
        if abs(lead.real) <= self.errors[0]:
            return f"on the limit: the rightmost root at {hz:.4g} Hz neither grows nor decays"
        if lead.real > 0.0:
            return f"unstable: the rightmost root at {hz:.4g} Hz grows as exp({lead.real:.3g} t/s)"
        return f"stable: the rightmost root at {hz:.4g} Hz decays as exp({lead.real:.3g} t/s)"

    @styled
    def plot(self) -> Figure:
        """The roots in the complex plane."""
        figure = new_figure(5.0, 3.6)
        axes = figure.subplots()
        right = self.roots.real >= 0.0
        for colour, chosen, label in ((GOOD, ~right, "decays"), (BAD, right, "grows")):
            if chosen.any():
                part = self.roots[chosen]
                axes.plot(part.real, part.imag / (2 * np.pi), "x", color=colour, label=label)
        axes.axvline(0.0, color=QUIET, linewidth=0.9)
        if np.isfinite(self.essential):
            axes.axvline(self.essential, color=QUIET, linestyle="--", label="infinitely many tend here")
        axes.set(xlabel="real part [1/s]", ylabel="frequency [Hz]", title="Characteristic roots")
        if axes.get_legend_handles_labels()[0]:
            axes.legend()
        return figure


def abscissa(system: DelaySystem, degree: int = FIRST_DEGREE) -> float:
    """Largest real part of the roots [1/s] from one discretisation of fixed size, neither corrected nor checked.

    Good to many digits if the rightmost root has |s| τ < degree/2, and fast enough for charts of many thousand points.
    """
    value = float(np.linalg.eigvals(generator(system.scaled, degree)).real.max())
    return max(value, system.essential) if system.neutral else value


def roots(
    system: DelaySystem, *, right_of: float | None = None, most: int | None = None, below_hz: float | None = None
) -> Spectrum:
    """Roots right of a real part [1/s], or the ``most`` rightmost of them, |Im s| at most ``below_hz`` if given.

    Without any of these the ten rightmost are sought.  Of a conjugate pair never one alone is given.  A neutral system
    has infinitely many roots next to the real part ``system.essential``: unless ``below_hz`` is given, the roots sought
    are those clear of it on the right.
    """
    if right_of is None and most is None:
        most = 10
    system = system.scaled
    least = -np.inf if right_of is None else right_of
    widest = np.inf if below_hz is None else 2 * np.pi * below_hz
    if system.neutral and below_hz is None:
        clear = system.essential + CLEAR / system.longest
        if right_of is not None and right_of < clear:
            raise DelayError(
                f"infinitely many roots lie right of {right_of:g} 1/s, as the delayed accelerations let them gather at "
                f"the real part {system.essential:.4g} 1/s; ask for roots right of {clear:.4g} 1/s or give below_hz"
            )
        least = max(least, clear)
    if not system.delays.size:
        found, errors, _ = _attempt(system, 1, least, most, widest)
        return _spectrum(system, found, errors, 1)
    late = len(late_variables(system.A[1:])[1])
    degree, before = FIRST_DEGREE, None
    while len(system.E) + late * degree <= LARGEST:
        found, errors, leftmost = _attempt(system, degree, least, most, widest)
        needed = _needed(system, leftmost, widest)
        if before is not None and degree >= needed and _agree(before, found, system.longest):
            return _spectrum(system, found, errors, degree)
        before = found if degree >= needed else None
        degree = max(needed, degree + degree // 3)
    raise DelayError(
        f"the roots asked for need more than {degree} points of the last {system.longest:g} s, "
        f"{len(system.E) + late * degree} unknowns where {LARGEST} are the most; ask for fewer of them (most), "
        f"for those further to the right (right_of) or of lower frequency (below_hz)"
    )


def _needed(system: DelaySystem, leftmost: float, widest: float) -> int:
    """Degree that resolves the roots right of the leftmost one found, up to the widest frequency."""
    by_frequency = 0.5 * np.hypot(widest, leftmost) * system.longest + 12.0
    if by_frequency < np.inf and system.neutral:
        return int(np.ceil(by_frequency))
    return int(min(needed_degree(system, leftmost), np.ceil(min(by_frequency, 1e9))))


def _attempt(
    system: DelaySystem, degree: int, least: float, most: int | None, widest: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Roots of the upper half plane from one discretisation, their errors, and how far left it had to be looked."""
    raw = np.linalg.eigvals(generator(system, degree))
    unit = 1.0 / (system.longest or 1.0)
    raw = raw[(raw.imag >= 0.0) & (raw.imag <= 1.5 * widest + unit)]
    raw = raw[np.argsort(-raw.real, kind="stable")]
    if system.delays.size:
        raw = raw[raw.real > -200.0 * unit]
        if least > -np.inf:  # a poor approximation may lie left of its root
            raw = raw[raw.real > least - unit - 0.1 * np.abs(raw)]
        elif most is not None:
            raw = raw[: 2 * most + 10]
    s, errors = correct(system, raw)
    s = np.where(s.imag < 0.0, s.conj(), s)
    scale = np.abs(s) + unit
    s = np.where(s.imag <= np.maximum(SAME * scale, errors), s.real, s)
    good = errors < RESOLVED * scale
    s, errors = _distinct(raw, s[good], errors[good], unit)
    chosen = (s.real > least) & (s.imag <= widest)
    s, errors = s[chosen], errors[chosen]
    if most is not None:
        taken = np.cumsum(np.where(s.imag > 0.0, 2, 1))
        last = int(np.searchsorted(taken, most)) + 1
        s, errors = s[:last], errors[:last]
    leftmost = least if most is None or not s.size else max(least, float(s.real.min()))
    return s, errors, leftmost


def _distinct(raw: np.ndarray, s: np.ndarray, errors: np.ndarray, unit: float) -> tuple[np.ndarray, np.ndarray]:
    """Every root as often as eigenvalues of the discretisation lie at it, but once at least; rightmost first."""
    kept: list[int] = []
    seen = np.zeros(len(s), dtype=bool)
    for i in np.argsort(errors, kind="stable"):
        if seen[i]:
            continue
        scale = abs(s[i]) + unit
        same = ~seen & (np.abs(s - s[i]) <= SAME * scale + 3 * (errors + errors[i]))
        seen |= same
        multiplicity = int((np.abs(raw - s[i]) <= RESOLVED * scale).sum())
        if s[i].imag == 0.0:  # the lower half of a pair that rounding split off the real axis counts too
            multiplicity += int(((np.abs(raw - s[i]) <= RESOLVED * scale) & (raw.imag > 0.0)).sum())
        kept += [int(i)] * max(1, multiplicity)
    order = sorted(kept, key=lambda i: (-s[i].real, s[i].imag))
    return s[order], errors[order]


def _agree(before: np.ndarray, now: np.ndarray, longest: float) -> bool:
    if len(before) != len(now) or not len(now):
        return len(before) == len(now)
    apart = np.abs(before[:, None] - now) / (np.abs(now) + 1.0 / longest)
    return bool(max(apart.min(axis=0).max(), apart.min(axis=1).max()) <= 100.0 * SAME)


def _spectrum(system: DelaySystem, upper: np.ndarray, errors: np.ndarray, degree: int) -> Spectrum:
    """All roots from those of the upper half plane."""
    repeats = np.where(upper.imag > 0.0, 2, 1)
    s, errors = np.repeat(upper, repeats), np.repeat(errors, repeats)
    second = np.zeros(len(s), dtype=bool)
    second[np.cumsum(repeats)[repeats == 2] - 1] = True
    return Spectrum(np.where(second, s.conj(), s), errors, system.essential, system.high_frequency_gain, degree)
