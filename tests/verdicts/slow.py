"""A slow test as plain numbers: each tick is held until the rig has moved to its target, settled, and been measured.

    q_{n+1} = q_n + Δt v_n + ½ Δt² a_n,    v_{n+1} = v_n + ½ Δt (a_n + a_{n+1})
    M a + C v + K q + r = F                   r is the specimen's force where the rig was when it counted as settled

The rig moves along a half cosine within the ramp, behind a lag of first order, on its own clock; it has settled when it
was measured within a tolerance of its command for some time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .laws import CUBIC, MEMORY, force
from .simulate import Test, excitation
from .ticks import FIRST_ORDER, move


@njit(cache=True)
def run(e, state, memory, numbers, lag, clock, law, values, gain, log):
    """Tick after tick; the state is q, v, a, the rig's position, the command; how many ticks were run.

    ``numbers`` are M, C, K and the step; ``clock`` the period, the ramp, the tolerance and the time within it.
    """
    mass, damping, stiffness, dt = numbers
    period, ramp, tolerance, within = clock
    given, before, dynamics = np.zeros(4), 0.0, np.array([lag, 0.0])
    for k in range(e.size):
        q, v, a, x, last = state
        if k or state[1] or state[2]:
            q += dt * v + 0.5 * dt * dt * a
            v += 0.5 * dt * a
        # the command reaches the rig in the next period, where it begins to move; what it measured is known one later
        share, steps, seen, quiet = 0.0, 0, x, 0.0
        settled = False
        while True:
            if share < 1.0 - 1e-9:
                share += period / ramp
                c = q if share >= 1.0 - 1e-9 else last + 0.5 * (1.0 - np.cos(np.pi * share)) * (q - last)
            else:
                c = q
                quiet = quiet + period if abs(seen - q) <= tolerance else 0.0
                settled = quiet >= within - 1e-6 * period
            # during the period the command goes on to c along a cubic, with the rate of the last four commands
            given[3], given[2], given[1], given[0] = given[2], given[1], given[0], c
            rate = (11.0 / 6.0 * c - 3.0 * given[1] + 1.5 * given[2] - given[3] / 3.0) / period
            x = move(FIRST_ORDER, dynamics, x, 0.0, given[1], before, c, rate, period, 0.0)[0] if lag > 0.0 else c
            before = rate
            steps += 1
            if settled:
                break
            seen = x
            if steps > 100000:
                return k
        f = gain * force(law, values, memory, seen, 0.0)
        a = (e[k] - f - stiffness * q - damping * v) / (mass + 0.5 * dt * damping)
        v += 0.5 * dt * a
        state[0], state[1], state[2], state[3], state[4] = q, v, a, x, q
        log[k, 0], log[k, 1] = q, f
        if not abs(q) < 1e6:
            return k + 1
    return e.size


class SlowSimulation:
    """A slow test of one degree of freedom that is simulated on and on, from rest."""

    def __init__(self, test: Test) -> None:
        self.test, self.time, self._state, self._memory = test, 0, np.zeros(5), np.zeros(MEMORY)
        stiffness = 0.0 if test.specimen_stiffness is None else float(test.specimen_stiffness[0, 0])
        law, values = (test.specimen[0].code, test.specimen[0].values) if test.specimen else (CUBIC, (stiffness, 0.0))
        numbers = [float(one[0, 0]) for one in (test.mass, test.damping, test.stiffness)]
        self._arguments = (
            np.array([*numbers, test.step]),
            test.dynamics[0] if test.actuator == FIRST_ORDER else 0.0,
            np.array(test.slow),
            law,
            np.pad(np.array(values), (0, 8 - len(values))),
            test.gain,
        )

    def run(self, ticks: int) -> np.ndarray:
        """Targets and measured forces at the next ticks; fewer rows if the motion has run away."""
        log = np.zeros((ticks, 2))
        e = excitation(self.test, self.time, ticks)
        done = run(e, self._state, self._memory, *self._arguments, log)
        self.time += ticks
        return log[:done]
