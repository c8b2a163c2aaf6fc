"""A hybrid test as plain numbers, tick after tick: virtual structure, coupling, actuator behind a delay, specimen, sensors.

It shares no code with the package.  A test is a ``Test``: what it does at the tick t_k = k Δt is

    f_k  the specimen's force at t_k, times a gain, within the range of its sensor
    q_k  M q¨ + C q˙ + K q + Σ b r(bᵀq) = b_e e − f    linear: exact for inputs that are linear between ticks;
                                                       with elements: constant average acceleration, Newton's method
    z_k  the displacement of the interface
    c_k  Σ_j w_j z_{k−j}, the polynomial of least squares through the last targets, evaluated ahead
    x(t) the actuator: T x˙ + x = c(t − τ), and the like; c(t) the cubic through the four nearest commands
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numba import njit
from scipy.linalg import expm

from .laws import MEMORY, force

DELAY, FIRST_ORDER, SECOND_ORDER = range(3)
FINE = 4
"""Parts of a step over which an actuator with dynamics is integrated."""
AWAY = 1e6
"""Displacement [m] from which on a simulation need not continue."""


@dataclass(frozen=True)
class Element:
    """A law along a direction b."""

    code: int
    values: tuple[float, ...]
    along: tuple[float, ...] = (1.0,)


@dataclass(frozen=True)
class Test:
    """Numbers of a hybrid test, in SI units."""

    __test__ = False
    step: float
    mass: np.ndarray
    damping: np.ndarray
    stiffness: np.ndarray
    interface: tuple[int, ...] = (0,)
    pushed: int = 0
    """Degree of freedom that is excited."""
    virtual: tuple[Element, ...] = ()
    excitation: tuple[float, ...] = (1.0, 1.0, 0.0, 0.0)
    """Force, frequency, ramp, and the duration of a pulse, which is there instead of a sine if it is not 0."""
    predicts: tuple[float, int, int] = (0.0, 0, 1)
    """How far ahead [s], order, points."""
    adapts: tuple[float, ...] = ()
    """Of a prediction that follows the synchronisation error: its window, adaption time and longest prediction [s],
    gain and range of its amplitude, least velocity [m/s] and lead [s]."""
    actuator: int = DELAY
    delay: float = 1e-3
    dynamics: tuple[float, float] = (0.0, 0.0)
    """Time constant; or frequency [Hz] and damping."""
    stroke: float = np.inf
    speed: float = np.inf
    friction: float = 0.0
    backlash: float = 0.0
    specimen_mass: np.ndarray | None = None
    specimen_damping: np.ndarray | None = None
    specimen_stiffness: np.ndarray | None = None
    specimen: tuple[Element, ...] = ()
    force_range: float = np.inf
    slow: tuple[float, ...] = ()
    """Of a slow test (``slow.py``): its period and ramp [s], tolerance [m] and the time within it [s]."""
    rig_as_fmu: bool = False
    """Whether the definition has its rig as an FMU."""
    gain: float = 1.0
    """Factor on the specimen's force."""

    @property
    def linear(self) -> bool:
        limits = (self.stroke, self.speed, self.force_range)
        return not (
            self.virtual
            or self.specimen
            or self.friction
            or self.backlash
            or self.adapts
            or self.slow
            or np.isfinite(limits).any()
        )

    def but(self, **changes: object) -> Test:
        return replace(self, **changes)  # type: ignore[arg-type]


def ahead(prediction: float, order: int, points: int, step: float) -> np.ndarray:
    """Weights of the last targets, newest first: each is what the fit of a one in its place is, evaluated ahead."""
    past = -np.arange(points) * step
    scale = max(step * (points - 1), step)
    return np.array([np.polyval(np.polyfit(past / scale, one, order), prediction / scale) for one in np.eye(points)])


def fits(order: int, points: int) -> np.ndarray:
    """Coefficients of that polynomial, (order + 1, points), in powers of steps."""
    return np.array([np.polyfit(-np.arange(points), one, order)[::-1] for one in np.eye(points)]).T.copy()


