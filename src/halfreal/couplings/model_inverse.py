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
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ..contracts.known import Known
from ..kernels.block import Block, channels
from ..settings import PerAxis, RowPerAxis, fault
from .force_prediction import ForcePredicting, ForcePrediction
from .forward_prediction import MOST_POINTS, coefficient_map, forward_prediction_step
from .per_axis import OneOrEach, check_axes, on_axes


def derivative_weights(highest: int, order: int, points: int, lead: float, dt: float) -> np.ndarray:
    """(highest + 1, n): from the last ``points`` samples, newest first, to derivatives at t + Δ/2 + lead, in 1/s^i."""
    coefficients = coefficient_map(order, points)
    r = 0.5 + lead / dt
    rows = [
        sum(math.perm(j, i) * r ** (j - i) * coefficients[j] for j in range(i, order + 1)) / dt**i
        for i in range(highest + 1)
    ]
    return np.array(rows)


class ModelInverse(ForcePredicting):
    """Feed-forward of the target and its derivatives by the inverse of a model of the rig."""

    kind: Literal["model inverse"]
    coefficients: Annotated[np.ndarray, RowPerAxis("1")]
    order: Annotated[int, Field(ge=1, le=10)] = 4
    points: Annotated[int, Field(ge=2, le=MOST_POINTS)] = 12
    lead: Annotated[OneOrEach, PerAxis("s", least=0)] = 0.0
    force_prediction: ForcePrediction | None = None

    @field_validator("order")
    @classmethod
    def _enough_derivatives(cls, order: int, info: ValidationInfo) -> int:
        coefficients = info.data.get("coefficients")
        highest = 0 if coefficients is None else coefficients.shape[-1] - 1
        if order < highest:
            raise fault(f"a polynomial of order {order} has no derivative {highest}; use order {highest} or more")
        return order

    @field_validator("points")
    @classmethod
    def _enough_points(cls, points: int, info: ValidationInfo) -> int:
        order = info.data.get("order", 1)
        if points < order + 1:
            raise fault(f"{points} points cannot carry a polynomial of order {order}; use at least {order + 1} points")
        return points

    def fits(self, known: Known) -> None:
        check_axes(known, len(np.atleast_2d(self.coefficients)), "coefficients")
        check_axes(known, np.size(self.lead), "lead")
        super().fits(known)

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        n = len(target)
        rows, highest = np.atleast_2d(self.coefficients), self.coefficients.shape[-1] - 1
        leads = on_axes(self.lead, n).tolist()
        weights = [
            rows[c if len(rows) > 1 else 0] @ derivative_weights(highest, self.order, self.points, lead, dt)
            for c, lead in enumerate(leads)
        ]
        return Block(
            name="coupling",
            step=forward_prediction_step,
            inputs=(*target, *measured),
            outputs=channels("command.asked", unit, n, of="actuator"),
            parameters={"weights": np.column_stack(weights)},
            state={"history": np.zeros((self.points, n)), "started": 0.0},
            frozen=("started",),
            references=("carrion2007", "phillips2013"),
        )
