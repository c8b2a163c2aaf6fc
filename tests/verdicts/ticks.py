"""The ticks of ``simulate.py``, compiled: sums and loops over plain arrays."""

from __future__ import annotations

import numpy as np
from numba import njit

from .laws import MEMORY, force

DELAY, FIRST_ORDER, SECOND_ORDER = range(3)
FINE = 4
"""Parts of a step over which an actuator with dynamics is integrated."""
AWAY = 1e6
"""Displacement [m] from which on a simulation need not continue."""


@njit(cache=True)
def move(kind, dynamics, x, v, c0, d0, c1, d1, h, friction):
    """An actuator over a step h, in which its command is the cubic with these values and rates at both ends."""
    n = FINE
    for i in range(n):
        way = 0.0
        if friction > 0.0:
            s = (i + 0.5) / n
            c = c0 + s * (c1 - c0)
            way = np.sign(c - x) if abs(c - x) > friction else 0.0
            if way == 0.0:
                continue
        k1x = k1v = k2x = k2v = k3x = k3v = 0.0
        dt = h / n
        for stage in range(4):
            s = (i + (0.0 if stage == 0 else 1.0 if stage == 3 else 0.5)) / n
            c = (
                c0 * (1 + 2 * s) * (1 - s) ** 2
                + d0 * h * s * (1 - s) ** 2
                + c1 * s * s * (3 - 2 * s)
                + d1 * h * s * s * (s - 1)
            ) - way * friction
            if stage == 0:
                xx, vv = x, v
            elif stage == 1:
                xx, vv = x + 0.5 * dt * k1x, v + 0.5 * dt * k1v
            elif stage == 2:
                xx, vv = x + 0.5 * dt * k2x, v + 0.5 * dt * k2v
            else:
                xx, vv = x + dt * k3x, v + dt * k3v
            if kind == FIRST_ORDER:
                fx, fv = (c - xx) / dynamics[0], 0.0
            else:
                w = 2.0 * np.pi * dynamics[0]
                fx, fv = vv, w * w * (c - xx) - 2.0 * dynamics[1] * w * vv
            if stage == 0:
                k1x, k1v = fx, fv
            elif stage == 1:
                k2x, k2v = fx, fv
            elif stage == 2:
                k3x, k3v = fx, fv
            else:
                x += dt * (k1x + 2 * k2x + 2 * k3x + fx) / 6.0
                v += dt * (k1v + 2 * k2v + 2 * k3v + fv) / 6.0
    return x, v


