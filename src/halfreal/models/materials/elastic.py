"""Linear elasticity: σ = E ε, a spring k δ or a rotational spring k θ."""

from __future__ import annotations

from typing import Annotated, Literal

from ...kernels.compile import kernel
from ...settings import Number
from .law import Law

ELASTIC = 0.0


@kernel
def elastic(p, strain):  # type: ignore[no-untyped-def]
    return p[0] * strain, p[0]


class _Elastic(Law):
    code = ELASTIC
    linear = True

    @property
    def initial_stiffness(self) -> float:
        return self.values()[0]


class LinearLaw(_Elastic):
    """Spring: k δ."""

    other = "linear hinge"
    kind: Literal["linear"] = "linear"
    stiffness: Annotated[float, Number("N/m")]

    def values(self) -> tuple[float, ...]:
        return (self.stiffness,)


class LinearHinge(_Elastic):
    """Rotational spring: k θ."""

    of = "rotation"
    other = "linear"
    kind: Literal["linear hinge"] = "linear hinge"
    stiffness: Annotated[float, Number("N m/rad")]

    def values(self) -> tuple[float, ...]:
        return (self.stiffness,)


class ElasticFibre(_Elastic):
    """Linear elastic material: E ε."""

    of = "strain"
    kind: Literal["elastic fibre"] = "elastic fibre"
    modulus: Annotated[float, Number("Pa", above=0)]
    """Young's modulus E."""

    def values(self) -> tuple[float, ...]:
        return (self.modulus,)
