"""A spring and a viscous damper with a power of the velocity, in series.

    x˙ = F˙/k + w(F),    w = v_r (|F|/F_r)^{1/α} sgn F

with the damper's force F_r at the speed v_r (``power_damper.py``).  Over the time since the committed state the end
moves evenly, and F is integrated by the two-stage, L-stable Runge–Kutta method of order two of R. Alexander, SIAM J.
Numer. Anal. 14 (1977) 1006–1021, with γ = 1 − 1/√2: any step is stable however stiff the spring is.  A stage requires
the root of

    g(F) = F + γ h k w(F) − R

which is convex for α ≤ 1, and for α > 1 as a function of w: Newton's method from the smaller of the two values that F
would have with one of the terms alone falls to it monotonically.  After ``ITERATIONS`` of them the residual is below
10⁻¹² of R for all α from 0.05 to 3 (a test tries it).

States: x, F.  They flow, and are part of a linearised loop, where α ≥ 1: with α = 1 it is Maxwell's element, and with
α > 1 the damper is free at rest.  With α < 1 it is locked there, and what it has flowed before is held.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ...kernels.compile import kernel
from ...settings import Number
from .law import Law

MAXWELL_DAMPER = 10.0
ITERATIONS = 12
GAMMA = 1.0 - 1.0 / np.sqrt(2.0)


@kernel
def flow(p, force):  # type: ignore[no-untyped-def]
    """w(F), and its slope; p = (k, F_r, v_r, α)."""
    if force == 0.0:
        return 0.0, p[2] / p[1] if p[3] == 1.0 else 0.0
    w = p[2] * (abs(force) / p[1]) ** (1.0 / p[3])
    return w if force > 0.0 else -w, w / (p[3] * abs(force))


@kernel
def settled(p, h, right):  # type: ignore[no-untyped-def]
    """The force F with F + h k w(F) = right."""
    size, hk = abs(right), h * p[0]
    if size == 0.0 or hk == 0.0:
        return right
    # as a part of `right`: f + a f^{1/α} = 1 for α ≤ 1, else in terms of w
    if p[3] <= 1.0:
        power, a = 1.0 / p[3], hk * p[2] * (size / p[1]) ** (1.0 / p[3]) / size
    else:
        power, a = p[3], p[1] * (size / (hk * p[2])) ** p[3] / size
    f = min(1.0, a ** (-1.0 / power)) if a > 0.0 else 1.0
    for _ in range(ITERATIONS):
        bent = a * f**power
        f -= (f + bent - 1.0) / (1.0 + power * bent / f)
    share = f if p[3] <= 1.0 else a * f**power
    return share * right


@kernel
def maxwell_damper(p, s, strain, elapsed, trial):  # type: ignore[no-untyped-def]
    force, moved = s[1], p[0] * (strain - s[0])
    h = GAMMA * elapsed
    first = settled(p, h, force + GAMMA * moved)
    slope = moved - elapsed * p[0] * flow(p, first)[0]
    last = settled(p, h, force + (1.0 - GAMMA) * slope + GAMMA * moved)
    trial[0], trial[1] = strain, last
    # dF/dx through both stages
    by_first = 1.0 / (1.0 + h * p[0] * flow(p, first)[1])
    by_slope = 1.0 - elapsed * p[0] * flow(p, first)[1] * GAMMA * by_first
    by_last = 1.0 / (1.0 + h * p[0] * flow(p, last)[1])
    return last, p[0] * ((1.0 - GAMMA) * by_slope + GAMMA) * by_last


class MaxwellDamper(Law):
    """Viscous damper with a power of the speed, and a spring in series."""

    code = MAXWELL_DAMPER
    states = 2
    references = ("constantinou1993",)
    kind: Literal["maxwell damper"] = "maxwell damper"
    stiffness: Annotated[float, Number("N/m", above=0)]
    """k, of the spring: brace, oil and bearings."""
    force: Annotated[float, Number("N", above=0)]
    """F_r, of the damper at ``speed``."""
    speed: Annotated[float, Number("m/s", above=0)]
    """v_r, speed at which the damper has the force F_r."""
    alpha: Annotated[float, Number("1", least=0.05, most=3)] = 1.0
    """α, velocity exponent; 1 for a linear damper."""

    def values(self) -> tuple[float, ...]:
        return self.stiffness, self.force, self.speed, self.alpha

    @property
    def flowing(self) -> tuple[int, ...]:
        """Both states, unless the damper is locked at rest."""
        return (0, 1) if self.alpha >= 1.0 else ()

    @property
    def initial_stiffness(self) -> float:
        """That of the spring, the damper locked."""
        return self.stiffness