@njit(cache=True)
def _times(matrix, x, y):
    """y += A x."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            y[i] += matrix[i, j] * x[j]


@njit(cache=True)
def _along(b, q):
    """bᵀq."""
    total = 0.0
    for i in range(b.size):
        total += b[i] * q[i]
    return total


@njit(cache=True)
def _solve(a, b):
    """x of A x = b in the place of b, by Gauss; A is positive and changed."""
    n = b.size
    for i in range(n):
        for j in range(i + 1, n):
            factor = a[j, i] / a[i, i]
            for k in range(i, n):
                a[j, k] -= factor * a[i, k]
            b[j] -= factor * b[i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            b[i] -= a[i, k] * b[k]
        b[i] /= a[i, i]


@njit(cache=True)
def _newmark(dt, mass, damping, stiffness, codes, values, along, memory, state, loads, work, slope):
    """One step of constant average acceleration for M a + C v + K q + Σ b r = loads; the state is q, v, a."""
    n = loads.size
    q0, v0, a0 = state[:n], state[n : 2 * n], state[2 * n :]
    q, v, a, left, tried = work[0, :n], work[1, :n], work[2, :n], work[3, :n], work[4]
    scale = 1e-12
    for i in range(n):
        q[i] = q0[i] + dt * v0[i] + 0.5 * dt * dt * a0[i]
        scale += abs(loads[i]) + 4.0 / dt**2 * mass[i, i] * abs(q0[i])
    for _ in range(60):
        size = 0.0
        for i in range(n):
            a[i] = 4.0 / dt**2 * (q[i] - q0[i] - dt * v0[i]) - a0[i]
            v[i] = v0[i] + 0.5 * dt * (a0[i] + a[i])
        for i in range(n):
            left[i] = loads[i]
            for j in range(n):
                left[i] -= mass[i, j] * a[j] + damping[i, j] * v[j] + stiffness[i, j] * q[j]
                slope[i, j] = mass[i, j] * (4.0 / dt**2) + damping[i, j] * (2.0 / dt) + stiffness[i, j]
        for e in range(codes.size):
            x, rate = _along(along[e], q), _along(along[e], v)
            tried[:MEMORY] = memory[e]
            f = force(codes[e], values[e], tried, x, rate)
            small = 1e-6 * abs(x - _along(along[e], q0)) + 1e-10
            tried[:MEMORY] = memory[e]
            g = force(codes[e], values[e], tried, x + small, rate + 2.0 / dt * small)
            for i in range(n):
                left[i] -= along[e, i] * f
                for j in range(n):
                    slope[i, j] += (g - f) / small * along[e, i] * along[e, j]
        for i in range(n):
            size += abs(left[i])
        _solve(slope, left)
        for i in range(n):
            q[i] += left[i]
        if size < 1e-11 * scale:
            break
    for i in range(n):
        a[i] = 4.0 / dt**2 * (q[i] - q0[i] - dt * v0[i]) - a0[i]
        v[i] = v0[i] + 0.5 * dt * (a0[i] + a[i])
    for e in range(codes.size):
        force(codes[e], values[e], memory[e], _along(along[e], q), _along(along[e], v))
    for i in range(n):
        q0[i], v0[i], a0[i] = q[i], v[i], a[i]


@njit(cache=True)
def _adapt(state, history, x, dt, p):
    """Follow z − x: how far ahead is predicted, and times which amplitude, of one axis.

    The state is ρ, κ, ⟨e z˙⟩, ⟨z˙²⟩, e, largest |z| and |x| of a half cycle, and the number of these.
    """
    fade = np.exp(-dt / p[0])
    z, last = history[0], history[1]
    rate = (z - history[2]) / (2.0 * dt)
    state[2] = fade * state[2] + (1.0 - fade) * state[4] * rate
    state[3] = fade * state[3] + (1.0 - fade) * rate * rate
    state[4] = z - x
    state[5], state[6] = max(state[5], abs(z)), max(state[6], abs(x))
    moves = state[3] > p[5] ** 2
    if moves:
        state[0] = min(max(state[0] + dt / p[1] * (state[2] / state[3] + p[6]), 0.0), p[2])
    if z * last < 0.0:
        if moves and state[7] >= 1.0 and state[6] > 0.0:
            state[1] = min(max(state[1] * (1.0 + p[3] * (state[5] / state[6] - 1.0)), 1.0 - p[4]), 1.0 + p[4])
        state[5] = state[6] = 0.0
        state[7] += 1.0


@njit(cache=True)
def run(
    e, state, sizes, dt, linear, transition, earlier, later, mass, damping, stiffness, push, interface,
    v_codes, v_values, v_along, v_memory, weights, fits, adapts, first, taps, kind, dynamics, reach,
    s_mass, s_damping, s_stiffness, s_codes, s_values, s_along, s_memory, gain, most, log,
):  # fmt: skip
    """Tick after tick; ``log`` receives targets and measured forces.  How many ticks were run."""
    n, dofs, points, length = sizes
    nv = 2 * dofs if linear else 3 * dofs
    structure = state[:nv]
    inputs = state[nv : nv + n + 1]
    at = nv + n + 1
    targets = state[at : at + points * n].reshape((points, n))
    at += points * n
    commands = state[at : at + length * n].reshape((length, n))
    at += length * n
    motion = state[at : at + 4 * n].reshape((n, 4))
    at += 4 * n
    held = state[at : at + 2 * n].reshape((n, 2))
    at += 2 * n
    learnt = state[at : at + 8 * n].reshape((n, 8))
    at += 8 * n
    measured, seen = state[at : at + n], state[at + n : at + 2 * n]
    substeps = first.size
    h = dt / substeps
    stroke, speed, friction, backlash = reach
    now, moved, loads = np.zeros(n + 1), np.zeros(nv), np.zeros(dofs)
    x, v, a, f = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    work, slope = np.zeros((5, max(dofs, MEMORY))), np.zeros((dofs, dofs))
    for k in range(e.size):
        now[0] = e[k]
        for i in range(n):
            now[1 + i] = measured[i]
        if linear:
            for i in range(nv):
                moved[i] = 0.0
            _times(transition, structure, moved)
            _times(earlier, inputs, moved)
            _times(later, now, moved)
            for i in range(nv):
                structure[i] = moved[i]
        else:
            for i in range(dofs):
                loads[i] = push[i] * e[k]
            for i in range(n):
                loads[interface[i]] -= measured[i]
            _newmark(dt, mass, damping, stiffness, v_codes, v_values, v_along, v_memory, structure, loads, work, slope)
        for i in range(n + 1):
            inputs[i] = now[i]
        for j in range(points - 1, 0, -1):
            for i in range(n):
                targets[j, i] = targets[j - 1, i]
        for j in range(length - 1, 0, -1):
            for i in range(n):
                commands[j, i] = commands[j - 1, i]
        away = False
        for i in range(n):
            targets[0, i] = structure[interface[i]]
            commands[0, i] = 0.0
            if adapts.size > 0:
                _adapt(learnt[i], targets[:, i], seen[i], dt, adapts)
                for j in range(points):
                    for o in range(fits.shape[0]):
                        commands[0, i] += learnt[i, 1] * fits[o, j] * (learnt[i, 0] / dt) ** o * targets[j, i]
            else:
                for j in range(points):
                    commands[0, i] += weights[j] * targets[j, i]
            log[k, i], log[k, n + i] = targets[0, i], measured[i]
            away = away or not abs(targets[0, i]) < AWAY
        for j in range(substeps):
            for i in range(n):
                c = d = b = 0.0
                for t in range(4):
                    one = commands[first[j] + t, i]
                    c += taps[j, 0, t] * one
                    d += taps[j, 1, t] * one / dt
                    b += taps[j, 2, t] * one / dt**2
                x0, v0 = motion[i, 0], motion[i, 1]
                if kind == DELAY:
                    x1, v1, a1 = c, d, b
                else:
                    x1, v1 = move(kind, dynamics, x0, v0, motion[i, 2], motion[i, 3], c, d, h, friction)
                    if kind == FIRST_ORDER:
                        v1 = (c - x1) / dynamics[0]
                        a1 = (d - v1) / dynamics[0]
                    else:
                        w = 2.0 * np.pi * dynamics[0]
                        a1 = w * w * (c - x1) - 2.0 * dynamics[1] * w * v1
                within = min(max(min(max(x1, x0 - speed * h), x0 + speed * h), -stroke), stroke)
                if within != x1:
                    x1, v1 = within, (within - x0) / h
                    a1 = (v1 - v0) / h
                motion[i, 0], motion[i, 1], motion[i, 2], motion[i, 3] = x1, v1, c, d
                half = 0.5 * backlash + (friction if kind == DELAY else 0.0)
                if half > 0.0:  # what is moved stays where it is left until the gap has been crossed
                    moved_to = min(max(held[i, 0], x1 - half), x1 + half)
                    if moved_to == held[i, 0]:
                        v1 = 0.0
                    x1 = moved_to
                    a1 = (v1 - held[i, 1]) / h
                    held[i, 0], held[i, 1] = x1, v1
                x[i], v[i], a[i], f[i], seen[i] = x1, v1, a1, 0.0, x1
            _times(s_stiffness, x, f)
            _times(s_damping, v, f)
            _times(s_mass, a, f)
            for t in range(s_codes.size):
                one = force(s_codes[t], s_values[t], s_memory[t], _along(s_along[t], x), _along(s_along[t], v))
                for i in range(n):
                    f[i] += s_along[t, i] * one
            for i in range(n):
                measured[i] = min(max(gain * f[i], -most), most)
        if away:
            return k + 1
    return e.size
