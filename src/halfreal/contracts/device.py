"""A virtual device as a ratio of polynomials: what a compensator that is ideal for it must know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import HalfrealError
from .state_space import StateSpace


@dataclass(frozen=True)
class Device:
    """A virtual device: D_n = (b/a) e^{−sτ} F_m; the delay is that of its integration, half a step if forces are held.

    ``denominator`` is a and ``numerator`` b.
    """

    numerator: np.ndarray
    denominator: np.ndarray
    delay: float = 0.0

    def response(self, omega: np.ndarray) -> np.ndarray:
        s = 1j * np.asarray(omega)
        return np.asarray(
            np.polyval(self.numerator, s) * np.exp(-s * self.delay) / np.polyval(self.denominator, s), dtype=complex
        )


def device_of(model: StateSpace, delay: float = 0.0) -> Device:
    """From a continuous model whose input is the force that acts on the device and whose output its displacement."""
    if model.dt is not None or model.d.shape != (1, 1):
        raise HalfrealError("a device's model is continuous, with one input (force) and one output (displacement)")
    denominator, (numerator,) = ratio(model)
    return Device(numerator, denominator, delay)


def ratio(model: StateSpace) -> tuple[np.ndarray, list[np.ndarray]]:
    """det(sI − A), and det(sI − A + b c) + (d − 1) det(sI − A) of each input.

    Time is counted in the slowest period first, so that coefficients of many decades do not spoil one another; what is
    left of the leading ones by rounding is cut off.
    """
    rate = max(float(np.max(np.abs(np.linalg.eigvals(model.a)), initial=0.0)), 1e-300)
    a, b = model.a / rate, model.b / rate
    below = np.real(np.poly(a))
    powers = rate ** np.arange(len(below))
    above: list[np.ndarray] = []
    for i in range(b.shape[1]):
        size = float(np.linalg.norm(b[:, i]) * np.linalg.norm(model.c[0])) or 1.0
        part = np.real(np.poly(a - np.outer(b[:, i], model.c[0]) / size)) - below
        numerator = part * size + model.d[0, i] * below
        small = np.abs(numerator) < 1e-12 * max(float(np.abs(numerator).max()), 1e-300)
        numerator[np.cumprod(small).astype(bool)] = 0.0
        above.append(np.trim_zeros(numerator * powers, "f"))
    return below * powers, above
