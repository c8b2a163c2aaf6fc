"""Laws of nonlinear elements as they stand in a definition, and elements between degrees of freedom.

The laws themselves are in ``halfreal.kernels.restoring``; a law here gives its code and its row of parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ...contracts.system import Elements
from ...kernels import restoring as laws
from ...settings import Number, Settings, fault


class _Law(Settings):
    code: ClassVar[float]
    references: ClassVar[tuple[str, ...]] = ()

    def values(self) -> tuple[float, ...]:
        """Parameters in the order of ``halfreal.kernels.restoring``."""
        raise NotImplementedError

    @property
    def row(self) -> np.ndarray:
        """Parameters, filled up with zeros, (6,)."""
        values = self.values()
        return np.array([*values, *[0.0] * (laws.PARAMETERS - len(values))])

    @property
    def initial_stiffness(self) -> float:
        """Slope of the force at the origin [N/m]."""
        return laws.initial_stiffness(self.code, self.row)


class LinearLaw(_Law):
    """Spring: k δ."""

    code = laws.LINEAR
    kind: Literal["linear"]
    stiffness: Annotated[float, Number("N/m")]

    def values(self) -> tuple[float, ...]:
        return (self.stiffness,)


class CubicLaw(_Law):
    """Duffing's spring: k δ + k₃ δ³."""

    code = laws.CUBIC
    kind: Literal["cubic"]
    stiffness: Annotated[float, Number("N/m")]
    cubic: Annotated[float, Number("N/m^3")]

    def values(self) -> tuple[float, ...]:
        return self.stiffness, self.cubic


class BilinearLaw(_Law):
    """Elastic spring with one stiffness inside ±``limit`` and another outside; with 0 outside its force saturates."""

    code = laws.BILINEAR
    references = ("wallace2005stability",)
    kind: Literal["bilinear"]
    stiffness: Annotated[float, Number("N/m")]
    limit: Annotated[float, Number("m", above=0)]
    outer_stiffness: Annotated[float, Number("N/m")] = 0.0

    def values(self) -> tuple[float, ...]:
        return self.stiffness, self.limit, self.outer_stiffness


class ElastoplasticLaw(_Law):
    """Hysteretic bilinear spring with kinematic hardening: stiffness k, and ``hardening`` times k after yielding."""

    code = laws.ELASTOPLASTIC
    kind: Literal["elastoplastic"]
    stiffness: Annotated[float, Number("N/m", above=0)]
    yield_force: Annotated[float, Number("N", above=0)]
    hardening: Annotated[float, Number("1", least=0, most=0.999)] = 0.0

    def values(self) -> tuple[float, ...]:
        return self.stiffness, self.yield_force, self.stiffness * self.hardening / (1.0 - self.hardening)


class BoucWenLaw(_Law):
    """Bouc–Wen hysteresis: α k δ + (1 − α) k z,  dz/dδ = A − |z/Y|ⁿ (γ + β sgn(dδ z)).

    Y is the yield displacement and β, γ are without unit: |z| stays below Y (A/(β + γ))^(1/n), which is Y by default.
    With Y = 1 m, β and γ are the numbers in 1/mⁿ of the law's original form.
    """

    code = laws.BOUC_WEN
    references = ("wen1976",)
    kind: Literal["bouc-wen"]
    stiffness: Annotated[float, Number("N/m", above=0)]
    yield_displacement: Annotated[float, Number("m", above=0)]
    alpha: Annotated[float, Number("1", least=0, most=1)] = 0.0
    amplitude: Annotated[float, Number("1", above=0)] = 1.0
    """A."""
    n: Annotated[float, Number("1", least=1, most=20)] = 1.0
    beta: Annotated[float, Number("1", above=0)] = 0.5
    gamma: Annotated[float, Number("1")] = 0.5

    @field_validator("gamma")
    @classmethod
    def _passive(cls, gamma: float, info: ValidationInfo) -> float:
        beta = info.data.get("beta")
        if beta is not None and not -beta < gamma <= beta:
            raise fault(
                f"gamma = {gamma:g} with beta = {beta:g} leaves z unbounded or makes the element give out energy; "
                f"choose gamma greater than {-beta:g} and at most {beta:g}"
            )
        return gamma

    def values(self) -> tuple[float, ...]:
        scale = self.yield_displacement**self.n
        return self.stiffness, self.alpha, self.amplitude, self.beta / scale, self.gamma / scale, self.n


Law = Annotated[
    LinearLaw | CubicLaw | BilinearLaw | ElastoplasticLaw | BoucWenLaw,
    Field(discriminator="kind"),
]


class Element(Settings):
    """An element with a law, between two degrees of freedom or from one to ground."""

    law: Law
    between: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1, max_length=2)]

    @field_validator("between")
    @classmethod
    def _different(cls, between: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(between)) < len(between):
            raise fault(
                f"{list(between)} joins a degree of freedom to itself; name two, or one for an element to ground"
            )
        return between

    def direction(self, dofs: int) -> np.ndarray:
        """b of the deformation bᵀq, (n,): q_a to ground, q_b − q_a between [a, b]."""
        b = np.zeros(dofs)
        b[self.between[-1] - 1] += 1.0
        if len(self.between) == 2:
            b[self.between[0] - 1] -= 1.0
        return b


def assemble(elements: Sequence[Element], dofs: int) -> Elements:
    """Elements as the arrays that schemes and specimens compute with."""
    if not elements:
        return Elements.none(dofs)
    return Elements(
        np.array([element.law.code for element in elements]),
        np.array([element.direction(dofs) for element in elements]),
        np.array([element.law.row for element in elements]),
    )
