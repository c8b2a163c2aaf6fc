"""Delay and amplitude of a rig over time: how late the measured motion is in one window after another.

In each window y(t) ≈ a x(t − τ) is solved for a and τ: first at the peak of their correlation, then by Gauss and
Newton's iteration on the cubic spline through x, of which the residual is linear in the unknowns a and −aδ:

    y ≈ a x(t − τ) − a δ x'(t − τ),      τ ← τ + δ

Windows in which x hardly moves, or y does not follow it, determine nothing and give NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import HalfrealError
from ..summaries import Summarised
from .frf import pair

ITERATIONS = 8
LEAST_CORRELATION = 0.5
QUIET = 1e-3
"""Part of the largest rms of x in any window below which a window is too quiet to be used."""


@dataclass(frozen=True, repr=False)
class DelayTrack(Summarised):
    """At the middle of each window [s]: delay [s], amplitude, and the part of y's variance that is explained."""

    time: np.ndarray
    delay: np.ndarray
    amplitude: np.ndarray
    explained: np.ndarray

    def summary(self) -> str:
        told = self.delay[np.isfinite(self.delay)]
        if not told.size:
            return "no window determines a delay"
        return (
            f"delay {1e3 * np.median(told):.4g} ms (median of {told.size} windows), from {1e3 * told.min():.4g} to "
            f"{1e3 * told.max():.4g} ms; amplitude {np.nanmedian(self.amplitude):.4g}"
        )


def track_delay(
    x: np.ndarray, y: np.ndarray, dt: float, *, window: float, longest: float, every: float | None = None
) -> DelayTrack:
    """Delay of y behind x, both sampled every ``dt`` [s].

    Parameters
    ----------
    window
        Length of a window [s]; ``every`` so much one begins, half a window if left out.
    longest
        Largest delay, or lead, that is looked for [s].
    """
    from scipy.interpolate import CubicSpline

    x, y = pair(x, y)
    length, reach = round(window / dt), int(np.ceil(longest / dt)) + 2
    stride = max(round((window / 2 if every is None else every) / dt), 1)
    if length < 16 or x.size < length + 2 * reach:
        raise HalfrealError(
            f"{x.size} samples do not hold a window of {window:g} s ({length} samples, at least 16) and {longest:g} s "
            "on either side; record longer, or choose a shorter window"
        )
    spline = CubicSpline(np.arange(x.size), x)
    slope = spline.derivative()
    starts = np.arange(reach, x.size - length - reach + 1, stride)
    parts = np.lib.stride_tricks.sliding_window_view(x, length)[starts]
    loud = QUIET * float(np.std(parts, axis=1).max())
    rows = [
        _window(spline, slope, x, y, int(start), length, reach) if np.std(part) > loud else (np.nan,) * 3
        for start, part in zip(starts, parts, strict=True)
    ]
    steps, amplitude, explained = np.array(rows).T
    return DelayTrack((starts + 0.5 * (length - 1)) * dt, steps * dt, amplitude, explained)


def _window(
    spline: object, slope: object, x: np.ndarray, y: np.ndarray, start: int, length: int, reach: int
) -> tuple[float, float, float]:
    """Delay in steps, amplitude and explained part of one window."""
    assert callable(spline) and callable(slope)
    wanted = y[start : start + length]
    wanted = wanted - wanted.mean()
    around = x[start - reach : start + length + reach]
    shifted = np.lib.stride_tricks.sliding_window_view(around, length)
    size = length * np.var(shifted, axis=1)
    correlation = shifted @ wanted / np.sqrt(np.maximum(size, 1e-12 * size.max()))
    tau = float(reach - int(np.argmax(correlation)))
    at = np.arange(start, start + length)
    amplitude = explained = np.nan
    for _ in range(ITERATIONS):
        value, rate = spline(at - tau), slope(at - tau)
        columns = np.column_stack([value, -rate, np.ones(length)])
        solved = np.linalg.lstsq(columns, wanted, rcond=None)[0]
        amplitude = float(solved[0])
        left = wanted - columns @ solved
        explained = 1.0 - float(left @ left) / max(float(wanted @ wanted), 1e-300)
        if amplitude == 0.0:
            break
        move = float(np.clip(solved[1] / amplitude, -2.0, 2.0))
        tau = float(np.clip(tau + move, -reach, reach))
        if abs(move) < 1e-9:
            break
    if explained < LEAST_CORRELATION or abs(tau) >= reach - 1:
        return np.nan, np.nan, explained
    return tau, amplitude, explained
