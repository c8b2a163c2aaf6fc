"""Forward prediction: the command is the target extrapolated by the rig's delay.

M. I. Wallace, J. Sieber, S. A. Neild, D. J. Wagg, B. Krauskopf, "Stability analysis of real-time dynamic substructuring
using delay differential equation models", Earthquake Engng Struct. Dyn. 34 (2005) 1817–1832 (the ASME 2005 paper's
Eq. 13):

    z'(t) = (P_{N,n,Δ}[z])(t + ρ)

P_{N,n,Δ}[z] is the least-squares polynomial through the last n targets.  With V_ji = (−j)^i (j = 0 … n−1, i = 0 … N)
and the time in steps, its coefficients are V⁺h, so that z' = w·h with w = (V⁺)ᵀ [1, r, …, r^N], r = ρ/Δ: one dot
product with weights computed before the test.

======== =============================================================================
z, z'    target and its prediction (the asked command)
N        order of the polynomial (``order``)
n        number of samples it is fitted to (``points``)
Δ        step of the loop
ρ        how far ahead it is evaluated (``prediction``: one for all axes, or one for each)
h        the last n targets, newest first
======== =============================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from ..contracts.coupling import Predictor
from ..kernels.block import Block, channels
from ..kernels.history import fill, push
from ..settings import PerAxis, WholePerAxis, fault
from .per_axis import OneOrEach, WholeOrEachAxis, common, on_axes, on_both, whole_on_axes
from .plain import PlainCoupling

MOST_POINTS = 200


def coefficient_map(order: int, points: int) -> np.ndarray:
    """V⁺, (N + 1, n): from the last ``points`` samples, newest first, to the polynomial's coefficients in steps."""
    past = -np.arange(points, dtype=float)
    # powers of a variable within ±1, so that high orders stay well conditioned
    scale = max(points - 1, 1)
    scaled = np.linalg.pinv(np.vander(past / scale, order + 1, increasing=True))
    return np.asarray(scaled / scale ** np.arange(order + 1)[:, None])


def weights(order: int, points: int, ahead: float) -> np.ndarray:
    """w, (n,): weights of the last ``points`` samples, newest first, that extrapolate ``ahead`` steps."""
    return np.asarray(ahead ** np.arange(order + 1) @ coefficient_map(order, points))


def weights_on_axes(order: WholeOrEachAxis, points: WholeOrEachAxis, ahead: np.ndarray) -> np.ndarray:
    """w of each axis, (n, axes), which extrapolate by so many steps; zeros fill up those of fewer points."""
    n = len(ahead)
    of_axes = zip(whole_on_axes(order, n), whole_on_axes(points, n), ahead.tolist(), strict=True)
    return filled_up([weights(*one) for one in of_axes])


def filled_up(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Weights of all axes as columns, those of fewer points with zeros at their end."""
    longest = max(len(one) for one in columns)
    return np.column_stack([np.pad(one, (0, longest - len(one))) for one in columns])


def enough_points(points: WholeOrEachAxis, order: WholeOrEachAxis) -> WholeOrEachAxis:
    """The points, if they carry polynomials of such an order; else a fault."""
    for one, of in on_both(points, order):
        if one < of + 1:
            raise fault(f"{one} points are too few for a polynomial of order {of}; use at least {of + 1} points")
    return points


def forward_prediction_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = y.size
    points = p.weights.shape[0]
    if s.started == 0.0:  # as if the target had always stood where it starts: no kick at the first tick
        fill(s.history, u)
        s.started = 1.0
    push(s.history, u)
    for c in range(n):
        y[c] = 0.0
    for j in range(points):
        for c in range(n):
            y[c] += p.weights[j, c] * s.history[j, c]
    return 0


class ForwardPrediction(PlainCoupling):
    """Polynomial forward prediction by a fixed time ρ."""

    kind: Literal["forward prediction"] = "forward prediction"
    prediction: Annotated[OneOrEach, PerAxis("s", least=0)]
    order: Annotated[WholeOrEachAxis, WholePerAxis(least=0, most=10)] = 3
    points: Annotated[WholeOrEachAxis, WholePerAxis(least=1, most=MOST_POINTS)] = 12
    together: ClassVar[bool] = True

    @field_validator("points")
    @classmethod
    def _enough_points(cls, points: WholeOrEachAxis, info: ValidationInfo) -> WholeOrEachAxis:
        return enough_points(points, info.data.get("order", 0))

    @property
    def predicts(self) -> bool:
        return bool(np.any(self.prediction))

    def predictor(self, step: float) -> Predictor | None:
        order, points, ahead = common(self.order), common(self.points), common(self.prediction)
        if order is None or points is None or ahead is None:
            return None
        return Predictor(weights(int(order), int(points), ahead / step))

    def predicting(self, time: float) -> ForwardPrediction:
        return ForwardPrediction(kind="forward prediction", prediction=time, order=self.order, points=self.points)

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        n = len(target)
        w = weights_on_axes(self.order, self.points, on_axes(self.prediction, n) / dt)
        return Block(
            name="coupling",
            step=forward_prediction_step,
            inputs=(*target, *measured),
            outputs=channels("command.asked", unit, n, of="actuator"),
            parameters={"weights": w},
            state={"history": np.zeros(w.shape), "started": 0.0},
            frozen=("started",),
            references=("wallace2005stability",),
        )
