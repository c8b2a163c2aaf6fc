"""Menegotto–Pinto steel: a smooth passage from the elastic to the hardening line, sharper or rounder with the
excursion.

M. Menegotto, P. E. Pinto, "Method of analysis for cyclically loaded R.C. plane frames including changes in geometry
and non-elastic behavior of elements under combined normal force and bending", IABSE Symposium, Lisbon 1973, 15–22,
with the isotropic hardening of F. C. Filippou, E. P. Popov, V. V. Bertero, "Effects of bond deterioration on
hysteretic behavior of reinforced concrete joints", UCB/EERC-83/19, Berkeley 1983.  From the last reversal (ε_r, σ_r)
on towards the intersection (ε_0, σ_0) of the elastic line through it with the hardening line ahead,

    σ* = b ε* + (1 − b) ε* / (1 + |ε*|^R)^{1/R},    ε* = (ε − ε_r)/(ε_0 − ε_r),    σ* = (σ − σ_r)/(σ_0 − σ_r)
    R = R_0 (1 − c_1 ξ/(c_2 + ξ)),    ξ = |ε_m − ε_0|/ε_y

At a reversal the hardening line ahead is shifted by isotropic hardening, σ_y and ε_y both growing by the factor 1 +
a_1 ((ε_max − ε_min)/(2 a_2 ε_y))^0.8 (in compression; a_3 and a_4 in tension).  The curve after a reversal knows the
last one only: a small unloading that is reversed again overshoots the curve it has left, as that of Steel02 in
OpenSees, whose path this law follows.

============== ===========================================================================
b              ``hardening``
R_0, c_1, c_2  ``r0``, ``cr1``, ``cr2``
a_1 … a_4      ``a1`` … ``a4``; a_1 = a_3 = 0 is without isotropic hardening
ε_m            extreme strain on the side towards which it is loaded
============== ===========================================================================

States: direction of loading (0 before any), ε, σ, ε_max, ε_min, ε_m, ε_0, σ_0, ε_r, σ_r.
"""

from __future__ import annotations

from typing import Annotated, Literal

from ...kernels.compile import kernel
from ...settings import Number
from .law import Law

MENEGOTTO_PINTO = 5.0


@kernel
def menegotto_pinto(p, s, strain, trial):  # type: ignore[no-untyped-def]
    modulus, yielding, b = p[0], p[1], p[2]
    at_yield = yielding / modulus
    towards, before, stress_before = s[0], s[1], s[2]
    highest, lowest, extreme = s[3], s[4], s[5]
    ahead, ahead_stress, turned, turned_stress = s[6], s[7], s[8], s[9]
    increment = strain - before
    if increment == 0.0 and towards == 0.0:
        for i in range(10):
            trial[i] = s[i]
        return 0.0, modulus
    direction = towards
    if increment > 0.0:
        direction = 1.0
    elif increment < 0.0:
        direction = -1.0
    if towards == 0.0:
        highest, lowest = at_yield, -at_yield
        extreme, ahead, ahead_stress = direction * at_yield, direction * at_yield, direction * yielding
        turned, turned_stress = 0.0, 0.0
    elif direction != towards:
        turned, turned_stress = before, stress_before
        if direction > 0.0:
            lowest = min(lowest, before)
            share, scale, extreme = p[8], p[9], highest
        else:
            highest = max(highest, before)
            share, scale, extreme = p[6], p[7], lowest
        shift = direction
        if share > 0.0:
            shift = direction * (1.0 + share * ((highest - lowest) / (2.0 * scale * at_yield)) ** 0.8)
        ahead = (yielding * shift * (1.0 - b) - turned_stress + modulus * turned) / (modulus * (1.0 - b))
        ahead_stress = yielding * shift + b * modulus * (ahead - at_yield * shift)
    way = ahead - turned
    excursion = abs(extreme - ahead) / at_yield
    r = p[3] * (1.0 - p[4] * excursion / (p[5] + excursion))
    if way == 0.0:  # reversed on the hardening line itself
        stress, tangent = turned_stress + b * modulus * (strain - turned), b * modulus
    else:
        ratio = (strain - turned) / way
        if abs(ratio) < 1e100:
            bent = 1.0 + abs(ratio) ** r
            bending = bent ** (1.0 / r)
            stress = (b * ratio + (1.0 - b) * ratio / bending) * (ahead_stress - turned_stress) + turned_stress
            tangent = (b + (1.0 - b) / (bent * bending)) * (ahead_stress - turned_stress) / way
        else:
            stress, tangent = turned_stress + b * modulus * (strain - turned), b * modulus
    trial[0], trial[1], trial[2] = direction, strain, stress
    trial[3], trial[4], trial[5] = highest, lowest, extreme
    trial[6], trial[7], trial[8], trial[9] = ahead, ahead_stress, turned, turned_stress
    return stress, tangent


