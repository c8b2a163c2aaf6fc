"""An electrodynamic shaker whose drive is sampled at two rates: how it follows, exactly.

Shaker and drive are those of ``shaker.py`` (V. Ruffini et al., Exp. Tech. (2020), doi 10.1007/s40799-020-00394-5).  The
loops of the drive are backward differences at their own periods T₁ (position) and T₂ (force), with the command D_c of
the tick in which they look at it; the voltage is held until the force loop writes the next one:

    every T₁    e ← (e + ω₁T₁(D_c − d))/(1 + ω₁T₁),   p ← p + T₁ e,   F_c = k_p e + k_i p + k_d (e − e₋)/T₁
    every T₂    g ← (g + ω₂T₂(F_c − k_I i))/(1 + ω₂T₂),   r ← r + T₂ g,   v = k_Fp g + k_Fi r

The armature with its coil, x˙ = A x + b v + b_f f_m, x = (d, d˙, i), moves continuously; over a step h of the rig, of
which T₁, T₂ and the tick Δt are whole multiples, with a force that is a sine,

    x⁺ = e^{Ah} x + (∫₀ʰ e^{Aθ}dθ b) v + (jωI − A)⁻¹ (e^{jωh}I − e^{Ah}) b_f e^{jωt}

So the rig is a linear system with the common period M h of T₁, T₂ and Δt.  Under a sine of the frequency ω, command or
force, all of it is e^{jωt} times something of that period, which one linear equation gives.  The responses G_c, G_f
are the part at ω of the displacement as the ticks see it, the mean over the ticks of a period: what a Fourier
coefficient of a record at ω shows.

The specimen's force counts at ω.  What it has at the other frequencies, ω + 2πk/Mh, is left out: the armature hardly
moves there, and D_a = G_c D_c + G_f F_m holds regardless of the specimen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm

from ..errors import HalfrealError
from .shaker import Drive, Shaker

D, RATE, CURRENT, ERROR, SUM, ASKED, FILTERED, TOTAL, VOLTAGE = range(9)


@dataclass(frozen=True)
class Rates:
    """When the loops of a sampled drive act, in steps of the rig."""

    step: float
    """Of the rig, h [s]."""
    per_tick: int
    position: int
    force: int

    @property
    def cycle(self) -> int:
        """Steps of the rig after which the drive acts alike again."""
        return math.lcm(self.position, self.force)

    @property
    def period(self) -> int:
        """The same together with the ticks of the test."""
        return math.lcm(self.cycle, self.per_tick)


def rates_of(drive: Drive, tick: float, substeps: int) -> Rates:
    """Of a sampled drive on a rig with so many steps in a tick [s]."""
    if drive.position_rate is None or drive.force_rate is None:
        raise HalfrealError("this drive is continuous; give position_rate and force_rate for a sampled one")
    h = tick / substeps
    return Rates(h, substeps, round(1.0 / (drive.position_rate * h)), round(1.0 / (drive.force_rate * h)))


@dataclass(frozen=True)
class SampledFollower:
    """A shaker with a sampled drive: D_a = G_c D_c + G_f F_m as the ticks of a test see it."""

    shaker: Shaker
    drive: Drive
    rates: Rates

    def responses(self, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """G_c and G_f at ω [rad/s], above 0."""
        omega, rates = np.atleast_1d(np.asarray(omega, dtype=float)), self.rates
        maps, by_command, pushed = self._maps(), self._position()[1], self._pushed(omega)
        turn = np.exp(-1j * omega * rates.step)[:, None, None]

        def step(j: int, state: np.ndarray) -> np.ndarray:
            position, force = j % rates.position == 0, j % rates.force == 0
            forward, entering = maps[position, force]
            driven = np.array(pushed)
            if position:  # the command is that of the tick, held
                held = np.exp(-1j * omega * rates.step * (j % rates.per_tick))
                driven[:, :, 0] += held[:, None] * (entering @ by_command)
            return np.asarray(turn * (forward @ state + driven))

        once = np.zeros((omega.size, 9, 2), dtype=complex)
        whole = np.eye(9)
        for j in range(rates.period):
            once = step(j, once)
            whole = maps[j % rates.position == 0, j % rates.force == 0][0] @ whole
        state = np.linalg.solve(np.eye(9) - turn**rates.period * whole, once)
        mean = np.zeros((omega.size, 2), dtype=complex)
        for j in range(rates.period):
            if j % rates.per_tick == 0:
                mean += state[:, D] * rates.per_tick / rates.period
            state = step(j, state)
        return mean[:, 0], mean[:, 1]

    def _armature(self) -> tuple[np.ndarray, np.ndarray]:
        """A, and B for voltage and force."""
        one = self.shaker
        a = np.array(
            [
                [0.0, 1.0, 0.0],
                [-one.stiffness / one.mass, -one.damping / one.mass, one.motor_constant / one.mass],
                [0.0, -one.motor_constant / one.inductance, -one.resistance / one.inductance],
            ]
        )
        return a, np.array([[0.0, 0.0], [0.0, 1.0 / one.mass], [1.0 / one.inductance, 0.0]])

    def _position(self) -> tuple[np.ndarray, np.ndarray]:
        """What the position loop makes of the state, and of the command."""
        drive, period = self.drive, self.rates.position * self.rates.step
        gain = drive.position_filter * period
        update, by_command, before = np.eye(9), np.zeros(9), np.eye(9)[ERROR]
        update[ERROR] = (before - gain * np.eye(9)[D]) / (1.0 + gain)
        update[SUM] += period * update[ERROR]
        lead = drive.derivative / period
        update[ASKED] = (drive.proportional + lead) * update[ERROR] + drive.integral * update[SUM] - lead * before
        by_command[ERROR] = gain / (1.0 + gain)
        by_command[SUM] = period * by_command[ERROR]
        by_command[ASKED] = (drive.proportional + lead) * by_command[ERROR] + drive.integral * by_command[SUM]
        return update, by_command

    def _force(self) -> np.ndarray:
        """What the force loop makes of the state."""
        drive, period, update = self.drive, self.rates.force * self.rates.step, np.eye(9)
        gain = drive.force_filter * period
        update[FILTERED] = np.eye(9)[FILTERED] + gain * np.eye(9)[ASKED]
        update[FILTERED, CURRENT] = -gain * self.shaker.motor_constant
        update[FILTERED] /= 1.0 + gain
        update[TOTAL] += period * update[FILTERED]
        update[VOLTAGE] = drive.force_proportional * update[FILTERED] + drive.force_integral * update[TOTAL]
        return update

    def _maps(self) -> dict[tuple[bool, bool], tuple[np.ndarray, np.ndarray]]:
        """A step of the rig from the state before it, and from that after the position loop, by which loops act."""
        a, b = self._armature()
        joint = np.zeros((4, 4))
        joint[:3, :3], joint[:3, 3] = a, b[:, 0]
        held, going = expm(joint * self.rates.step), np.eye(9)
        going[:3, :3], going[:3, VOLTAGE] = held[:3, :3], held[:3, 3]
        update, then = self._position()[0], (going, going @ self._force())
        return {
            (position, force): (then[force] @ update if position else then[force], then[force])
            for position in (False, True)
            for force in (False, True)
        }

    def _pushed(self, omega: np.ndarray) -> np.ndarray:
        """What a force e^{jωt} adds over a step, as the second of two inputs, (n_ω, 9, 2)."""
        a, b = self._armature()
        found, h, eye = np.zeros((omega.size, 9, 2), dtype=complex), self.rates.step, np.eye(3)
        through = np.exp(1j * omega * h)[:, None, None] * eye - expm(a * h)
        found[:, :3, 1] = np.linalg.solve(1j * omega[:, None, None] * eye - a, through @ b[:, 1:])[:, :, 0]
        return found
