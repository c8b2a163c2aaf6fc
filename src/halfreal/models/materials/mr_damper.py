"""Magnetorheological damper at constant current: the modified Bouc–Wen model.

B. F. Spencer, S. J. Dyke, M. K. Sain, J. D. Carlson, "Phenomenological model for magnetorheological dampers", J. Eng.
Mech. 123 (1997) 230–238:

    F = c_1 y˙ + k_1 x
    y˙ = (α z + c_0 x˙ + k_0 (x − y))/(c_0 + c_1)
    z˙ = −γ |x˙ − y˙| z |z|^{n−1} − β (x˙ − y˙) |z|ⁿ + A (x˙ − y˙),    n = 2

The paper's offset x_0 of the accumulator is a constant force and is left out: x counts from where the accumulator
rests.  Its coefficients at a voltage, α = α_a + α_b u and so on, are given as numbers at that voltage.

Over the time since the committed state the piston moves evenly, and (y, z) are integrated by the classical
Runge–Kutta method in ``SUBDIVISIONS`` parts; |z| is held below its bound √(A/(β + γ)), which it has for any motion,
so that a motion too fast for the parts stays bounded.  The tangent leaves out how y and z depend on x.

States: x, y and the set x − y − z/A, which small motions do not change: it is memory, and x and y flow.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from ...kernels.compile import kernel
from ...settings import Number, fault
from .law import Law

MR_DAMPER = 11.0
SUBDIVISIONS = 8


@kernel
def _rates(p, x, speed, y, z):  # type: ignore[no-untyped-def]
    z = min(max(z, -p[8]), p[8])
    inner = (p[0] * z + p[1] * speed + p[3] * (x - y)) / (p[1] + p[2])
    slip = speed - inner
    return inner, p[7] * slip - p[5] * abs(slip) * z * abs(z) - p[6] * slip * z * z


@kernel
def mr_damper(p, s, strain, rate, elapsed, trial):  # type: ignore[no-untyped-def]
    """Force, tangent, damping; p = (α, c_0, c_1, k_0, k_1, γ, β, A, bound of z)."""
    x, y = s[0], s[1]
    z = p[7] * (x - y - s[2])
    if elapsed > 0.0:
        speed, h = (strain - x) / elapsed, elapsed / SUBDIVISIONS
        for _ in range(SUBDIVISIONS):
            y1, z1 = _rates(p, x, speed, y, z)
            middle = x + 0.5 * h * speed
            y2, z2 = _rates(p, middle, speed, y + 0.5 * h * y1, z + 0.5 * h * z1)
            y3, z3 = _rates(p, middle, speed, y + 0.5 * h * y2, z + 0.5 * h * z2)
            x += h * speed
            y4, z4 = _rates(p, x, speed, y + h * y3, z + h * z3)
            y += h / 6.0 * (y1 + 2.0 * y2 + 2.0 * y3 + y4)
            z += h / 6.0 * (z1 + 2.0 * z2 + 2.0 * z3 + z4)
            z = min(max(z, -p[8]), p[8])
    trial[0], trial[1], trial[2] = strain, y, strain - y - z / p[7]
    share = p[2] / (p[1] + p[2])
    force = share * (p[0] * z + p[1] * rate + p[3] * (strain - y)) + p[4] * strain
    return force, share * p[3] + p[4], share * p[1]


class MRDamper(Law):
    """Magnetorheological damper at constant current."""

    code = MR_DAMPER
    states = 3
    references = ("spencer1997",)
    kind: Literal["mr damper"] = "mr damper"
    alpha: Annotated[float, Number("N/m", least=0)]
    """α, of the hysteretic part, at the voltage."""
    c0: Annotated[float, Number("N s/m", least=0)]
    """c_0, damping at large velocities."""
    c1: Annotated[float, Number("N s/m", above=0)]
    """c_1, of the roll-off at low velocities."""
    k0: Annotated[float, Number("N/m", least=0)] = 0.0
    """k_0, stiffness at large velocities."""
    k1: Annotated[float, Number("N/m", least=0)] = 0.0
    """k_1, of the accumulator."""
    beta: Annotated[float, Number("1/m^2", above=0)]
    """β, shape of the hysteresis z."""
    gamma: Annotated[float, Number("1/m^2")]
    """γ, shape of the hysteresis z."""
    amplitude: Annotated[float, Number("1", above=0)]
    """A, slope of the hysteresis z at small motion."""

    @field_validator("gamma")
    @classmethod
    def _bounded(cls, gamma: float, info: ValidationInfo) -> float:
        beta = info.data.get("beta")
        if beta is not None and not -beta < gamma <= beta:
            raise fault(
                f"gamma = {gamma:g} 1/m^2 with beta = {beta:g} 1/m^2 leaves z unbounded or makes the damper generate "
                f"energy; choose gamma greater than {-beta:g} and at most {beta:g}"
            )
        return gamma

    def values(self) -> tuple[float, ...]:
        bound = float(np.sqrt(self.amplitude / (self.beta + self.gamma)))
        shape = self.gamma, self.beta, self.amplitude, bound
        return self.alpha, self.c0, self.c1, self.k0, self.k1, *shape

    @property
    def flowing(self) -> tuple[int, ...]:
        return (0, 1)

    @property
    def initial_stiffness(self) -> float:
        """With the inner damper locked: y moves with time only."""
        share = self.c1 / (self.c0 + self.c1)
        return share * self.k0 + self.k1

    @property
    def initial_damping(self) -> float:
        return self.c0 * self.c1 / (self.c0 + self.c1)
