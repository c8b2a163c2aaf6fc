"""A low-pass filter that gives a signal's derivatives next to it, for identifying an inverse model from noisy samples.

    H(s) = 1/B_m(s/ω),       p_i = (s/ω)^i H(s) p,   i = 0 … m − 1            B_m: Butterworth polynomial

The p_i are the states of H in companion form (a state-variable filter).  If u = Σ a_i x^(i), then also
u_0 = Σ (a_i ω^i) x_i when command u and measurement x pass the same filter: the lag of the filter cancels, and the
coefficients a_i ω^i are of like size.  A command is held over a step, a measurement is linear between samples, and the
filter is integrated exactly for either: half a step between the two is accounted for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels.linear import stored
from ..models.schemes.exact import discretise


@dataclass(frozen=True)
class DerivativeFilter:
    """The filter over one step, in the layout of ``kernels/linear.py``."""

    transition: np.ndarray
    earlier: np.ndarray
    later: np.ndarray
    held: np.ndarray


def derivative_filter(order: int, omega: float, dt: float) -> DerivativeFilter:
    """A Butterworth filter of corner ω [rad/s]; its states are p_0 … p_(order−1)."""
    poles = -np.exp(1j * np.pi * np.arange(1 - order, order, 2) / (2 * order))
    denominator = np.real(np.poly(poles))
    a = np.diag(np.ones(order - 1), 1)
    a[-1] = -denominator[:0:-1]
    b = np.zeros((order, 1))
    b[-1] = 1.0
    transition, earlier, later = discretise(omega * a, omega * b, dt, "first")
    _, held, _ = discretise(omega * a, omega * b, dt, "zero")
    return DerivativeFilter(stored(transition), earlier[:, 0], later[:, 0], held[:, 0])