class _MenegottoPinto(Law):
    code = MENEGOTTO_PINTO
    states = 10
    references = ("menegotto1973", "filippou1983")
    hardening: Annotated[float, Number("1", least=0, most=0.9)] = 0.01
    """b, hardening slope relative to the elastic one."""
    r0: Annotated[float, Number("1", least=1, most=50)] = 20.0
    """R_0, sharpness of the first yield."""
    cr1: Annotated[float, Number("1", least=0, most=0.99)] = 0.925
    """c_1, reduction of the sharpness at later yielding."""
    cr2: Annotated[float, Number("1", above=0)] = 0.15
    """c_2, plastic excursion, in yield strains, at which half of that reduction is reached."""
    a1: Annotated[float, Number("1", least=0)] = 0.0
    """a_1, isotropic hardening in compression."""
    a2: Annotated[float, Number("1", above=0)] = 1.0
    """a_2, plastic excursion, in yield strains, to which a_1 refers."""
    a3: Annotated[float, Number("1", least=0)] = 0.0
    """a_3, isotropic hardening in tension."""
    a4: Annotated[float, Number("1", above=0)] = 1.0
    """a_4, plastic excursion, in yield strains, to which a_3 refers."""

    def numbers(self, stiffness: float, yielding: float) -> tuple[float, ...]:
        shape = self.hardening, self.r0, self.cr1, self.cr2, self.a1, self.a2, self.a3, self.a4
        return stiffness, yielding, *shape

    @property
    def initial_stiffness(self) -> float:
        return self.values()[0]


class MenegottoPintoLaw(_MenegottoPinto):
    """Menegotto–Pinto hysteresis of a force over a displacement, as of a steel brace that does not buckle."""

    other = "menegotto-pinto hinge"
    kind: Literal["menegotto-pinto"] = "menegotto-pinto"
    stiffness: Annotated[float, Number("N/m", above=0)]
    yield_force: Annotated[float, Number("N", above=0)]

    def values(self) -> tuple[float, ...]:
        return self.numbers(self.stiffness, self.yield_force)


class MenegottoPintoHinge(_MenegottoPinto):
    """Plastic hinge with Menegotto–Pinto hysteresis."""

    of = "rotation"
    other = "menegotto-pinto"
    kind: Literal["menegotto-pinto hinge"] = "menegotto-pinto hinge"
    stiffness: Annotated[float, Number("N m/rad", above=0)]
    yield_moment: Annotated[float, Number("N m", above=0)]
    """M_y, moment at first yield."""

    def values(self) -> tuple[float, ...]:
        return self.numbers(self.stiffness, self.yield_moment)


class MenegottoPintoFibre(_MenegottoPinto):
    """Menegotto–Pinto steel."""

    of = "strain"
    kind: Literal["menegotto-pinto fibre"] = "menegotto-pinto fibre"
    modulus: Annotated[float, Number("Pa", above=0)]
    """Young's modulus E."""
    yield_stress: Annotated[float, Number("Pa", above=0)]
    """Stress at first yield."""

    def values(self) -> tuple[float, ...]:
        return self.numbers(self.modulus, self.yield_stress)
