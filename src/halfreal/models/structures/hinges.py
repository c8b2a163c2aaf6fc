"""Laws of elements that resist a rotation with a moment, such as hinges: those of ``restoring.py`` in N m and rad."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from ...kernels import restoring as laws
from ...settings import Number
from .restoring import BoucWen, ElementLaw


class Hinge(ElementLaw):
    """A moment over a rotation."""

    rotational: ClassVar[bool] = True


class LinearHinge(Hinge):
    """Rotational spring: k θ."""

    code = laws.LINEAR
    other = "linear"
    kind: Literal["linear hinge"]
    stiffness: Annotated[float, Number("N m/rad")]

    def values(self) -> tuple[float, ...]:
        return (self.stiffness,)


class CubicHinge(Hinge):
    """Rotational spring of Duffing's kind: k θ + k₃ θ³."""

    code = laws.CUBIC
    other = "cubic"
    kind: Literal["cubic hinge"]
    stiffness: Annotated[float, Number("N m/rad")]
    cubic: Annotated[float, Number("N m/rad^3")]

    def values(self) -> tuple[float, ...]:
        return self.stiffness, self.cubic


class BilinearHinge(Hinge):
    """Elastic hinge with one stiffness inside ±``limit`` and another outside; with 0 outside its moment saturates."""

    code = laws.BILINEAR
    references = ("wallace2005stability",)
    other = "bilinear"
    kind: Literal["bilinear hinge"]
    stiffness: Annotated[float, Number("N m/rad")]
    limit: Annotated[float, Number("rad", above=0)]
    outer_stiffness: Annotated[float, Number("N m/rad")] = 0.0

    def values(self) -> tuple[float, ...]:
        return self.stiffness, self.limit, self.outer_stiffness


class ElastoplasticHinge(Hinge):
    """Plastic hinge with kinematic hardening: stiffness k, and ``hardening`` times k after yielding."""

    code = laws.ELASTOPLASTIC
    other = "elastoplastic"
    kind: Literal["elastoplastic hinge"]
    stiffness: Annotated[float, Number("N m/rad", above=0)]
    yield_moment: Annotated[float, Number("N m", above=0)]
    """At which it yields first."""
    hardening: Annotated[float, Number("1", least=0, most=0.999)] = 0.0

    def values(self) -> tuple[float, ...]:
        return self.stiffness, self.yield_moment, self.stiffness * self.hardening / (1.0 - self.hardening)


class BoucWenHinge(BoucWen):
    """Hinge with Bouc–Wen hysteresis, smooth from elastic to plastic."""

    rotational = True
    other = "bouc-wen"
    kind: Literal["bouc-wen hinge"]
    stiffness: Annotated[float, Number("N m/rad", above=0)]
    yield_rotation: Annotated[float, Number("rad", above=0)]
    """Y."""

    def values(self) -> tuple[float, ...]:
        return self.numbers(self.stiffness, self.yield_rotation)
