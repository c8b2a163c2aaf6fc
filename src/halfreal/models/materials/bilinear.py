"""Bilinear elasticity: one stiffness inside ±a and another outside, without hysteresis.

    σ = k ε inside,    σ = ±k a + k₂ (ε ∓ a) outside

With k₂ = 0 it is the saturating spring of M. I. Wallace, J. Sieber, S. A. Neild, D. J. Wagg, B. Krauskopf, Earthquake
Engng Struct. Dyn. 34 (2005) 1817–1832, section 3.
"""

from __future__ import annotations

from typing import Annotated, Literal

from ...kernels.compile import kernel
from ...settings import Number
from .law import Law

BILINEAR = 2.0


@kernel
def bilinear(p, strain):  # type: ignore[no-untyped-def]
    inside = min(max(strain, -p[1]), p[1])
    return p[0] * inside + p[2] * (strain - inside), p[0] if abs(strain) <= p[1] else p[2]


class _Bilinear(Law):
    code = BILINEAR
    references = ("wallace2005stability",)

    @property
    def initial_stiffness(self) -> float:
        return self.values()[0]


class BilinearLaw(_Bilinear):
    """Elastic spring with one stiffness inside ±``limit`` and another outside; with 0 outside its force saturates."""

    other = "bilinear hinge"
    kind: Literal["bilinear"] = "bilinear"
    stiffness: Annotated[float, Number("N/m")]
    limit: Annotated[float, Number("m", above=0)]
    outer_stiffness: Annotated[float, Number("N/m")] = 0.0

    def values(self) -> tuple[float, ...]:
        return self.stiffness, self.limit, self.outer_stiffness


class BilinearHinge(_Bilinear):
    """Elastic hinge with one stiffness inside ±``limit`` and another outside; with 0 outside its moment saturates."""

    of = "rotation"
    other = "bilinear"
    kind: Literal["bilinear hinge"] = "bilinear hinge"
    stiffness: Annotated[float, Number("N m/rad")]
    limit: Annotated[float, Number("rad", above=0)]
    outer_stiffness: Annotated[float, Number("N m/rad")] = 0.0

    def values(self) -> tuple[float, ...]:
        return self.stiffness, self.limit, self.outer_stiffness
