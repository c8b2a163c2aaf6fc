"""What a coupling has to make up for: the rig's response from command to measured displacement, and its inverse.

The loop is cut at its command and measured as in ``stability/open_loop.py``, whatever the rig is made of:

    G(ω) = e^{−jωΔt} [C (e^{jωΔt}I − A)⁻¹B + D]            command of a tick → displacement measured at that tick's time

A command that is held over a step is late by half of it; couplings that invert a model of the rig know that, so that
their model is that of G e^{jωΔt/2}.  A low-order inverse a₀ + a₁ s + … + a_m s^m is the one that follows best a motion
of the power spectrum |R|², by linear least squares in the a_i:

    min_a Σ_ω |R|² |1 − G e^{jωΔt/2} Σ_i a_i (jω)^i|²
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...contracts.context import Purpose
from ...contracts.state_space import StateSpace
from ...couplings.direct import Direct
from ...definition.definition import Definition
from ...runs.build import build
from ...runs.loop_stability import cut_loop
from ...stability.linearise import NoSlopeError
from ...stability.open_loop import answer

LEAST = 1e-6
"""Power, as a part of the largest, that every frequency up to twice the highest one that counts is given at least."""
COUNTS = 1e-4
POINTS = 400


@dataclass(frozen=True)
class RigResponse:
    """G e^{jωΔt/2}, the mean of all axes, at frequencies where the motion has its power."""

    omega: np.ndarray
    response: np.ndarray
    power: np.ndarray

    @property
    def lag(self) -> float:
        """Lag [s] where the motion has its power; not negative."""
        centre = float(np.sum(self.omega * self.power) / np.sum(self.power))
        phase = np.interp(centre, self.omega, np.unwrap(np.angle(self.response)))
        return max(-float(phase) / centre, 0.0)

    def inverse(self, order: int) -> np.ndarray:
        """a₀ … a_order [s^i]."""
        scale = self.omega.max()
        columns = self.response[:, None] * (1j * self.omega[:, None] / scale) ** np.arange(order + 1)
        weight = np.sqrt(self.power)[:, None]
        rows, ones = weight * columns, weight[:, 0].astype(complex)
        found = np.linalg.lstsq(np.vstack([rows.real, rows.imag]), np.concatenate([ones.real, ones.imag]), rcond=None)
        return np.asarray(found[0] / scale ** np.arange(order + 1))


def rig_response(definition: Definition, motion: np.ndarray) -> RigResponse:
    """The rig as a definition's loop meets it, for a ``motion`` (ticks,) of the interface."""
    dt, n = definition.timing.step, definition.virtual.axes
    model = _measured(definition.unchecked_copy({"coupling": Direct()}))
    spectrum = np.abs(np.fft.rfft(motion - motion.mean())) ** 2
    if not spectrum.any():  # at rest, no frequency counts more than another
        spectrum += 1.0
    frequency = 2 * np.pi * np.fft.rfftfreq(len(motion), dt)
    counting = np.flatnonzero(spectrum > COUNTS * spectrum.max())
    top = min(2.0 * frequency[counting[-1]], 0.5 * np.pi / dt)
    edges = np.linspace(0.0, top, POINTS + 1)
    power, _ = np.histogram(frequency, edges, weights=spectrum)
    omega = 0.5 * (edges[1:] + edges[:-1])
    response = np.trace(model.response(omega), axis1=1, axis2=2) / n
    return RigResponse(omega, response * np.exp(-0.5j * omega * dt), np.maximum(power, LEAST * power.max()))


def _measured(definition: Definition) -> StateSpace:
    """From the probe of a tick to what is measured in the next."""
    names = definition.interface.channels("measured.displacement")
    try:
        return answer(cut_loop(definition), names)
    except NoSlopeError:
        return answer(cut_loop(definition, smooth=True), names)


def undisturbed(definition: Definition) -> np.ndarray:
    """The target where no specimen answers: the band of a test whose emulated system is not known."""
    direct = definition.unchecked_copy({"coupling": Direct()})
    loop = build(direct, Purpose(cut=True))
    return loop.run(definition.timing.ticks, record=definition.interface.channels("target")).log[:, 1:]
