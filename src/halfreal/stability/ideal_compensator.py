"""The ideal compensator of an actuator that the specimen pushes back, and of a device that moves with the force.

V. Ruffini, C. Szczyglowski, D. A. W. Barton, M. Lowenberg, S. A. Neild, Exp. Tech. (2020), doi
10.1007/s40799-020-00394-5, Eqs. 9–11 and Table 2, for any actuator and any device:

    Δ D_a = n_c e^{−sτ} D_c + n_f F_m          what the actuator does: G_c = n_c e^{−sτ}/Δ, G_f = n_f/Δ
    D_n = N F_m,  N = b/a                      what the virtual device requests
    D_c = P D_n                                the compensator

    D_a/D_n = G_c P + G_f/N                    independent of the specimen
    P_id = (1 − G_f/N)/G_c = e^{sτ} (Δ b − n_f a)/(n_c b)                          so that D_a = D_n

P_id is improper as a rule: it differentiates at high frequencies and amplifies noise, so that it has to be realised in
a band (``halfreal.couplings.narrow_band_table``, ``broad_band_inverse``).  ``Performance`` says what became of it.

========= ============================================================================
D_a, D_n  displacement of the actuator, and that of the device (the target)
D_c       command
F_m       force of the specimen on the actuator, positive along D_a
Δ, n_c …  polynomials in s [rad/s], coefficients of the highest power first
========= ============================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..contracts.device import Device, ratio
from ..contracts.state_space import StateSpace
from ..errors import HalfrealError


class Following(Protocol):
    """An actuator by its responses: D_a = G_c D_c + G_f F_m."""

    def responses(self, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """G_c and G_f at ω [rad/s]."""
        ...


@dataclass(frozen=True)
class Follower:
    """An actuator: Δ D_a = n_c e^{−sτ} D_c + n_f F_m."""

    denominator: np.ndarray
    by_command: np.ndarray
    by_force: np.ndarray
    delay: float = 0.0

    def responses(self, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """G_c and G_f at ω [rad/s]."""
        s = 1j * np.asarray(omega)
        below = np.polyval(self.denominator, s)
        command = np.polyval(self.by_command, s) * np.exp(-s * self.delay) / below
        return np.asarray(command), np.asarray(np.polyval(self.by_force, s) / below)


def follower_of(model: StateSpace, delay: float = 0.0) -> Follower:
    """From a continuous model with the inputs (command, force on the actuator) and the displacement as output."""
    if model.dt is not None or model.d.shape != (1, 2):
        raise HalfrealError(
            f"an actuator's model is continuous, with 2 inputs (command, force) and 1 output; this one has "
            f"{model.d.shape[1]} input(s), {model.d.shape[0]} output(s) and the step {model.dt}"
        )
    denominator, (by_command, by_force) = ratio(model)
    return Follower(denominator, by_command, by_force, delay)


@dataclass(frozen=True)
class Ideal:
    """P_id = e^{sτ} numerator/denominator."""

    numerator: np.ndarray
    denominator: np.ndarray
    advance: float = 0.0

    @property
    def excess(self) -> int:
        """Zeros above poles: how often it differentiates at high frequencies."""
        return len(np.trim_zeros(self.numerator, "f")) - len(np.trim_zeros(self.denominator, "f"))

    def response(self, omega: np.ndarray) -> np.ndarray:
        s = 1j * np.asarray(omega)
        ratio = np.polyval(self.numerator, s) / np.polyval(self.denominator, s)
        return np.asarray(ratio * np.exp(s * self.advance))


def ideal(actuator: Follower, device: Device) -> Ideal:
    """P_id as a ratio of polynomials; powers of s that all terms share are cancelled."""
    if device.delay:
        raise HalfrealError(
            "the ideal compensator of a device with a delay is not a rational function; use its "
            "frequency response instead"
        )
    product = np.polymul(actuator.by_force, device.denominator)
    if not np.all(product == 0) and actuator.delay:
        raise HalfrealError("the ideal compensator of an actuator with delay and compliance is not a rational function")
    above: np.ndarray = np.polysub(np.polymul(actuator.denominator, device.numerator), product)
    below = np.polymul(actuator.by_command, device.numerator)
    while len(above) > 1 and len(below) > 1 and above[-1] == 0 and below[-1] == 0:
        above, below = above[:-1], below[:-1]
    return Ideal(above, below, actuator.delay)


def ideal_response(actuator: Following, device: Device, omega: np.ndarray) -> np.ndarray:
    """P_id(jω)."""
    return ideal_from(actuator.responses(omega), device, omega)


def ideal_from(responses: tuple[np.ndarray, np.ndarray], device: Device, omega: np.ndarray) -> np.ndarray:
    """P_id(jω) = (1 − G_f/N)/G_c, with an actuator's responses G_c and G_f."""
    command, force = responses
    return np.asarray((1.0 - force / device.response(omega)) / command)