def cubic(late: float) -> tuple[int, np.ndarray]:
    """First of four commands, newest first, and weights of the value, rate and curvature that their cubic has ``late``
    steps before the newest one (per step)."""
    first = max(int(np.floor(late + 1e-9)) - 1, 0)
    at = -np.arange(first, first + 4, dtype=float)
    weights = np.zeros((3, 4))
    for i in range(4):
        others = np.delete(at, i)
        one = np.poly1d(np.poly(others)) / np.prod(at[i] - others)
        weights[:, i] = one(-late), one.deriv(1)(-late), one.deriv(2)(-late)
    return first, weights


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
def _run(
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


class Simulation:
    """A test that is simulated on and on, from rest."""

    def __init__(self, test: Test, late: float = 0.0, substeps: int = 1) -> None:
        self.test, n, dofs = test, len(test.interface), len(test.mass)
        delay = max(test.delay, test.step) + late
        h = test.step / substeps
        rows = [cubic((delay - (i + 1) * h) / test.step) for i in range(substeps)]
        first = np.array([one for one, _ in rows])
        weights = ahead(*test.predicts, test.step)
        if test.rig_as_fmu:  # an FMU receives the mean of the commands at the ends of its step
            weights = np.convolve(weights, [0.5, 0.5])
        self.linear, self.time = not test.virtual, 0
        length = int(first.max()) + 4
        self.sizes = (n, dofs, len(weights), length)
        nv = (2 if self.linear else 3) * dofs
        self.state = np.zeros(nv + n + 1 + (len(weights) + length + 16) * n)
        none = np.zeros((n, n))
        given = [
            none if one is None else one for one in (test.specimen_mass, test.specimen_damping, test.specimen_stiffness)
        ]
        push = np.zeros(dofs)
        push[test.pushed] = 1.0
        if test.adapts:
            self.state[-10 * n : -2 * n].reshape(n, 8)[:, :2] = test.predicts[0], 1.0
        self._arguments = (
            test.step,
            self.linear,
            *_exactly(test),
            *(np.ascontiguousarray(one, dtype=float) for one in (test.mass, test.damping, test.stiffness)),
            push,
            np.array(test.interface),
            *_rows(test.virtual, dofs),
            weights,
            fits(*test.predicts[1:]),
            np.array(test.adapts),
            first,
            np.array([one for _, one in rows]),
            test.actuator,
            np.array(test.dynamics),
            np.array([test.stroke, test.speed, test.friction, test.backlash]),
            *(np.ascontiguousarray(one, dtype=float) for one in given),
            *_rows(test.specimen, n),
            test.gain,
            test.force_range,
        )

    def run(self, ticks: int) -> np.ndarray:
        """Targets and measured forces at the next ticks; fewer rows if the motion has run away."""
        e = excitation(self.test, self.time, ticks)
        log = np.zeros((ticks, 2 * self.sizes[0]))
        done = _run(e, self.state, self.sizes, *self._arguments, log)
        self.time += ticks
        return log[:done]

    def poles(self) -> np.ndarray:
        """Eigenvalues of one tick of a linear test, from unit states."""
        size = self.state.size
        matrix = np.zeros((size, size))
        for i in range(size):
            state = np.zeros(size)
            state[i] = 1.0
            _run(np.zeros(1), state, self.sizes, *self._arguments, np.zeros((1, 2 * self.sizes[0])))
            matrix[:, i] = state
        n = self.sizes[0]
        kept = np.delete(
            np.arange(size), np.s_[size - 12 * n : size - 2 * n]
        )  # no play and no adaption, no memory of them
        return np.linalg.eigvals(matrix[np.ix_(kept, kept)])


def excitation(test: Test, first: int, ticks: int) -> np.ndarray:
    """Its force at so many ticks."""
    most, hz, ramp, duration = test.excitation
    t = (first + np.arange(ticks)) * test.step
    if duration > 0.0:
        return np.where((t > 0.0) & (t < duration), most * np.sin(np.pi * t / duration) ** 2, 0.0)
    rise = np.where(t < ramp, 0.5 * (1.0 - np.cos(np.pi * t / max(ramp, 1e-12))), 1.0)
    return most * rise * np.sin(2.0 * np.pi * hz * t)


def _exactly(test: Test) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, q˙ after a step, of those before, and of (e, f) at its beginning and end, which are linear between."""
    n, dofs, step = len(test.interface), len(test.mass), test.step
    b = np.zeros((dofs, n + 1))
    b[test.pushed, 0] = 1.0
    for i, dof in enumerate(test.interface):
        b[dof, 1 + i] = -1.0
    a = np.block(
        [
            [np.zeros((dofs, dofs)), np.eye(dofs)],
            [-np.linalg.solve(test.mass, test.stiffness), -np.linalg.solve(test.mass, test.damping)],
        ]
    )
    b = np.vstack([np.zeros((dofs, n + 1)), np.linalg.solve(test.mass, b)])
    # u(t) = u0 + t (u1 − u0)/Δt as states of their own
    whole = np.zeros((2 * dofs + 2 * (n + 1),) * 2)
    whole[: 2 * dofs, : 2 * dofs], whole[: 2 * dofs, 2 * dofs : 2 * dofs + n + 1] = a, b
    whole[2 * dofs : 2 * dofs + n + 1, 2 * dofs + n + 1 :] = np.eye(n + 1)
    over = expm(whole * step)
    by_value, by_slope = over[: 2 * dofs, 2 * dofs : 2 * dofs + n + 1], over[: 2 * dofs, 2 * dofs + n + 1 :]
    parts = over[: 2 * dofs, : 2 * dofs], by_value - by_slope / step, by_slope / step
    return tuple(np.ascontiguousarray(one) for one in parts)  # type: ignore[return-value]


def _rows(elements: tuple[Element, ...], n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Codes, values, directions and memory."""
    values = np.zeros((len(elements), 8))
    along = np.zeros((len(elements), n))
    for row, one in enumerate(elements):
        values[row, : len(one.values)] = one.values
        along[row, : len(one.along)] = one.along
    return np.array([one.code for one in elements], dtype=np.int64), values, along, np.zeros((len(elements), MEMORY))
