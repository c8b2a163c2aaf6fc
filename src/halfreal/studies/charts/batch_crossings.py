"""Where the roots of many loops of one shape cross the imaginary axis as their phase or their delay is turned.

    det(I + L(jω) e^{−jψ}) = 0        an eigenvalue μ of L(jω) has |μ| = 1, and ψ = ψ₀ = arg μ + π

ψ is a phase lag, or ωτ for a delay τ, so that the critical delays are (ψ₀ + 2πn)/ω.  A root crosses to the right as ψ
grows if |μ| falls with ω, to the left if it rises.  For continuous loops of one channel the frequencies are the
imaginary eigenvalues of the Hamiltonian matrix (S. Boyd, V. Balakrishnan, P. Kabamba, Math. Control Signals Syst. 2
(1989) 207–219, doi 10.1007/BF02551385; R = 1 − D²)

    H = ⎡ A + B R⁻¹ D C            B R⁻¹ Bᵀ           ⎤
        ⎣ −Cᵀ (1 + D R⁻¹ D) C     −(A + B R⁻¹ D C)ᵀ  ⎦

of all loops at once, polished by Newton's method on ln|L(jω)|; for others ``halfreal.stability.margins`` finds them one
loop after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...contracts.state_space import StateSpace
from ...stability.margins import delay_margin

NEAR_AXIS = 1e-5
"""|Re s|/|s| up to which an eigenvalue is tried as a crossing; the polishing decides."""
CROSSES = 1e-10
"""|ln|L|| up to which a polished frequency is a crossing."""
LIMIT = 1e-10
"""Growth rate, as a part of the fastest pole, up to which a pole is on the limit and not yet unstable."""


@dataclass(frozen=True)
class Crossings:
    """Crossings of one loop by rising frequency."""

    omega: np.ndarray
    """Frequencies [rad/s]."""
    lag: np.ndarray
    """ψ₀ [rad], 0 to 2π."""
    direction: np.ndarray
    """1 if a pair of roots becomes unstable there as the lag grows, −1 if stable."""
    unstable: int
    """Unstable roots without any lag."""
    beyond: bool
    """The loop gain at high frequency is at least one: endlessly many roots are unstable with any delay."""


def crossings_of(loops: Sequence[StateSpace]) -> list[Crossings]:
    """Crossings of every loop; the loops have as many channels each."""
    if loops and loops[0].dt is None and loops[0].channels == 1:
        return _in_batches(loops)
    found = []
    for loop in loops:
        margin = delay_margin(loop)
        order = np.argsort(margin.omega)
        beyond = margin.beyond_one > 0 if loop.dt is not None else margin.high_frequency_gain >= 1.0
        found.append(
            Crossings(
                margin.omega[order],
                margin.lag[order],
                margin.direction[order].astype(int),
                int(margin.unstable_without_delay),
                bool(beyond),
            )
        )
    return found


def _in_batches(loops: Sequence[StateSpace]) -> list[Crossings]:
    """Those with as many states at once."""
    found: dict[int, Crossings] = {}
    for states in {loop.states for loop in loops}:
        which = [i for i, loop in enumerate(loops) if loop.states == states]
        found |= zip(which, _single_channel([loops[i] for i in which]), strict=True)
    return [found[i] for i in range(len(loops))]


def _single_channel(loops: Sequence[StateSpace]) -> list[Crossings]:
    a = np.array([loop.a for loop in loops])
    b = np.array([loop.b for loop in loops])
    c = np.array([loop.c for loop in loops])
    d = np.array([loop.d for loop in loops])
    unstable = _unstable(a - b @ (c / (1.0 + d)))
    beyond = np.abs(d[:, 0, 0]) >= 1.0
    r = 1.0 - np.where(beyond[:, None, None], 0.0, d) ** 2
    inner = a + b @ (d / r * c)
    hamiltonian = np.block(
        [[inner, b @ b.transpose(0, 2, 1) / r], [-c.transpose(0, 2, 1) @ (c / r), -inner.transpose(0, 2, 1)]]
    )
    values = np.linalg.eigvals(hamiltonian)
    size = np.abs(values).max(axis=1, keepdims=True)
    close = (np.abs(values.real) <= NEAR_AXIS * np.abs(values)) & (values.imag > 1e-9 * size) & ~beyond[:, None]
    rows, columns = np.nonzero(close)
    omega, response, slope = _polished(values.imag[rows, columns], a[rows], b[rows], c[rows], d[rows])
    good = (np.abs(np.log(np.abs(response))) <= CROSSES) & (omega > 0.0)
    lag = np.mod(np.angle(response) + np.pi, 2.0 * np.pi)
    direction = np.where(slope < 0.0, 1, -1)
    found = []
    for row in range(len(loops)):
        mine = np.flatnonzero(good & (rows == row))
        mine = mine[np.argsort(omega[mine])]
        found.append(Crossings(omega[mine], lag[mine], direction[mine], int(unstable[row]), bool(beyond[row])))
    return found


def _unstable(closed: np.ndarray) -> np.ndarray:
    poles = np.linalg.eigvals(closed)
    return np.asarray(np.sum(poles.real > LIMIT * np.abs(poles).max(axis=1, keepdims=True), axis=1))


def _polished(
    omega: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ω with ln|L(jω)| = 0 next to the given ones, L there, and the slope of ln|L| by ω."""
    eye = np.eye(a.shape[1])
    for step in range(4):
        resolvent = 1j * omega[:, None, None] * eye - a
        state = np.linalg.solve(resolvent, b.astype(complex))
        response = (c @ state + d)[:, 0, 0]
        derivative = -1j * (c @ np.linalg.solve(resolvent, state))[:, 0, 0]
        slope = (derivative / response).real
        if step < 3:  # at a fold the slope vanishes: a step no longer than a thousandth of the frequency
            wanted = np.log(np.abs(response)) / np.where(slope == 0.0, np.inf, slope)
            omega = omega - np.clip(wanted, -1e-3 * omega, 1e-3 * omega)
    return omega, response, slope
