"""Characteristic roots of delay systems: the rightmost ones, each with its error, and the proof that none is missed.

The roots of E x˙(t) = A_0 x(t) + Σ A_k x(t − τ_k) are those s at which Δ(s) is singular (``dde_system``).  First
guesses are the eigenvalues of a coarsely discretised generator (``dde_pseudospectral``).  Newton's method takes them to
roots, and the turns of det Δ round a small circle show how many it encloses (``dde_walk``).  How many there are at
all right of a line is counted in the same way (``dde_count``).  If that is more than were found, they are sought where
the count passed close to one, and by finer discretisations.  What the count does not confirm is not certified.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import nextafter
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..figures import BAD, GOOD, QUIET, new_figure, styled
from ..kernels.native import compile_together
from ..summaries import Summarised
from . import dde_far, dde_settle, dde_walk
from .dde_count import Characteristic
from .dde_pseudospectral import generator
from .dde_settle import known, settle, upper
from .dde_system import DelayError, DelaySystem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DelayError", "DelaySystem", "Spectrum", "abscissa", "roots"]

Verdict = Literal["stable", "unstable", "not certified"]

FIRST_DEGREE = 4
"""Of the first discretisation, more for many roots, and half as much if it would have more rows than ``FIRST_SIZE``.

Coarse, as Newton's method and the count do the rest.
"""
FIRST_SIZE = 48
LARGEST = 600
"""Rows of the largest matrix whose eigenvalues are taken as guesses, if the first discretisation is smaller."""
CLEAR = 0.05
"""Roots are sought this far, measured by 1/τ, to the right of where infinitely many gather, or half-way to 0."""
ROUNDS = 16
KERNELS = (dde_settle._settle, dde_far._radius, dde_walk._walk, dde_walk._far, dde_far._unwound, known)
"""What a search calls; the largest first, for two processes to compile."""


@dataclass(frozen=True, repr=False)
class Spectrum(Summarised):
    """Roots s [1/s], rightmost first, both of a conjugate pair and as often as they are; errors: |δs| of each at most.

    All roots right of the real part ``complete_right_of`` are among them (below the frequency requested, if one was);
    where that could not be shown it is +∞, with the ``reason``.  If the errors leave open on which side of the axis
    some of them lie, ``growing`` may still tell how many lie right of it.  ``essential`` is the real part to which
    infinitely many roots of a neutral system tend (−∞ otherwise), and ``high_frequency_gain`` the gain of which this
    comes: 1 and above is unstable for any delay.  Of some systems with several delays both are upper bounds; the gain
    is then at least ``least_gain``.
    """

    roots: np.ndarray
    errors: np.ndarray
    essential: float
    high_frequency_gain: float
    least_gain: float
    complete_right_of: float
    below_hz: float
    growing: int | None
    reason: str

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
        """Largest real part [1/s], that of the essential spectrum included; NaN if it is not certified.

        Where the rightmost of very many roots cannot be determined, as next to the essential spectrum, the real part
        right of which there are none.
        """
        value = float(max(self.roots.real.max(initial=-np.inf), self.essential))
        if self.complete_right_of <= value:
            return value
        return self.complete_right_of if 0.0 < self.complete_right_of * np.sign(value) < np.inf else np.nan

    @property
    def verdict(self) -> Verdict:
        """Stable and unstable are proven; a root that cannot be distinguished from one on the limit proves neither."""
        if self.least_gain >= 1.0 or (self.roots.real > self.errors).any() or self.growing:
            return "unstable"
        proven = self.complete_right_of <= 0.0 and self.below_hz == np.inf and self.essential < 0.0
        decaying = self.growing == 0 or bool((self.roots.real < -self.errors).all())
        return "stable" if proven and decaying else "not certified"

    @property
    def stable(self) -> bool:
        """Whether the verdict is stable: False also if it is not certified."""
        return self.verdict == "stable"

    def summary(self) -> str:
        """One sentence for people."""
        verdict = self.verdict
        if self.least_gain >= 1.0:
            return (
                f"unstable for any delay: the gain at high frequencies is {self.least_gain:.3g}, not below 1, "
                f"and infinitely many roots tend to the real part {self.essential:.3g} 1/s"
            )
        if self.roots.size and self.complete_right_of < np.inf:
            lead, error = self.roots[0], self.errors[0]
            hz = abs(lead.imag) / (2 * np.pi)
            if abs(lead.real) <= error and self.growing is None:
                return f"on the limit: the rightmost root at {hz:.4g} Hz neither grows nor decays"
            where = f"the rightmost root at {hz:.4g} Hz"
            if self.below_hz < np.inf:
                where += f" of those below {self.below_hz:.4g} Hz"
            change = f"{'grows' if lead.real > 0.0 else 'decays'} as exp({lead.real:.3g} t/s)"
            return f"{verdict}: {where} {change}"
        if verdict == "unstable" and not (self.roots.real > self.errors).any():
            return f"unstable: {self.growing} roots grow, but their location is not certified ({self.reason})"
        if verdict == "unstable":
            lead = self.roots[0]
            return (
                f"unstable: a root at {abs(lead.imag) / (2 * np.pi):.4g} Hz grows as exp({lead.real:.3g} t/s); "
                f"others may grow faster ({self.reason})"
            )
        if verdict == "stable":
            return f"stable: all roots decay at least as exp({self.complete_right_of:.3g} t/s)"
        if self.essential >= 0.0:
            return (
                f"not certified: the gain at high frequencies lies between {self.least_gain:.3g} and "
                f"{self.high_frequency_gain:.3g}, and at 1 and above the system is unstable for any delay"
            )
        return (
            "not certified: "
            f"{self.reason or 'only roots in a limited range of frequencies or real parts were requested'}"
        )

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
            axes.axvline(self.essential, color=QUIET, linestyle="--", label="accumulation of infinitely many roots")
        title = "Characteristic roots" if self.complete_right_of < np.inf else "Characteristic roots (not certified)"
        axes.set(xlabel="real part [1/s]", ylabel="frequency [Hz]", title=title)
        if axes.get_legend_handles_labels()[0]:
            axes.legend()
        return figure


def abscissa(system: DelaySystem) -> float:
    """Largest real part of the roots [1/s]; NaN if it could not be certified (``roots(system).reason`` says why)."""
    return roots(system, most=1).abscissa


def roots(
    system: DelaySystem, *, right_of: float | None = None, most: int | None = None, below_hz: float | None = None
) -> Spectrum:
    """Roots right of a real part [1/s], or the ``most`` rightmost of them, |Im s| at most ``below_hz`` if given.

    Without any of these the ten rightmost are sought.  Of a conjugate pair never one alone is given.  A neutral system
    has infinitely many roots next to the real part ``system.essential``: unless ``below_hz`` is given, the roots sought
    are those clear of it on the right.  Fewer roots than requested are given where only they can be certified.
    """
    if right_of is None and most is None:
        most = 10
    search = Search(system, most, right_of, np.inf if below_hz is None else 2 * np.pi * below_hz)
    line = search.run()
    return search.spectrum(line)


class Search:
    """Roots found so far, and the count that confirms them."""

    def __init__(self, system: DelaySystem, most: int | None, right_of: float | None, widest: float) -> None:
        compile_together((), KERNELS)
        self.system, self.widest = system, widest
        self.function = Characteristic(system)
        self.unit = self.function.unit
        self.most = np.inf if most is None else most
        self.least = -np.inf if right_of is None else right_of
        self.floor = self.least
        if system.neutral and widest == np.inf:
            c = system.essential
            if right_of is not None and right_of <= c:
                raise DelayError(
                    f"infinitely many roots lie right of {right_of:g} 1/s, because the delayed accelerations make them "
                    f"accumulate at the real part {c:.4g} 1/s; request roots right of a larger value or give below_hz"
                )
            clear = c + CLEAR * self.unit
            self.floor = self.least = max(self.least, min(clear, 0.5 * c) if c < 0.0 else clear)
        self.centres, self.radii = np.empty(4000, complex), np.empty(4000)
        self.times, self.found = np.empty(4000, np.int64), 0
        self.degree, self.reason = 0, ""
        self.enough = min(self.most, 1e9)
        self.growing: int | None = None

    def run(self) -> float:
        """The line Re s = … right of which all roots are known, +∞ if there is none."""
        self.refine()
        for _ in range(2 if self.least == -np.inf and self.most < np.inf else 0):
            if self.known(-np.inf, self.widest) >= self.most:
                break
            self.refine()
        for wanted in (self.most, 1):
            failed = np.nan
            for _ in range(ROUNDS):
                sigma, top = self.line(wanted)
                if sigma == failed:
                    break
                count = self.function.count(sigma, top)
                known = self.known(sigma, top)
                if count.number == known:
                    if self.found and abs(self.lead()) <= self.radii[: self.found].max():
                        self.growing = self.function.count(0.0, self.widest).number
                    return sigma
                self.reason = count.reason or f"{count.number} roots lie right of {sigma:.4g} 1/s, {known} were found"
                if self.system.gains[0] >= 1.0:
                    return np.inf  # unstable anyway
                if count.number is None:
                    failed = sigma
                before = self.found
                self.enough = 1e9 if count.number is None else max(self.enough, count.number)
                self.add(self.guesses)
                self.add(count.seeds)
                if self.found == before and not self.more(sigma, top):
                    break
            if self.most == 1:
                break
        if self.found:  # the leading roots may be too close to each other for a line between them
            lead = self.lead()
            for away in self.unit * 10.0 ** np.arange(-6, 0):
                if self.function.count(lead + away, self.widest).number == 0 and abs(lead) > away:
                    return lead + float(away)
        self.growing = self.function.count(0.0, self.widest).number
        return 0.0 if self.growing == 0 == self.known(0.0, self.widest) else np.inf

    def more(self, sigma: float, top: float) -> bool:
        """Whether roots could be sought on: on lines further right, and by a finer discretisation."""
        before = self.found
        for away in (0.3, 1.0, 3.0):
            self.add(self.function.count(sigma + away * self.unit, top).seeds)
        return self.found > before or self.refine()

    def refine(self) -> bool:
        """Guesses from the next finer discretisation, if there is one."""
        loop = self.function.loop
        first = not self.degree
        fine = FIRST_DEGREE + int(1.5 * min(self.most, 40))
        degree = 2 * self.degree or min(fine, max((FIRST_SIZE - len(loop.a)) // max(len(loop.c), 1), FIRST_DEGREE // 2))
        if not first and (len(loop.a) + degree * len(loop.c) > LARGEST or not len(loop.c)):
            return False
        self.degree = degree
        raw = np.linalg.eigvals(generator(loop, self.system.delays, degree))
        left = max(-100.0, (self.least / self.unit) - 1.0)
        # a poor approximation may lie left of its root
        slack = 0.1 if self.least > -np.inf else 0.0
        raw = upper(raw.astype(complex), left * self.unit, slack, 1.5 * self.widest + self.unit)
        if self.most < np.inf:
            raw = raw[: 2 * int(self.most) + 6]
        self.guesses = raw
        self.add(raw, 1 if first else 2)
        return True

    def add(self, guesses: np.ndarray, ways: int = 1) -> None:
        """Take guesses to roots."""
        store = self.centres, self.radii, self.times
        for data in islice(self.function.ways(), ways):
            self.found = settle(data, guesses, self.unit, self.enough, *store, self.found)

    def line(self, wanted: float) -> tuple[float, float]:
        """A line Re s = σ left of the roots wanted, and one at Im s = top above them, both clear of roots."""
        s, radii = self.centres[: self.found], self.radii[: self.found]
        top = self.widest
        if top < np.inf:
            top = _clear_of(top, s.imag, radii, self.unit, up=True)
            inside = s.imag < top
            s, radii = s[inside], radii[inside]
        order = np.argsort(-s.real, kind="stable")
        x, errors = s.real[order].tolist(), radii[order].tolist()
        last = 0
        while last < len(x) and known(self.centres, self.times, self.found, nextafter(x[last], -np.inf), top) < wanted:
            last += 1
        if last >= len(x):  # not as many are known
            low = max(x[-1] - 0.5 * self.unit if x else 0.0, self.least)
            sigma = self.least if self.least > -np.inf and wanted == self.most else low
        else:
            further = self.guesses.real[self.guesses.real < x[-1] - 1e-6 * self.unit][:1].tolist()  # to be expected
            sigma = max(_gap(x + further, errors + [0.0] * len(further), last, self.unit), self.least)
        if sigma == self.least:
            sigma = _clear_of(sigma, s.real, radii, self.unit, up=bool(self.system.neutral and self.widest == np.inf))
        return sigma, top

    def lead(self) -> float:
        s = self.centres[: self.found]
        return float(s.real[s.imag <= self.widest].max(initial=-np.inf))

    def known(self, sigma: float, top: float) -> int:
        return int(known(self.centres, self.times, self.found, sigma, top))

    def spectrum(self, line: float) -> Spectrum:
        """All roots requested, both of a pair."""
        left = max(self.least, min(line, self.lead() - 1e-9 * self.unit)) if line < np.inf else self.least
        n = self.found
        places = zip(self.centres[:n].tolist(), self.radii[:n].tolist(), self.times[:n].tolist(), strict=True)
        found = sorted((-s.real, s.imag, e, t) for s, e, t in places if s.real > left and s.imag <= self.widest)
        s: list[complex] = []
        errors: list[float] = []
        for real, imag, error, times in found:
            if len(s) >= self.most:
                line = max(line, -real)
                break
            both = [complex(-real, imag), complex(-real, -imag)] if imag > 0.0 else [complex(-real, 0.0)]
            s += both * times
            errors += [error] * (len(both) * times)
        system = self.system
        return Spectrum(
            np.array(s, dtype=complex),
            np.array(errors),
            system.essential,
            system.gains[1],
            system.gains[0],
            line,
            self.widest / (2 * np.pi),
            self.growing,
            "" if line < np.inf else self.reason,
        )


def _gap(x: list[float], errors: list[float], last: int, unit: float) -> float:
    """A real part left of x[last] in the next gap wide enough, or in the widest of the next few."""
    best, widest = 0.0, -1.0
    for j in range(last, min(last + 8, len(x))):
        low = x[j + 1] + 2.0 * errors[j + 1] if j + 1 < len(x) else x[j] - unit
        high = x[j] - 2.0 * errors[j]
        width = high - low
        if width > widest:
            best, widest = high - min(0.5 * width, 0.5 * unit), width
        if width > 1e-6 * unit + 1e-3 * abs(x[j]):
            break
    return best


def _clear_of(value: float, places: np.ndarray, radii: np.ndarray, unit: float, *, up: bool) -> float:
    """The value, moved up or down to where it is clear of all places."""
    sign = 1.0 if up else -1.0
    for away in (0.0, *(1e-6 * 4.0 ** np.arange(10))):
        tried = value + sign * away * unit
        if not (np.abs(places - tried) <= 3.0 * radii + 0.3 * away * unit + 1e-9 * unit).any():
            return float(tried)
    return value
