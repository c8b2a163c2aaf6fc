"""Anti-aliasing filters of sensors: Butterworth low-passes between rig and sampling, on the rig's finer step.

    H(s) = 1 / Π (1 − s/p_k),    p_k = ω_c exp(jπ (2k + n + 1)/2n),    k = 0 … n − 1

(S. Butterworth, "On the theory of filter amplifiers", Wireless Engineer 7 (1930) 536–541).  The input is a straight
line over a step h of the rig, for which the filter is integrated exactly:

    x⁺ = Φ x + Γ₀ u + Γ₁ u⁺,    y = C x               with z = x − Γ₁ u:  y = C z + C Γ₁ u,  z⁺ = Φ z + (Γ₀ + Φ Γ₁) u

Slow signals are delayed by −Σ 1/p_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from ..kernels.block import Block, Channel
from ..models.schemes.exact import discretise
from ..settings import Number, Settings


class SensorFilter(Settings):
    """Butterworth low-pass between a sensor and its sampling."""

    cutoff: Annotated[float, Number("Hz", above=0)]
    """Frequency at which the gain is −3 dB."""
    order: Annotated[int, Field(ge=1, le=8)] = 2
    """Order: attenuation of 20 dB per decade each."""

    @property
    def delay(self) -> float:
        """Of slow signals [s]."""
        return float(self._polynomial()[-2]) / (2.0 * np.pi * self.cutoff)

    def response(self, hz: np.ndarray) -> np.ndarray:
        """H at frequencies [Hz]."""
        return np.asarray(1.0 / np.polyval(self._polynomial(), 1j * np.asarray(hz) / self.cutoff))

    def _polynomial(self) -> np.ndarray:
        """Of the denominator, highest power first, with a cutoff of 1 rad/s."""
        n = self.order
        return np.poly(np.exp(1j * np.pi * (2.0 * np.arange(n) + n + 1.0) / (2.0 * n))).real

    def matrices(self) -> tuple[np.ndarray, np.ndarray]:
        """A and B [rad/s] of x˙ = A x + B u; the output is the first of x, which are its derivatives."""
        n, omega = self.order, 2.0 * np.pi * self.cutoff
        a = np.eye(n, k=1)
        a[-1] = -self._polynomial()[:0:-1]
        return omega * a, omega * np.eye(n)[:, -1:]


def filter_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for c in range(u.size):
        y[c] = s.x[c, 0] + p.direct[c] * u[c]
        for i in range(s.x.shape[1]):
            s.next[i] = p.inputs[c, i] * u[c]
            for j in range(s.x.shape[1]):
                s.next[i] += p.transition[c, i, j] * s.x[c, j]
        for i in range(s.x.shape[1]):
            s.x[c, i] = s.next[i]
    return 0


def filter_block(
    filters: Sequence[SensorFilter], inputs: Sequence[str], outputs: Sequence[Channel], resting: np.ndarray, h: float
) -> Block:
    """A block that filters each input on a step h [s]; all have been at ``resting``."""
    count, order = len(filters), max(one.order for one in filters)
    transition, entering, x = np.zeros((count, order, order)), np.zeros((count, order)), np.zeros((count, order))
    direct = np.zeros(count)
    for c, one in enumerate(filters):
        n = one.order
        moved, earlier, later = discretise(*one.matrices(), h, "first")
        transition[c, :n, :n], direct[c] = moved, later[0, 0]
        entering[c, :n] = (earlier + moved @ later)[:, 0]
        x[c, :n] = -later[:, 0] * resting[c]
        x[c, 0] += resting[c]
    return Block(
        name="sensor filters",
        step=filter_step,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        parameters={"transition": transition, "inputs": entering, "direct": direct},
        state={"x": x, "next": np.zeros(order)},
        frozen=("next",),
        initial=tuple(resting),
        references=("butterworth1930",),
    )
