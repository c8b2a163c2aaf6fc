"""Simultaneous identification and adaption (QR-RLS) on paper: how fast small errors of the drive die out.

With its transfer functions kept, a feed-forward by recursive least squares (``halfreal.couplings.harmonic.rls``) moves
no pole.  While it continues identifying, it does: a drive that changes rings in the plant, the ringing is taken for a
change of H, and that changes the drive.  Around its steady state, in amplitudes that turn with the harmonic ω and
smoothed over the memories T and T_id, small errors δψ of the drive and ε = δĤ ψ of what it is believed to do obey

    T_id ε˙ = −ε + [H(jω + s) − H(jω)] δψ            what the plant does next to its steady state, as identified
    T δψ˙ = −δψ − H(jω)⁻¹ ε                          the drive that would close the gap if that were so

with H(jω + s) the plant seen from the turning amplitudes.  The slower of the memories, and modes of the plant near ω
that ring longer than these, decide how fast the gap closes; too short memories make the loop grow.  Harmonics are taken
one by one, as memories long enough to separate them do.

======== ==============================================================
H        transfer function of the plant from drive to gap, n axes
ψ, ε     amplitude of the drive; error of its believed effect on the gap
T, T_id  memories of adaption and identification
======== ==============================================================
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import matrix_balance, schur, solve_sylvester

from ...contracts.state_space import StateSpace

REACH, SHORT = 30.0, 0.5
"""Modes further than this from the harmonic, in radians within the shortest memory, that ring for a shorter part of it
than this, answer at once."""


def near(plant: StateSpace, hz: float, shortest: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A, B, C, D (complex) of the modes near a harmonic or ringing long; all others answer as in steady state, in D."""
    assert plant.dt is not None
    dt, omega = plant.dt, 2 * np.pi * hz

    def kept(pole: complex) -> bool:
        if abs(pole) < 1e-12:
            return False
        s = np.log(complex(pole)) / dt
        away = min(abs(s - 1j * omega), abs(s + 1j * omega))
        return bool(away * shortest <= REACH or -s.real * shortest * SHORT <= 1.0)

    balanced, scale = matrix_balance(plant.a, permute=False)  # states differ by many orders of magnitude
    form, basis, count = schur(balanced, output="complex", sort=kept)
    scales = np.diag(scale)
    b, c = basis.conj().T @ (plant.b / scales[:, None]), (plant.c * scales) @ basis
    first, rest, across = form[:count, :count], form[count:, count:], form[:count, count:]
    if 0 < count < plant.states:  # part the two: x₁ − X x₂ does not feel x₂
        parting = solve_sylvester(first, -rest, -across)
        b = np.vstack([b[:count] - parting @ b[count:], b[count:]])
        c = np.hstack([c[:, :count], c[:, count:] + c[:, :count] @ parting])
    steady = plant.response(np.array([omega]))[0]
    turned = np.exp(1j * omega * dt) * np.eye(count) - first
    direct = steady - c[:, :count] @ np.linalg.solve(turned, b[:count])
    return first, b[:count], c[:, :count], direct


def growth_rates(plant: StateSpace, hz: float, memory: np.ndarray, identification_memory: np.ndarray) -> np.ndarray:
    """Rate [1/s] at which the slowest error decays (negative) or grows, for pairs (T, T_id) of any one shape."""
    assert plant.dt is not None
    dt = plant.dt
    memory, identification_memory = np.broadcast_arrays(memory, identification_memory)
    steady = plant.response(np.array([2 * np.pi * hz]))[0]
    a, b, c, d = near(plant, hz, float(min(memory.min(), identification_memory.min())))
    k, n = len(a), len(steady)
    back = np.exp(-2j * np.pi * hz * dt)
    fresh = (1.0 - np.exp(-dt / memory.ravel()))[:, None, None]
    learnt = (1.0 - np.exp(-dt / identification_memory.ravel()))[:, None, None]
    believed = learnt * np.hstack([c, d - steady, -np.eye(n)])
    believed[:, :, k + n :] += np.eye(n)
    matrix = np.zeros((fresh.size, k + 2 * n, k + 2 * n), dtype=complex)
    matrix[:, :k, :k], matrix[:, :k, k : k + n] = back * a, back * b
    matrix[:, k : k + n] = -fresh * (np.linalg.inv(steady) @ believed)
    matrix[:, k : k + n, k : k + n] += (1.0 - fresh) * np.eye(n)
    matrix[:, k + n :] = believed
    largest = np.abs(np.linalg.eigvals(matrix)).max(axis=-1)
    return np.asarray(np.log(largest).reshape(memory.shape) / dt)
