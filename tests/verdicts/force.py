"""A test in force control as plain numbers: a mass that commands a force of a spring, and reads how far it has moved.

    M q¨ + C q˙ + K q + r(q) + f = e        classical Runge-Kutta; the force of each of its four stages is exchanged

A force f_j is that of a stage at t_j with the displacement q_j.  d is how far the specimen has moved under the force
before, and e = d − F̂ f_{j−1} what the assumed compliance F̂ leaves unexplained:

    index 1      f = (q_j − e) / F̂
    Baumgarte    f = M (q¨_free + 2α q˙ + β² q − (d¨ + 2α d˙ + β² d)),  d = e + F̂ f;  d˙ and d¨ are those of a cubic
                 through the displacement and the last states, by least squares; F̂ = 0: d is that of the force before

The rig closes in on the force: x moves by g (f − k x) h in each of its steps h, all the time, or, in a slow test, until
the force is within a tolerance; k is the stiffness of specimen and transfer system in series.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .laws import CUBIC, MEMORY, force
from .simulate import Test, excitation

STAGES, POINTS = 4, 3
NODES = np.array([0.0, 0.5, 0.5, 1.0])
BEFORE = np.array([0.0, 0.5, 0.5, 1.0])
"""Share of the slope of the stage before, with which a stage is reached."""
SHARES = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
AWAY = 1e6


@njit(cache=True)
def settle(x, last, wanted, k, g, h, clock):
    """A slow test's exchange: the rig's position, the one that was measured, and whether it has settled."""
    period, ramp, tolerance, within = clock
    share, seen, quiet, steps = 0.0, x, 0.0, 0
    while True:
        settled = False
        if share < 1.0 - 1e-9:
            share += period / ramp
            c = wanted if share >= 1.0 - 1e-9 else last + 0.5 * (1.0 - np.cos(np.pi * share)) * (wanted - last)
        else:
            c = wanted
            quiet = quiet + period if abs(k * seen - wanted) <= tolerance else 0.0
            settled = quiet >= within - 1e-6 * period
        x += h * g * (c - k * x)
        steps += 1
        if settled or steps > 100000:
            return x, seen, settled
        seen = x


@njit(cache=True)
def run(e, state, memory, numbers, weights, estimate, rig, clock, late, law, values, first, log):
    """Tick after tick, each an exchange; ``e`` holds the excitation of each stage.  How many ticks were run.

    The state is q, v, four slopes of each, three past states, the last command and those before, the rig's position,
    what was measured, and whether there is a step to finish.
    """
    mass, damping, stiffness, dt, gain = numbers
    compliance, of_velocity, of_displacement = estimate
    k, g, h, substeps, own = rig
    slow = clock[1] > 0.0
    tried = np.zeros(MEMORY)
    for tick in range(e.size):
        stage = (first + tick) % STAGES
        d = gain * state[20]
        if stage == 0:
            if state[21] > 0.0:
                for i in range(STAGES):
                    state[0] += dt * SHARES[i] * state[2 + i]
                    state[1] += dt * SHARES[i] * state[6 + i]
                force(law, values, memory, state[0], state[1])
            for i in range(POINTS - 1, 0, -1):
                state[10 + i], state[13 + i] = state[9 + i], state[12 + i]
            state[10], state[13] = state[0], state[1]
        state[21] = 1.0
        q, v = state[0], state[1]
        if stage:
            q += dt * BEFORE[stage] * state[1 + stage]
            v += dt * BEFORE[stage] * state[5 + stage]
        tried[:] = memory
        free = (e[tick] - damping * v - stiffness * q - force(law, values, tried, q, v)) / mass
        offset = d - compliance * state[16]
        if of_displacement == 0.0:
            f = (q - offset) / compliance
        else:
            base = mass * (free + of_velocity * v + of_displacement * q)
            for i in range(POINTS):
                base -= mass * (weights[stage, 1 + i] * state[10 + i] + weights[stage, 1 + POINTS + i] * state[13 + i])
            factor = mass * (weights[stage, 0] + of_displacement)
            f = (base - factor * offset) / (1.0 + factor * compliance)
        state[2 + stage], state[6 + stage] = v, free - f / mass
        state[18], state[17], state[16] = state[17], state[16], f
        if slow:
            x, seen, settled = settle(state[19], state[17], f, k, g, h, clock)
            state[19] = x
            if not settled:
                return tick
            state[20] = k * seen / own
        else:
            for _ in range(substeps):  # late by part of a tick: between the last two commands
                c = f + late * (state[17] - f) if late <= 1.0 else state[17] + (late - 1.0) * (state[18] - state[17])
                state[19] += h * g * (c - k * state[19])
            state[20] = k * state[19] / own
        log[tick, 0], log[tick, 1] = d, f
        if not abs(q) < AWAY:
            return tick + 1
    return e.size


def derivatives(test: Test) -> np.ndarray:
    """Weights (4, 7) of d¨ + 2α d˙ at each stage in (d, q of the last states, q˙ of them), newest first."""
    control = test.force
    assert control is not None
    dt = STAGES * test.step
    rows = np.zeros((STAGES, 1 + 2 * POINTS))
    for stage, node in enumerate(NODES):
        at = node if control.at_stage else 1.0
        times = np.array([at, *(-np.arange(POINTS))]) * dt
        values = np.vander(times, 4, increasing=True)
        slopes = np.array([[0.0, 1.0, 2.0 * t, 3.0 * t * t] for t in times[1:]])
        for column, given in enumerate(np.eye(1 + 2 * POINTS)):
            right = np.concatenate([given[: 1 + POINTS], control.weight * given[1 + POINTS :]])
            size = dt ** np.arange(4)
            fit = np.linalg.lstsq(np.vstack([values, control.weight * slopes]) / size, right, rcond=None)[0] / size
            t = at * dt
            rate, bend = fit @ [0.0, 1.0, 2.0 * t, 3.0 * t * t], fit @ [0.0, 0.0, 2.0, 6.0 * t]
            rows[stage, column] = bend + 2.0 * control.alpha * rate
    return rows


class ForceSimulation:
    """A test in force control that is simulated on and on, from rest; a tick is an exchange."""

    def __init__(self, test: Test, late: float = 0.0) -> None:
        control = test.force
        assert control is not None and test.specimen_stiffness is not None
        self.test, self.time, self._state, self._memory = test, 0, np.zeros(22), np.zeros(MEMORY)
        own = float(test.specimen_stiffness[0, 0])
        law, values = (test.virtual[0].code, test.virtual[0].values) if test.virtual else (CUBIC, (0.0, 0.0))
        index_one = control.alpha == 0.0
        period = test.slow[0] if test.slow else test.step
        self._arguments = (
            (*(float(one[0, 0]) for one in (test.mass, test.damping, test.stiffness)), STAGES * test.step, test.gain),
            np.zeros((STAGES, 1 + 2 * POINTS)) if index_one else derivatives(test),
            (1.0 / control.assumed if control.assumed else 0.0, 2.0 * control.alpha, control.beta**2),
            (series(test), control.gain, period / control.substeps, control.substeps, own),
            np.array(test.slow or (1.0, 0.0, 0.0, 0.0)),
            late / test.step,
            law,
            np.pad(np.array(values), (0, 8 - len(values))),
        )

    def run(self, ticks: int) -> np.ndarray:
        """Measured displacements and commanded forces at the next ticks; fewer rows if the motion has run away."""
        log = np.zeros((ticks, 2))
        done = run(self._excited(ticks), self._state, self._memory, *self._arguments, self.time % STAGES, log)
        self.time += ticks
        return log[:done]

    def _excited(self, ticks: int) -> np.ndarray:
        """The excitation of the stage of each tick, in its place of the step."""
        steps = np.arange(self.time, self.time + ticks)
        begin, stage = steps - steps % STAGES, steps % STAGES
        fine = excitation(self.test.but(step=0.5 * STAGES * self.test.step), 0, int(2 * (steps[-1] // STAGES) + 3))
        return fine[2 * (begin // STAGES) + np.array([0, 1, 1, 2])[stage]]

    def poles(self) -> np.ndarray:
        """Eigenvalues of one tick, on average over the four of a step, of a linear test, from unit states."""
        size = len(self._state) - 1
        matrix = np.zeros((size, size))
        for i in range(size):
            state = np.zeros(size + 1)
            state[i] = state[size] = 1.0
            run(np.zeros(STAGES), state, self._memory.copy(), *self._arguments, 0, np.zeros((STAGES, 2)))
            matrix[:, i] = state[:size]
        return np.abs(np.linalg.eigvals(matrix)) ** (1.0 / STAGES)


def series(test: Test) -> float:
    """Stiffness of specimen and transfer system in series."""
    control = test.force
    assert control is not None and test.specimen_stiffness is not None
    return 1.0 / (1.0 / float(test.specimen_stiffness[0, 0]) + 1.0 / control.transfer)


def lag(test: Test) -> float:
    """From a slow command to the force that follows it [s]."""
    control = test.force
    assert control is not None
    stays = 1.0 - test.step / control.substeps * control.gain * series(test)
    return test.step / (1.0 - stays**control.substeps)
