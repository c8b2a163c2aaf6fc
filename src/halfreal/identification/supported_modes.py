"""Which of the poles that were fitted to free motions are modes: energy above the noise around them, and staying put.

Any recurrence has as many roots as its order: ask for more modes than a record holds, and noise is given poles.  Two
things distinguish them.  The energy that a mode alone explains is far above what its neighbours find in the residual e,

    E_r = |Q_r h|²,   Q_r: onto Re and Im of z_rᵏ, less what the other modes and a constant explain
    N_r = mean of |P_rm e|² over m = ±1 … ±6,   P_rm: onto Re and Im of (z_r e^{jmw})ᵏ

which are compared in each channel, so that units do not matter.  And the pole stays as the order of the recurrence is
raised, the old rule of stabilisation diagrams; noise of any colour has poles that wander.

Of 2880 fits with one or three modes too many (one and three channels, noise from none to 10 % of the motion, white to
that of a random walk) none passed both; with the right number of modes, 21 of 80 were refused at 10 % of white noise.

======== ==========================================================================
h, e     the motion of a channel, and what the fit leaves of it
z_r      e^{s_rΔ}, s_r a pole
w        distance of a neighbour: the mode's half-power bandwidth, two lines at least
======== ==========================================================================
"""

from __future__ import annotations

import numpy as np

from .poles import ROUNDING

LEAST_ENERGY = 100.0
"""E_r over N_r of a mode, mean of the channels: 20 dB."""
LARGEST_MOVE, AND_OF_DECAY = 0.02, 0.2
"""Of a pole when the order is raised: parts of its size and of its decay rate |Re s|, which is determined less well."""
NEIGHBOURS = 6


def powers(z: np.ndarray, count: int) -> np.ndarray:
    """z_rᵏ over ``scale``, (count, poles): at most 1, so that a pole that grows fast does not overflow."""
    log = np.log(z.astype(complex))
    return np.asarray(np.exp(np.outer(np.arange(count), log) - _shift(log, count)))


def scale(z: np.ndarray, count: int) -> np.ndarray:
    """What an amplitude of ``powers`` is multiplied with to be that at the beginning of the record."""
    log = np.log(z.astype(complex))
    return np.asarray(np.exp(-_shift(log, count)))


def _shift(log: np.ndarray, count: int) -> np.ndarray:
    """Of the last sample for poles that grow."""
    return np.where(log.real > 0.0, (count - 1) * log, 0.0)


def real_basis(z: np.ndarray, count: int) -> np.ndarray:
    """Motions of poles and their conjugates, and a constant: columns Re and −Im of ``powers``, and 1."""
    values = powers(z, count)
    return np.hstack([values.real, -values.imag, np.ones((count, 1))])


def energy_over_noise(records: np.ndarray, z: np.ndarray, others: np.ndarray) -> np.ndarray:
    """E_r/N_r of each pole z, mean of the channels, (channels, samples); ``others`` explain a part of these too."""
    every, count = np.append(z, others), records.shape[1]
    n, basis = len(every), real_basis(every, count)
    residual = records.T - basis @ np.linalg.lstsq(basis, records.T, rcond=None)[0]
    least = ROUNDING**2 * (records**2).sum(axis=1)
    found = []
    for r in range(len(z)):
        rest = np.linalg.qr(np.delete(basis, [r, n + r], axis=1))[0]
        own = basis[:, [r, n + r]]
        energy = _explained(own - rest @ (rest.T @ own), records.T)
        around = np.mean([_explained(one, residual) for one in _neighbours(z[r], count)], axis=0)
        alive = least > 0.0
        found.append(np.mean(energy[alive] / np.maximum(around, least)[alive]))
    return np.array(found)


def _neighbours(z: complex, count: int) -> list[np.ndarray]:
    """Motions of the same damping at frequencies around, as long as they lie below half the sampling rate."""
    log = np.log(z)
    width = max(2.0 * abs(log.real), 4.0 * np.pi / count)
    shifted = [log + 1j * m * width for m in range(-NEIGHBOURS, NEIGHBOURS + 1) if m]
    inside = [one for one in shifted if 0.0 < one.imag < np.pi] or [shifted[-1]]
    return [real_basis(np.exp(np.array([one])), count)[:, :2] for one in inside]


def _explained(basis: np.ndarray, signals: np.ndarray) -> np.ndarray:
    """Energy of each signal, a column, that two columns explain."""
    return np.asarray(((np.linalg.qr(basis)[0].T @ signals) ** 2).sum(axis=0))


def moves(poles: np.ndarray, others: list[np.ndarray]) -> np.ndarray:
    """How far each pole is from the nearest one of each other order, at most, as a part of what is allowed."""
    allowed = LARGEST_MOVE * np.abs(poles) + AND_OF_DECAY * np.abs(poles.real)
    far = [np.abs(poles[:, None] - found).min(axis=1, initial=np.inf) / allowed for found in others]
    return np.asarray(np.max(far, axis=0))
