"""Model inverse: the command that a model of the rig says will move it to the target.

J. E. Carrion, B. F. Spencer, "Model-based strategies for real-time hybrid testing", NSEL Report 6, University of
Illinois (2007); B. M. Phillips, B. F. Spencer, "Model-based multiactuator control for real-time hybrid simulation", J.
Eng. Mech. 139 (2013) 219–228.  A rig without zeros, X/U = 1/(a₀ + a₁ s + … + a_m s^m), has the improper inverse

    u(t) = Σ_i a_i z^(i)(t + Δ/2 + δ)

which needs derivatives of the target, not of anything measured.  Here they are those of the least-squares polynomial of
order N through the last n targets (the divided differences of the papers are n = N + 1), so that the inverse is one dot
product: with V⁺ from ``forward_prediction.py``, r = ½ + δ/Δ and the time in steps,

    z^(i)(t + rΔ) ≈ Δ^−i Σ_{j ≥ i} j!/(j − i)! r^(j−i) (V⁺h)_j,         u = w·h

Half a step makes up for the command's being held over the step.  δ makes the rig lead the target (over-compensation),
as against a delay elsewhere in the loop.

======== ====================================================================
z, u     target, asked command, for each axis
a_i      ``coefficients``, in s^i: of the rig's denominator over its numerator;
         one row of them for all axes, or one for each
N, n, δ  ``order``, ``points``, ``lead`` (one for all axes, or one for each)
h        the last n targets, newest first
======== ====================================================================
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from ..kernels.block import Block, channels
from ..settings import PerAxis, RowPerAxis, WholePerAxis, fault
from .force_prediction import ForcePredicting, ForcePrediction
from .forward_prediction import MOST_POINTS, coefficient_map, enough_points, filled_up, forward_prediction_step
from .per_axis import OneOrEach, WholeOrEachAxis, on_axes, whole_on_axes


def derivative_weights(highest: int, order: int, points: int, lead: float, dt: float) -> np.ndarray:
    """(highest + 1, n): from the last ``points`` samples, newest first, to derivatives at t + Δ/2 + lead, in 1/s^i."""
    coefficients = coefficient_map(order, points)
    r = 0.5 + lead / dt
    rows = [
        sum(math.perm(j, i) * r ** (j - i) * coefficients[j] for j in range(i, order + 1)) / dt**i
        for i in range(highest + 1)
    ]
    return np.array(rows)


def enough_derivatives(order: WholeOrEachAxis, coefficients: np.ndarray | None) -> WholeOrEachAxis:
    """The order, if its polynomials have the derivatives that so many coefficients need; else a fault."""
    highest = 0 if coefficients is None else coefficients.shape[-1] - 1
    for one in np.ravel(order):
        if one < highest:
            raise fault(f"a polynomial of order {one} has no derivative {highest}; use order {highest} or more")
    return order


class ModelInverse(ForcePredicting):
    """Feed-forward of the target and its derivatives by the inverse of a model of the rig."""

    kind: Literal["model inverse"] = "model inverse"
    coefficients: Annotated[np.ndarray, RowPerAxis("1")]
    order: Annotated[WholeOrEachAxis, WholePerAxis(least=1, most=10)] = 4
    points: Annotated[WholeOrEachAxis, WholePerAxis(least=2, most=MOST_POINTS)] = 12
    lead: Annotated[OneOrEach, PerAxis("s", least=0)] = 0.0
    force_prediction: ForcePrediction | None = None
    together: ClassVar[bool] = True

    @field_validator("order")
    @classmethod
    def _enough_derivatives(cls, order: WholeOrEachAxis, info: ValidationInfo) -> WholeOrEachAxis:
        return enough_derivatives(order, info.data.get("coefficients"))

    @field_validator("points")
    @classmethod
    def _enough_points(cls, points: WholeOrEachAxis, info: ValidationInfo) -> WholeOrEachAxis:
        return enough_points(points, info.data.get("order", 1))

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        n = len(target)
        rows, highest = np.atleast_2d(self.coefficients), self.coefficients.shape[-1] - 1
        of_axes = zip(
            whole_on_axes(self.order, n), whole_on_axes(self.points, n), on_axes(self.lead, n).tolist(), strict=True
        )
        weights = filled_up(
            [rows[c if len(rows) > 1 else 0] @ derivative_weights(highest, *one, dt) for c, one in enumerate(of_axes)]
        )
        return Block(
            name="coupling",
            step=forward_prediction_step,
            inputs=(*target, *measured),
            outputs=channels("command.asked", unit, n, of="actuator"),
            parameters={"weights": weights},
            state={"history": np.zeros(weights.shape), "started": 0.0},
            frozen=("started",),
            references=("carrion2007", "phillips2013"),
        )