def displacement_ratio(actuator: Following, device: Device, compensator: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """D_a/D_n with the compensator P(jω); ones for none."""
    command, force = actuator.responses(omega)
    return np.asarray(command * compensator + force / device.response(omega))


@dataclass(frozen=True)
class Performance:
    """What a realised compensator P does at some frequencies: where it is accurate, and how it amplifies noise."""

    frequency_hz: np.ndarray
    compensator: np.ndarray
    """P(jω)."""
    ideal: np.ndarray
    """P_id(jω)."""
    ratio: np.ndarray
    """D_a/D_n, 1 if it were ideal."""
    device: np.ndarray
    """N(jω): noise of the force sensor [N] comes out of the command as |P N| [m]."""

    @property
    def amplitude_error(self) -> np.ndarray:
        return np.asarray(np.abs(self.ratio) - 1.0)

    @property
    def phase_error_deg(self) -> np.ndarray:
        return np.asarray(np.degrees(np.angle(self.ratio)))

    @property
    def noise_gain(self) -> np.ndarray:
        """|P|: what is left of noise in the target."""
        return np.asarray(np.abs(self.compensator))

    @property
    def force_noise_gain(self) -> np.ndarray:
        """|P N| [m/N]."""
        return np.asarray(np.abs(self.compensator * self.device))

    def accurate(self, amplitude: float, phase_deg: float) -> list[tuple[float, float]]:
        """Bands [Hz] in which amplitude and phase of D_a/D_n are within these bounds."""
        good = (np.abs(self.amplitude_error) <= amplitude) & (np.abs(self.phase_error_deg) <= phase_deg)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(int)))
        return [
            (float(self.frequency_hz[first]), float(self.frequency_hz[after - 1]))
            for first, after in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
        ]

    def summary(self, amplitude: float = 0.023, phase_deg: float = 1.0) -> str:
        bands = ", ".join(f"{low:.3g} to {high:.3g} Hz" for low, high in self.accurate(amplitude, phase_deg))
        worst = int(np.argmax(self.noise_gain))
        return (
            f"within {100 * amplitude:.3g} % and {phase_deg:.3g}° from {bands or 'nowhere'}; amplifies noise of the "
            f"target up to {self.noise_gain[worst]:.3g} times, at {self.frequency_hz[worst]:.3g} Hz"
        )


def performance(
    actuator: Following, device: Device, frequency_hz: np.ndarray, compensator: np.ndarray | float = 1.0
) -> Performance:
    """Of a compensator by its response at these frequencies; 1.0 is none."""
    hz = np.atleast_1d(np.asarray(frequency_hz, dtype=float))
    omega = 2 * np.pi * hz
    values = np.broadcast_to(np.asarray(compensator, dtype=complex), hz.shape)
    return Performance(
        hz,
        values,
        ideal_response(actuator, device, omega),
        displacement_ratio(actuator, device, values, omega),
        device.response(omega),
    )
