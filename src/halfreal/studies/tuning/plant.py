"""What a coupling has to make up for: the rig's response from command to measured displacement, and its inverse.

The loop is cut at its command and measured as in ``stability/open_loop.py``, regardless of what the rig consists of:

    G(ω) = e^{−jωΔt} [C (e^{jωΔt}I − A)⁻¹B + D]            command of a tick → displacement measured at that tick's time

A command that is held over a step is late by half of it; couplings that invert a model of the rig know that, so that
their model is that of G e^{jωΔt/2}.  A low-order inverse a₀ + a₁ s + … + a_m s^m is the one that follows best a motion
of the power spectrum |R|², by linear least squares in the a_i:

    min_a Σ_ω |R|² |1 − G e^{jωΔt/2} Σ_i a_i (jω)^i|²
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...contracts.context import Purpose
from ...contracts.state_space import StateSpace
from ...couplings.direct import Direct
from ...definition.definition import Definition
from ...definition.sections import Excitations
from ...errors import HalfrealError
from ...runs.build import build
from ...runs.checked_plant import along_axes
from ...runs.loop_stability import cut_loop
from ...runs.rig_lag import followed
from ...stability.linearise import NoSlopeError
from ...stability.open_loop import PROBE, answer

LEAST = 1e-6
"""Power, as a part of the largest, that every frequency up to twice the highest one that counts is given at least."""
COUNTS = 1e-4
POINTS = 400
PERIOD = 8192
"""Most ticks of the multisine that a rig is measured with where it cannot be linearised."""
SMALL = 1e-5
"""Of each of its lines [m or rad]."""


@dataclass(frozen=True)
class RigResponse:
    """G e^{jωΔt/2}, of one axis or the mean of all, at frequencies where the motion has its power."""

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
    """The rig as a definition's loop meets it, the mean of all axes, for a ``motion`` (ticks,) of the interface."""
    omega, power = _weighed(motion, definition.timing.step)
    response = np.trace(responses(definition, omega), axis1=1, axis2=2) / coupled(definition)[0].shape[0]
    return RigResponse(omega, response * np.exp(-0.5j * omega * definition.timing.step), power)


def rig_responses(definition: Definition, motion: np.ndarray) -> list[RigResponse]:
    """The rig on each of what the coupling works on, for a ``motion`` (ticks, these) of it."""
    step, found = definition.timing.step, []
    for i in range(motion.shape[1]):
        omega, power = _weighed(motion[:, i], step)
        response = responses(definition, omega)[:, i, i]
        found.append(RigResponse(omega, response * np.exp(-0.5j * omega * step), power))
    return found


def _weighed(motion: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [rad/s], and the power of a motion about each."""
    spectrum = np.abs(np.fft.rfft(motion - motion.mean())) ** 2
    if not spectrum.any():  # at rest, no frequency counts more than another
        spectrum += 1.0
    frequency = 2 * np.pi * np.fft.rfftfreq(len(motion), dt)
    counting = np.flatnonzero(spectrum > COUNTS * spectrum.max())
    top = min(2.0 * frequency[counting[-1]], 0.5 * np.pi / dt)
    edges = np.linspace(0.0, top, POINTS + 1)
    power, _ = np.histogram(frequency, edges, weights=spectrum)
    return 0.5 * (edges[1:] + edges[:-1]), np.maximum(power, LEAST * power.max())


def coupled(definition: Definition) -> tuple[np.ndarray, np.ndarray]:
    """L and R, so that L G R is the rig between what the coupling works on: axes that are commanded, or actuators."""
    kinematics = definition.kinematics
    n = len(definition.interface.commanded_at)
    if kinematics is None:
        return np.eye(n), np.eye(n)
    strokes = along_axes(definition)
    return (strokes, np.eye(len(strokes))) if kinematics.coupling_in == "actuators" else (np.eye(n), strokes)


def as_coupled(definition: Definition, motion: np.ndarray) -> np.ndarray:
    """A motion of the interface, (ticks, axes), on what the coupling works on."""
    moved = motion[:, list(definition.interface.commanded_at)]
    kinematics = definition.kinematics
    if kinematics is None or kinematics.coupling_in == "pose":
        return moved
    return np.asarray(moved @ along_axes(definition).T)


def responses(definition: Definition, omega: np.ndarray) -> np.ndarray:
    """L G R e^{jωΔt} at frequencies [rad/s], (frequencies, n, n): from the command of a tick to what is measured at its
    end; of a rig that cannot be linearised by an experiment on it."""
    left, right = coupled(definition)
    direct = definition.unchecked_copy({"coupling": Direct()})
    try:
        found = _measured(direct).response(omega)
    except HalfrealError:
        found = by_experiment(direct, omega)
    return np.asarray(left @ found @ right)


def _measured(definition: Definition) -> StateSpace:
    """From the probe of a tick to what is measured in the next, of the axes that are commanded."""
    names = followed(definition)
    try:
        return answer(cut_loop(definition), names)
    except NoSlopeError:
        return answer(cut_loop(definition, smooth=True), names)


def by_experiment(definition: Definition, omega: np.ndarray) -> np.ndarray:
    """G measured on the code that runs, by a multisine on one actuator after another, its excitation left out."""
    names, step = followed(definition), definition.timing.step
    loop = build(definition.unchecked_copy({"excitation": Excitations()}), Purpose(cut=True, ideal=True))
    ticks = min(max(1 << math.ceil(math.log2(8.0 * np.pi / (omega[0] * step))), 512), PERIOD)
    lines = np.arange(1, max(int(omega[-1] * step * ticks / (2 * np.pi)) + 2, 8))
    phases = np.random.default_rng(definition.timing.seed).uniform(0.0, 2.0 * np.pi, lines.size)
    signal = SMALL * np.cos(2.0 * np.pi * np.outer(np.arange(ticks), lines) / ticks + phases).sum(axis=1)
    count = len(definition.interface.actuators)
    found = np.empty((omega.size, len(names), count), dtype=complex)
    hz = lines / (ticks * step)
    for j in range(count):
        rows = np.empty((2, ticks, len(names)))
        for period in range(2):  # the first one settles
            for k in range(ticks):
                loop.state(PROBE)["value"][j] = signal[k]
                rows[period, k] = loop.run(1, record=names).log[0, 1:]
        loop.state(PROBE)["value"][j] = 0.0
        # what a row shows is measured at its time, before the command of that tick: one tick earlier than ``answer``
        spectra = np.fft.rfft(rows[1], axis=0)[lines] / np.fft.rfft(signal)[lines, None]
        shifted = spectra * np.exp(2j * np.pi * hz * step)[:, None]
        for i in range(len(names)):
            found[:, i, j] = np.interp(omega / (2 * np.pi), hz, shifted[:, i])
    return found


def undisturbed(definition: Definition) -> np.ndarray:
    """The target where no specimen answers: the band of a test whose emulated system is not known."""
    direct = definition.unchecked_copy({"coupling": Direct()})
    loop = build(direct, Purpose(cut=True))
    return loop.run(definition.timing.ticks, record=definition.interface.channels("target")).log[:, 1:]
