"""A test with harmonic feed-forward as plain numbers: a drive Σ Re q_i of one actuator whose amplitudes are adapted.

    (M + m) y¨ + (C + c) y˙ + (K + k) y = u, held over a tick      specimen and what moves with it; exact
    f = M y¨ + C y˙ + K y                                          on the structure, whose target z should be y
    g = y − z;  z₀ is what z would be without f                    q_i = ψ_i e^{jω_i t}

    least mean squares            q_i ← q_i − (2Δt/T) g / H_i
    recursive least squares       ψ from Σ fade (Re Σ H_i q_i − z₀)², with H from Σ fade (g + z₀ − Re Σ H_i q_i)²

Both sums are kept as normal equations.  H has a floor: an amplitude that the present drive says little of, less than a
quarter of what it would in a memory, stays near its first value.  While H is larger than at first, ticks count less.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.linalg import expm

from .simulate import Test, _exactly, _rows, excitation
from .ticks import AWAY, _newmark, _solve

PRIOR, FIRST, FLOOR, WEAKEST = 0.25, 1e-6, 0.25, 1e-6
"""Seconds that speak for no drive at first; weight of the first H [N²]; part of a memory; part of the drive."""


@njit(cache=True)
def _turned(z, row):
    """The row (Re z, −Im z) of each entry: its product with (Re a, Im a) is Re Σ z a."""
    for i in range(z.size):
        row[2 * i], row[2 * i + 1] = z[i].real, -z[i].imag


@njit(cache=True)
def _solution(matrix, right):
    """x of A x = b."""
    x = right.copy()
    _solve(matrix.copy(), x)
    return x


@njit(cache=True)
def _pivot(matrix, place):
    """Square of an entry on the diagonal of the Cholesky factor."""
    n = place + 1
    factor = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            total = matrix[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = total / factor[j, j]
        total = matrix[i, i]
        for k in range(i):
            total -= factor[i, k] ** 2
        factor[i, i] = np.sqrt(max(total, 0.0))
    return factor[place, place] ** 2


@njit(cache=True)
def _structure(state, before, now, dt, linear, transition, earlier, later, mass, damping, stiffness, v_codes, v_values,
               v_along, v_memory, push, work, slope):  # fmt: skip
    """A tick of the structure under (e, f) at its beginning and end."""
    dofs = push.size
    if linear:
        state[: 2 * dofs] = transition @ state[: 2 * dofs] + earlier @ before + later @ now
        return
    loads = push * now[0]
    loads[0] -= now[1]
    _newmark(dt, mass, damping, stiffness, v_codes, v_values, v_along, v_memory, state, loads, work, slope)


@njit(cache=True)
def run(e, first, state, twin, inputs, rig, known, drive, sums, memory, twin_memory, given, structure, rig_matrices,
        late, gain, log):  # fmt: skip
    """Tick after tick; how many ticks were run.

    ``known`` is H, as at first and as it is; ``drive`` ψ of RLS or q of LMS, q as it was, and u as it was.
    """
    dt, omega, memories = given
    (linear, transition, earlier, later, mass, damping, stiffness, push, v_codes, v_values, v_along) = structure
    moves, held, held_late, reads = rig_matrices
    count, learns = omega.size, memories[1] > 0.0
    size = 2 * count
    turn = np.exp(1j * omega * dt)
    fades = np.exp(-dt / memories[0]), np.exp(-dt / memories[1]) if learns else 0.0
    row, work, slope = np.zeros(size), np.zeros((5, max(push.size, 2))), np.zeros((push.size, push.size))
    old, now = np.zeros(2), np.zeros(2)
    for k in range(e.size):
        old[:] = inputs
        now[0], now[1] = e[k], gain * rig[2]
        _structure(state, old, now, dt, linear, transition, earlier, later, mass, damping, stiffness, v_codes, v_values,
                   v_along, memory, push, work, slope)  # fmt: skip
        inputs[:] = now
        old[1] = now[1] = 0.0
        _structure(twin, old, now, dt, linear, transition, earlier, later, mass, damping, stiffness, v_codes, v_values,
                   v_along, twin_memory, push, work, slope)  # fmt: skip
        z, y = state[0], rig[0]
        log[k, 0], log[k, 1] = z, inputs[1]
        gap = y - z
        if not learns:
            for i in range(count):
                drive[1, i] = drive[1, i] * turn[i] - 2.0 * dt / memories[0] * gap / known[1, i]
            u = drive[1].real.sum()
        else:
            phase = np.exp(1j * (omega * ((first + k) * dt)))
            q = drive[0] * phase
            share = 1.0
            for i in range(count):
                share = min(share, abs(known[0, i]) / max(abs(known[1, i]), 1e-300))
            _turned(share * known[1] * phase, row)
            sums[0] *= fades[0]
            sums[0, :size] += np.outer(row, row)
            sums[0, size] += share * twin[0] * row
            found = _solution(sums[0, :size], sums[0, size])
            power = (q.real**2 + q.imag**2).sum()
            if power > 0.0:
                _turned(q, row)
                sums[1] *= fades[1]
                sums[1, :size] += np.outer(row, row)
                sums[1, size] += (gap + twin[0]) * row
                place = int(sums[2, 0, 0])
                sums[2, 0, 0] = (place + 1) % size
                i = place // 2
                least = FLOOR * memories[1] / dt / 2.0 * max(abs(q[i]) ** 2, WEAKEST * power)
                missing = least - _pivot(sums[1, :size], place)
                if missing > 0.0:
                    sums[1, place, place] += missing
                    sums[1, size, place] += missing * (known[0, i].imag if place % 2 else known[0, i].real)
                rows = _solution(sums[1, :size], sums[1, size])
                for j in range(count):
                    known[1, j] = rows[2 * j] + 1j * rows[2 * j + 1]
            for j in range(count):
                drive[0, j] = found[2 * j] + 1j * found[2 * j + 1]
            u = (drive[0] * phase).real.sum()
        u_before = drive[2, 0].real
        drive[2, 0] = u
        rig[:2] = moves @ rig[:2] + held * u + held_late * u_before
        acts = u if late < 1.0 else u_before
        rig[2] = reads[0] * rig[0] + reads[1] * rig[1] + reads[2] * acts
        if not abs(z) < AWAY or not abs(y) < AWAY:
            return k + 1
    return e.size


class HarmonicSimulation:
    """A test with harmonic feed-forward of one actuator that is simulated on and on, from rest."""

    def __init__(self, test: Test, late: float = 0.0) -> None:
        drive = test.drive
        assert drive is not None
        self.test, self.time, n = test, 0, len(drive.hz)
        dofs, size = len(test.mass), 2 * n
        push = np.zeros(dofs)
        push[test.pushed] = 1.0
        begins = np.array(drive.transfer, dtype=complex)
        sums = np.zeros((3, size + 1, size))
        sums[0, :size] = np.diag(np.repeat(PRIOR / test.step / 2.0 * np.abs(begins) ** 2, 2))
        sums[1, :size] = FIRST * np.eye(size)
        sums[1, size] = FIRST * np.column_stack([begins.real, begins.imag]).ravel()
        codes, values, along, memory = _rows(test.virtual, dofs)
        self._state = (
            np.zeros(3 * dofs), np.zeros(3 * dofs), np.zeros(2), np.zeros(3), np.array([begins, begins]),
            np.zeros((3, n), dtype=complex), sums, memory, memory.copy(),
        )  # fmt: skip
        matrices = (np.ascontiguousarray(one, dtype=float) for one in (test.mass, test.damping, test.stiffness))
        self._arguments = (
            (test.step, 2.0 * np.pi * np.array(drive.hz), (drive.memory, drive.learning)),
            (not test.virtual, *_exactly(test), *matrices, push, codes, values, along),
            _rig(test, late),
            late / test.step,
            test.gain,
        )

    def run(self, ticks: int) -> np.ndarray:
        """Targets and measured forces at the next ticks; fewer rows if the motion has run away."""
        log = np.zeros((ticks, 2))
        e = excitation(self.test, self.time, ticks)
        done = run(e, self.time, *self._state, *self._arguments, log)
        self.time += ticks
        return log[:done]

    def poles(self) -> np.ndarray:
        """Eigenvalues of one tick of a linear test with least mean squares, from unit states."""
        state, twin, inputs, rig, _, drive = self._state[:6]
        dofs = len(self.test.mass)
        parts = [state[: 2 * dofs], inputs[1:], rig, drive[1].view(float), drive[2].view(float)[:1]]
        size = sum(part.size for part in parts)
        matrix = np.zeros((size, size))
        for i, unit in enumerate(np.eye(size)):
            for part, value in zip(parts, np.split(unit, np.cumsum([one.size for one in parts])[:-1]), strict=True):
                part[:] = value
            run(np.zeros(1), 0, *self._state, *self._arguments, np.zeros((1, 2)))
            matrix[:, i] = np.concatenate(parts)
            for one in (state, twin, inputs, rig, drive):
                one[:] = 0.0
        return np.linalg.eigvals(matrix)


def _rig(test: Test, late: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of displacement and velocity: transition over a tick, and the effects of a drive that is held from ``late`` on
    and of the one before; the force by displacement, velocity and the drive that acts."""
    assert test.drive is not None
    own = [
        0.0 if one is None else float(one[0, 0])
        for one in (test.specimen_mass, test.specimen_damping, test.specimen_stiffness)
    ]
    mass, damping, stiffness = (one + other for one, other in zip(own, test.drive.moving, strict=True))
    whole = np.array([[0.0, 1.0, 0.0], [-stiffness / mass, -damping / mass, 1.0 / mass], [0.0, 0.0, 0.0]])
    after = expm(whole * (test.step - late))
    moves, held = after[:2, :2] @ expm(whole * late)[:2, :2], after[:2, 2]
    held_late = after[:2, :2] @ expm(whole * late)[:2, 2]
    share = own[0] / mass
    reads = np.array([own[2] - share * stiffness, own[1] - share * damping, share])
    return tuple(np.ascontiguousarray(one) for one in (moves, held, held_late, reads))  # type: ignore[return-value]


def transfer(test: Test, hz: float) -> complex:
    """From drive to gap at a frequency, nearly [m/N]: a drive that is held is half a tick late."""
    assert test.drive is not None
    s = 2j * np.pi * hz
    structure = np.linalg.inv(test.mass * s**2 + test.damping * s + test.stiffness)[0, 0]
    own = [
        0.0 if one is None else float(one[0, 0])
        for one in (test.specimen_mass, test.specimen_damping, test.specimen_stiffness)
    ]
    moved = [one + other for one, other in zip(own, test.drive.moving, strict=True)]
    resists, all_resists = (m * s**2 + c * s + k for m, c, k in (own, moved))
    return complex((1.0 + structure * resists) / all_resists * np.sinc(hz * test.step) * np.exp(-0.5 * s * test.step))
