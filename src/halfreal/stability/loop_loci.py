"""The loci (``loci.py``) of the open loop that runs, and of measured lines."""

from __future__ import annotations

import numpy as np

from ..contracts.state_space import StateSpace
from .condensed import Condensed
from .frf import FRF, DataMargins, branches
from .loci import Loci
from .margins import DelayMargin
from .nyquist import smooth

LINES = 250
"""To begin with; more follow where the curve bends."""
MOST_LINES = 1200
BELOW = 10.0
"""The lines begin this many times below the slowest oscillation of the open loop, or crossing of its gain."""
TURN = 0.1
"""Largest step [rad] of a locus, or of its log-magnitude, between two lines."""
CLOSE = 1e-9
"""Damping ratio of a pole, and relative distance from it, below which L, which is infinite there, is not evaluated."""
DAMPED = 0.9
"""Damping ratio from which on a pole of the open loop counts as no oscillation."""


def loci_of(loop: StateSpace | Condensed, margin: DelayMargin) -> Loci:
    """Of a sampled loop whose exact margins are known."""
    omega = _lines(loop, margin)
    values = branches(loop.response(omega))
    known = np.isfinite(margin.gains) & (margin.gains > 0.0)
    return Loci(
        frequency_hz=omega / (2 * np.pi),
        values=values,
        crossing_hz=margin.frequency_hz,
        lag_deg=_signed(margin.phases_deg, margin.stable_without_delay),
        harmful=margin.direction >= 0,
        gain_hz=np.atleast_1d(margin.gain_omega)[known] / (2 * np.pi),
        gain_db=20.0 * np.log10(margin.gains[known]),
        text=margin.summary(),
    )


def loci_of_data(loop: FRF, margins: DataMargins | None, text: str, stable: bool = True) -> Loci:
    """Of measured lines, without marks where their margins cannot be determined."""
    none = np.zeros(0)
    lag = none if margins is None else _signed(margins.phase_deg, stable)
    return Loci(
        frequency_hz=loop.frequency_hz,
        values=branches(loop.response),
        crossing_hz=none if margins is None else margins.frequency_hz,
        lag_deg=lag,
        harmful=np.ones(0 if margins is None else len(margins.frequency_hz), dtype=bool),
        gain_hz=none if margins is None else margins.gain_frequency_hz,
        gain_db=none if margins is None else margins.gain_db,
        text=text,
    )


def _signed(lag_deg: np.ndarray, stable: bool) -> np.ndarray:
    """Lags of 0 to 360°; of an unstable loop those that are nearer the other way are leads, negative."""
    return np.asarray(lag_deg if stable else np.where(lag_deg > 180.0, lag_deg - 360.0, lag_deg))


def _lines(loop: StateSpace | Condensed, margin: DelayMargin) -> np.ndarray:
    """Frequencies [rad/s] from below all that oscillates up to half the sampling rate, closer where L bends."""
    assert loop.dt is not None
    top = np.pi / loop.dt
    poles = loop.poles()
    poles = np.log(poles[np.abs(poles) > 1e-6].astype(complex)) / loop.dt
    size = np.abs(poles)
    slow = size[(-poles.real < DAMPED * size) & (poles.imag > 0.0) & (size < top)]
    low = min(np.min(slow, initial=top / 10.0), np.min(margin.omega, initial=top / 10.0)) / BELOW
    around = np.abs(poles.imag)[:, None] + np.abs(poles.real)[:, None] * np.array([-1.0, 0.0, 1.0])
    begin = np.concatenate([np.geomspace(low, top, LINES), around[(around > low) & (around < top)], margin.omega])
    undamped = np.abs(poles.imag)[np.abs(poles.real) < CLOSE * size]

    def next_to_poles(omega: np.ndarray) -> np.ndarray:
        for pole in undamped:
            side = pole * (1.0 + CLOSE * np.where(omega < pole, -1.0, 1.0))
            omega = np.where(np.abs(omega - pole) < CLOSE * pole, side, omega)
        return omega

    lines = smooth(lambda omega: _turns(loop.response(next_to_poles(omega))), np.unique(begin), MOST_LINES, TURN)
    return np.unique(next_to_poles(lines))


def _turns(response: np.ndarray) -> np.ndarray:
    """Functions of L that bend where its eigenvalues do, regardless of their order; of one channel L itself too."""
    eye = np.eye(response.shape[1])
    columns = [np.linalg.det(eye + factor * response) for factor in (1, -1, 1j, -1j)]
    return np.column_stack([*columns, response[:, 0, 0]] if len(eye) == 1 else columns)
