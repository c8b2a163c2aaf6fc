"""Duffing's spring, elastic: σ = k ε + k₃ ε³ (G. Duffing, Erzwungene Schwingungen bei veränderlicher Eigenfrequenz,
Vieweg 1918)."""

from __future__ import annotations

from typing import Annotated, Literal

from ...kernels.compile import kernel
from ...settings import Number
from .law import Law

CUBIC = 1.0


@kernel
def cubic(p, strain):  # type: ignore[no-untyped-def]
    return (p[0] + p[1] * strain * strain) * strain, p[0] + 3.0 * p[1] * strain * strain


class _Cubic(Law):
    code = CUBIC

    @property
    def initial_stiffness(self) -> float:
        return self.values()[0]


class CubicLaw(_Cubic):
    """Duffing's spring: k δ + k₃ δ³."""

    other = "cubic hinge"
    kind: Literal["cubic"] = "cubic"
    stiffness: Annotated[float, Number("N/m")]
    cubic: Annotated[float, Number("N/m^3")]

    def values(self) -> tuple[float, ...]:
        return self.stiffness, self.cubic


class CubicHinge(_Cubic):
    """Rotational spring of Duffing's kind: k θ + k₃ θ³."""

    of = "rotation"
    other = "cubic"
    kind: Literal["cubic hinge"] = "cubic hinge"
    stiffness: Annotated[float, Number("N m/rad")]
    cubic: Annotated[float, Number("N m/rad^3")]

    def values(self) -> tuple[float, ...]:
        return self.stiffness, self.cubic
