"""Poles of a sampled loop against its delay, each followed from sample to sample.

A delay of n samples is a shift register of n states per channel, r_1⁺ = y and r_i⁺ = r_{i−1}, whose end drives the open
loop x⁺ = A x + B u, y = C x + D u by u = −r_n.  The eigenvalues λ of

    ⎡ A  0 … −B ⎤
    ⎢ C  0 … −D ⎥   of (x, r_1, …, r_n)
    ⎣ 0  I …  0 ⎦

are the closed loop's poles, with s = ln λ / Δt of frequency |s|/2π and damping ratio −Re s/|s|.  Each sample of delay
brings in one more pole per channel, which starts at λ = 0, and it is often such a pole that makes the loop unstable,
not one of the structure's.  From one delay to the next poles are matched to where the two before let expect them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..contracts.state_space import StateSpace
from ..errors import HalfrealError
from ..figures import BAD, QUIET, new_figure, styled
from ..summaries import Summarised
from .matching import extrapolated, matched

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGEST = 500
"""States of the largest closed loop: all delays up to it take some ten seconds."""
GONE = 1e-9
"""A pole of this modulus or less is a sample that merely drops out."""


@dataclass(frozen=True, repr=False)
class Tracks(Summarised):
    """Poles λ (delays, tracks) of the loop with 0, 1, 2, … samples of delay, NaN before a pole is brought in.

    The first ``own`` tracks are the loop's poles without delay, the others those that the delay brings in.
    """

    poles: np.ndarray
    dt: float
    own: int

    @property
    def delays_s(self) -> np.ndarray:
        return self.dt * np.arange(len(self.poles))

    @cached_property
    def rates(self) -> np.ndarray:
        """s = ln λ / Δt [1/s], NaN where there is no pole or where it is at λ = 0."""
        alive = np.abs(self.poles) > GONE  # false for NaN
        return np.where(alive, np.log(np.where(alive, self.poles, 1.0)) / self.dt, np.nan)

    @property
    def frequency_hz(self) -> np.ndarray:
        return np.asarray(np.abs(self.rates) / (2 * np.pi))

    @property
    def damping(self) -> np.ndarray:
        """Damping ratios; NaN for a pole at rest (λ = 1) too."""
        size = np.abs(self.rates)
        return np.asarray(-self.rates.real / np.where(size > 0, size, np.nan))

    @property
    def radius(self) -> np.ndarray:
        """Largest |λ| at each delay."""
        return np.asarray(np.nanmax(np.abs(self.poles), axis=1))

    @property
    def first_unstable(self) -> int | None:
        """Samples of the shortest delay that is unstable; None if there is none."""
        over = np.flatnonzero(self.radius >= 1.0)
        return int(over[0]) if over.size else None

    @property
    def critical(self) -> int | None:
        """Track, of the upper half plane, that goes unstable first."""
        at = self.first_unstable
        if at is None:
            return None
        return int(np.nanargmax(np.where(self.poles[at].imag >= 0.0, np.abs(self.poles[at]), -1.0)))

    def summary(self) -> str:
        """One sentence for people."""
        at, track = self.first_unstable, self.critical
        if at is None or track is None:
            return f"stable up to the longest delay analysed, {1e3 * self.delays_s[-1]:.4g} ms"
        whose = "a pole of the loop itself" if track < self.own else "a pole added by the delay"
        hz = self.frequency_hz[at, track]
        return f"unstable from a delay of {1e3 * at * self.dt:.4g} ms ({at} samples): {whose}, at {hz:.4g} Hz, grows"

    @styled
    def plot(self, below_hz: float | None = None) -> Figure:
        """Frequency and damping against the delay, up to ``below_hz`` or twice the loop's own fastest pole."""
        figure = new_figure(6.0, 4.6)
        above, below = figure.subplots(2, 1, sharex=True)
        upper = self.poles.imag >= 0.0
        hz = np.where(upper, self.frequency_hz, np.nan)
        if below_hz is None:
            below_hz = 2.0 * float(np.nanmax(self.frequency_hz[:, : self.own], initial=0.0)) or 0.5 / self.dt
        shown = upper & (hz <= below_hz)
        delays = 1e3 * self.delays_s
        for track in range(self.poles.shape[1]):
            points = shown[:, track]
            if not points.any():
                continue
            line = "-" if track < self.own else "--"
            frequency = np.where(points, hz[:, track], np.nan)
            (drawn,) = above.plot(delays, frequency, line, marker=".", markersize=3)
            damping = 100 * np.where(points, self.damping[:, track], np.nan)
            below.plot(delays, damping, line, marker=".", markersize=3, color=drawn.get_color())
        below.axhline(0.0, color=QUIET, linewidth=0.9)
        if self.first_unstable is not None:
            for axes in (above, below):
                axes.axvspan(delays[self.first_unstable], delays[-1], facecolor=BAD, alpha=0.12)
                axes.axvline(delays[self.first_unstable], color=BAD, linewidth=0.9)
        above.set(ylabel="frequency [Hz]", title="Poles against the delay (dashed: added by it)")
        below.set(xlabel="delay [ms]", ylabel="damping ratio [%]")
        return figure


def delayed(loop: StateSpace, samples: int) -> np.ndarray:
    """Transition matrix of the open loop closed by u = −y through a delay of ``samples``."""
    if samples == 0:
        return loop.closed()
    n, m = loop.states, loop.channels
    matrix = np.zeros((n + samples * m, n + samples * m))
    matrix[:n, :n] = loop.a
    matrix[n : n + m, :n] = loop.c
    matrix[n + m :, n:-m] = np.eye((samples - 1) * m)
    matrix[:n, -m:] = -loop.b
    matrix[n : n + m, -m:] -= loop.d
    return matrix


def track(loop: StateSpace, samples: int) -> Tracks:
    """Follow the poles of the closed loop while its delay grows from 0 to ``samples``."""
    if loop.dt is None:
        raise HalfrealError("the open loop is continuous; use halfreal.stability.dde")
    size = loop.states + samples * loop.channels
    if size > LARGEST:
        raise HalfrealError(
            f"a delay of {samples} samples makes {size} states, more than {LARGEST}; "
            f"follow the poles to a shorter delay, or of a loop with a longer step"
        )
    poles = np.full((samples + 1, size), np.nan, dtype=complex)
    count = np.arange(samples + 1)
    for n in range(samples + 1):
        now = np.linalg.eigvals(delayed(loop, n)).astype(complex)
        if n == 0:
            order = np.lexsort((-now.imag, np.abs(np.angle(now))))
            poles[0, : len(now)] = now[order]
            continue
        before = len(now) - loop.channels
        expected = [extrapolated(count[: n + 1], poles[:n, i]) for i in range(before)]
        pairs = matched(np.array(expected + [0j] * loop.channels), now)
        poles[n, list(pairs)] = now[list(pairs.values())]
    return Tracks(poles, loop.dt, loop.states)
