"""Bilinear hysteresis with linear kinematic hardening, by return mapping.

J. C. Simo, T. J. R. Hughes, Computational Inelasticity, Springer 1998, chapter 1:

    σ = k (ε − ε_p),    |σ − h ε_p| ≤ σ_y,    h = k b/(1 − b)

with the stiffness k, b k after yielding.  The step is exact for any length: where the elastic trial leaves the yield
surface by the excess f = |k (ε − ε_p) − h ε_p| − σ_y > 0, ε_p moves by f/(k + h) and the tangent is k h/(k + h) = b k.
It is the law of Steel01 in OpenSees without its isotropic hardening.  Fibres of plane sections have it four at a time
(``elastoplastic_lanes.py``).

======== =================================================
ε_p      plastic strain, or permanent set: the only state
b        ``hardening``
======== =================================================
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ...kernels.compile import kernel
from ...settings import Number
from .law import Law

ELASTOPLASTIC = 3.0


@kernel
def elastoplastic(p, s, strain, trial):  # type: ignore[no-untyped-def]
    k, yielding, hardening = p[0], p[1], p[2]
    permanent = s[0]
    tangent = k
    excess = k * (strain - permanent) - hardening * permanent
    if abs(excess) > yielding:
        permanent = permanent + (excess - np.sign(excess) * yielding) / (k + hardening)
        tangent = k * hardening / (k + hardening)
    trial[0] = permanent
    return k * (strain - permanent), tangent


class _Elastoplastic(Law):
    code = ELASTOPLASTIC
    states = 1
    references = ("simo1998",)
    hardening: Annotated[float, Number("1", least=0, most=0.999)] = 0.0
    """b, post-yield stiffness relative to the initial one."""

    def numbers(self, stiffness: float, yielding: float) -> tuple[float, ...]:
        return stiffness, yielding, stiffness * self.hardening / (1.0 - self.hardening)

    @property
    def initial_stiffness(self) -> float:
        return self.values()[0]


class ElastoplasticLaw(_Elastoplastic):
    """Hysteretic bilinear spring with kinematic hardening: stiffness k, and ``hardening`` times k after yielding."""

    other = "elastoplastic hinge"
    kind: Literal["elastoplastic"] = "elastoplastic"
    stiffness: Annotated[float, Number("N/m", above=0)]
    yield_force: Annotated[float, Number("N", above=0)]

    def values(self) -> tuple[float, ...]:
        return self.numbers(self.stiffness, self.yield_force)


class ElastoplasticHinge(_Elastoplastic):
    """Plastic hinge with kinematic hardening: stiffness k, and ``hardening`` times k after yielding."""

    of = "rotation"
    other = "elastoplastic"
    kind: Literal["elastoplastic hinge"] = "elastoplastic hinge"
    stiffness: Annotated[float, Number("N m/rad", above=0)]
    yield_moment: Annotated[float, Number("N m", above=0)]
    """Moment at first yield."""

    def values(self) -> tuple[float, ...]:
        return self.numbers(self.stiffness, self.yield_moment)


class ElastoplasticFibre(_Elastoplastic):
    """Bilinear steel with kinematic hardening: modulus E, and ``hardening`` times E after yielding."""

    of = "strain"
    kind: Literal["elastoplastic fibre"] = "elastoplastic fibre"
    modulus: Annotated[float, Number("Pa", above=0)]
    """Young's modulus E."""
    yield_stress: Annotated[float, Number("Pa", above=0)]
    """Stress at first yield."""

    def values(self) -> tuple[float, ...]:
        return self.numbers(self.modulus, self.yield_stress)
