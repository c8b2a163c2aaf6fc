"""Friction pendulum: a slider on a spherical surface, its friction growing with the velocity.

V. A. Zayas, S. S. Low, S. A. Mahin, "A simple pendulum technique for achieving seismic isolation", Earthquake Spectra 6
(1990) 317–333, with the coefficient of friction of M. C. Constantinou, A. Mokha, A. Reinhorn, "Teflon bearings in base
isolation II: modeling", J. Struct. Eng. 116 (1990) 455–474:

    F = (N/R) x + friction up to μ(v) N,    μ = μ_fast − (μ_fast − μ_slow) exp(−|v|/v_f)

for displacements small against the radius R, with the normal force N constant.  It sticks elastically until it has
moved by ``yield_displacement`` at the fast friction, and the kernel is that of ``friction.py``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ValidationInfo, field_validator

from ...settings import Number, fault
from .friction import FRICTION
from .law import Law


class FrictionPendulum(Law):
    """Friction pendulum bearing under a constant normal force."""

    code = FRICTION
    states = 1
    references = ("zayas1990", "constantinou1990")
    kind: Literal["friction pendulum"] = "friction pendulum"
    normal_force: Annotated[float, Number("N", above=0)]
    """N, normal force from the supported weight."""
    radius: Annotated[float, Number("m", above=0)]
    """R, effective: from the centre of the sphere to the pivot of the slider."""
    friction: Annotated[float, Number("1", above=0, most=1)]
    """μ_fast, coefficient of friction in fast sliding."""
    slow_friction: Annotated[float, Number("1", above=0, most=1)] | None = None
    """μ_slow, friction at the onset of sliding; default: the fast one."""
    fading_speed: Annotated[float, Number("m/s", above=0)] = 0.05
    """v_f, velocity of the transition from slow to fast friction."""
    yield_displacement: Annotated[float, Number("m", above=0)] = 1e-3
    """Elastic displacement before sliding."""

    @field_validator("slow_friction")
    @classmethod
    def _at_most_fast(cls, slow: float | None, info: ValidationInfo) -> float | None:
        fast = info.data.get("friction")
        if slow is not None and fast is not None and slow > fast:
            raise fault(f"slow_friction = {slow:g} is above friction = {fast:g}; give at most that")
        return slow

    def values(self) -> tuple[float, ...]:
        fast = self.friction * self.normal_force
        slow = fast if self.slow_friction is None else self.slow_friction * self.normal_force
        return fast / self.yield_displacement, slow, fast, 1.0 / self.fading_speed, self.normal_force / self.radius

    @property
    def initial_stiffness(self) -> float:
        p = self.values()
        return p[0] + p[4]
