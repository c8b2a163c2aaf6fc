"""Laws of elements as they stand in a definition: a force over a displacement here, a moment over a rotation in
``hinges.py``.

The laws themselves are in ``halfreal.kernels.restoring``; a law here gives its code and its row of parameters.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from ... import units
from ...kernels import restoring as laws
from ...settings import Number, Settings, fault

OF_ROTATIONS = {"N/m": "N m/rad", "N/m^3": "N m/rad^3", "N": "N m", "m": "rad"}
"""Units of a law's numbers over a rotation, in place of those over a displacement."""

QUANTITIES = ("stiffness", "cubic", "limit", "outer_stiffness", "yield_force", "yield_displacement")
"""Settings with a unit, of all laws over a displacement; those over a rotation have two of their own."""


class ElementLaw(Settings):
    """What an element resists its deformation with."""

    kind: str
    code: ClassVar[float]
    references: ClassVar[tuple[str, ...]] = ()
    rotational: ClassVar[bool] = False
    """Whether it is a moment over a rotation."""
    other: ClassVar[str]
    """The kind of the same law over a rotation, or of a rotational law that over a displacement."""

    @field_validator(*QUANTITIES, "yield_moment", "yield_rotation", mode="before", check_fields=False)
    @classmethod
    def _in_its_units(cls, value: Any, info: ValidationInfo) -> Any:
        """Tell a rotation's units in a law of displacements, and the other way round, from mere mistakes."""
        found = [one for one in cls.model_fields[str(info.field_name)].metadata if isinstance(one, Number)]
        pairs = OF_ROTATIONS if not cls.rotational else {turned: unit for unit, turned in OF_ROTATIONS.items()}
        if not isinstance(value, str) or not found or found[0].unit not in pairs or _reads(value, found[0].unit):
            return value
        wanted, given = found[0].unit, pairs[found[0].unit]
        if _reads(value, given):
            of = ("a displacement", "a rotation")
            raise fault(
                f"'{value}' is in {given}, of {of[not cls.rotational]}, and this law is one of {of[cls.rotational]}, "
                f"in {wanted}; give it in {wanted}, or the law kind = '{cls.other}'"
            )
        return value

    @property
    def linear(self) -> bool:
        """Whether its force is in proportion to the deformation."""
        return self.code == laws.LINEAR

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
        """Slope of the force at the origin [N/m], or of the moment [N m/rad]."""
        return laws.initial_stiffness(self.code, self.row)


class LinearLaw(ElementLaw):
    """Spring: k δ."""

    code = laws.LINEAR
    other = "linear hinge"
    kind: Literal["linear"]
    stiffness: Annotated[float, Number("N/m")]

    def values(self) -> tuple[float, ...]:
        return (self.stiffness,)


class CubicLaw(ElementLaw):
    """Duffing's spring: k δ + k₃ δ³."""

    code = laws.CUBIC
    other = "cubic hinge"
    kind: Literal["cubic"]
    stiffness: Annotated[float, Number("N/m")]
    cubic: Annotated[float, Number("N/m^3")]

    def values(self) -> tuple[float, ...]:
        return self.stiffness, self.cubic


class BilinearLaw(ElementLaw):
    """Elastic spring with one stiffness inside ±``limit`` and another outside; with 0 outside its force saturates."""

    code = laws.BILINEAR
    references = ("wallace2005stability",)
    other = "bilinear hinge"
    kind: Literal["bilinear"]
    stiffness: Annotated[float, Number("N/m")]
    limit: Annotated[float, Number("m", above=0)]
    outer_stiffness: Annotated[float, Number("N/m")] = 0.0

    def values(self) -> tuple[float, ...]:
        return self.stiffness, self.limit, self.outer_stiffness


class ElastoplasticLaw(ElementLaw):
    """Hysteretic bilinear spring with kinematic hardening: stiffness k, and ``hardening`` times k after yielding."""

    code = laws.ELASTOPLASTIC
    other = "elastoplastic hinge"
    kind: Literal["elastoplastic"]
    stiffness: Annotated[float, Number("N/m", above=0)]
    yield_force: Annotated[float, Number("N", above=0)]
    hardening: Annotated[float, Number("1", least=0, most=0.999)] = 0.0

    def values(self) -> tuple[float, ...]:
        return self.stiffness, self.yield_force, self.stiffness * self.hardening / (1.0 - self.hardening)


class BoucWen(ElementLaw):
    """Bouc–Wen hysteresis: α k δ + (1 − α) k z,  dz/dδ = A − |z/Y|ⁿ (γ + β sgn(dδ z)).

    Y is the deformation at yield and β, γ are without unit: |z| stays below Y (A/(β + γ))^(1/n), which is Y by default.
    With Y = 1 m or 1 rad, β and γ are the numbers in 1/mⁿ or 1/radⁿ of the law's original form.
    """

    code = laws.BOUC_WEN
    references = ("wen1976",)
    alpha: Annotated[float, Number("1", least=0, most=1)] = 0.0
    """α, the elastic part of the stiffness."""
    amplitude: Annotated[float, Number("1", above=0)] = 1.0
    """A."""
    n: Annotated[float, Number("1", least=1, most=20)] = 1.0
    """n, sharpness of the yielding."""
    beta: Annotated[float, Number("1", above=0)] = 0.5
    """β."""
    gamma: Annotated[float, Number("1")] = 0.5
    """γ."""

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

    def numbers(self, stiffness: float, yielding: float) -> tuple[float, ...]:
        """Parameters, for k and Y."""
        scale = yielding**self.n
        return stiffness, self.alpha, self.amplitude, self.beta / scale, self.gamma / scale, self.n


class BoucWenLaw(BoucWen):
    """Bouc–Wen hysteresis, smooth from elastic to plastic."""

    other = "bouc-wen hinge"
    kind: Literal["bouc-wen"]
    stiffness: Annotated[float, Number("N/m", above=0)]
    yield_displacement: Annotated[float, Number("m", above=0)]

    def values(self) -> tuple[float, ...]:
        return self.numbers(self.stiffness, self.yield_displacement)


def _reads(text: str, unit: str) -> bool:
    try:
        units.parse(text, unit)
    except units.UnitError:
        return False
    return True
