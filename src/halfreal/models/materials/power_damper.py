"""Fluid viscous damper with a power of the velocity.

M. C. Constantinou, M. D. Symans, "Experimental study of seismic response of buildings with supplemental fluid dampers",
Struct. Design Tall Build. 2 (1993) 93–132:

    F = F_r |v/v_r|^α sgn v    for |v| ≥ v_0,    F = F_r (v_0/v_r)^α v/v_0    below

F_r at v_r represents c = F_r/v_r^α, whose unit depends on α.  For α < 1 the slope at v = 0 would be infinite, and no
loop could be linearised at rest: below v_0 the damper is linear, as its leakage makes real ones.

A damper with a stiff brace or fluid in series is that of ``maxwell_damper.py``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from ...kernels.compile import kernel
from ...settings import Number
from .law import Law

POWER_DAMPER = 9.0


@kernel
def power_damper(p, rate):  # type: ignore[no-untyped-def]
    """Force, and its slope by the rate; p = (F_r, v_r, α, v_0)."""
    speed = abs(rate)
    if speed <= p[3]:
        slope = p[0] * (p[3] / p[1]) ** p[2] / p[3]
        return slope * rate, slope
    force = p[0] * (speed / p[1]) ** p[2]
    return force if rate > 0.0 else -force, p[2] * force / speed


class PowerDamper(Law):
    """Viscous damper whose force grows with a power of the speed."""

    code = POWER_DAMPER
    references = ("constantinou1993",)
    kind: Literal["power damper"] = "power damper"
    force: Annotated[float, Number("N", above=0)]
    """F_r, at ``speed``."""
    speed: Annotated[float, Number("m/s", above=0)]
    """v_r, speed at which the damper has the force F_r."""
    alpha: Annotated[float, Number("1", least=0.05, most=3)]
    """α, velocity exponent; 1 for a linear damper."""
    linear_below: Annotated[float, Number("m/s", above=0)] = 1e-3
    """v_0, speed below which it is linear."""

    def values(self) -> tuple[float, ...]:
        return self.force, self.speed, self.alpha, self.linear_below

    @property
    def initial_stiffness(self) -> float:
        return 0.0

    @property
    def initial_damping(self) -> float:
        at = self.linear_below
        return float(self.force * (at / self.speed) ** self.alpha / at)
