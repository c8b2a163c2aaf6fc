"""Prediction of the measured force: what makes up for a delay on the way back from the rig.

A coupling that moves the rig to the target in time leaves the delay of the feedback: conditioning, conversion, a step
of computation.  It acts on the loop as a late rig does, and takes the damping k τ away from a specimen of stiffness k
(T. Horiuchi, M. Inoue, T. Konno, Y. Namita, Earthquake Engng Struct. Dyn. 28 (1999) 1121–1141).  The force is therefore
extrapolated by that delay along the least-squares polynomial through its last samples, as targets are in
``forward_prediction.py``:

    f'(t) = (P_{N,n,Δ}[f])(t + ρ)

======== ==============================================
f, f'    measured force, and what is fed back
ρ        ``prediction``; N, n ``order``, ``points``
======== ==============================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Self

import numpy as np
from pydantic import ValidationInfo, field_validator

from ..contracts.context import Context
from ..contracts.known import Known
from ..kernels.block import Block, channels, names
from ..settings import PerAxis, Settings, WholePerAxis
from .forward_prediction import MOST_POINTS, enough_points, forward_prediction_step, weights_on_axes
from .per_axis import OneOrEach, WholeOrEachAxis, check_axes, given_each, on_axes
from .plain import PlainCoupling

PREDICTED = "predicted.force"


class ForcePrediction(Settings):
    """Polynomial prediction of the measured force by a fixed time."""

    prediction: Annotated[OneOrEach, PerAxis("s", least=0)]
    order: Annotated[WholeOrEachAxis, WholePerAxis(least=0, most=10)] = 2
    points: Annotated[WholeOrEachAxis, WholePerAxis(least=1, most=MOST_POINTS)] = 12

    @field_validator("points")
    @classmethod
    def _enough_points(cls, points: WholeOrEachAxis, info: ValidationInfo) -> WholeOrEachAxis:
        return enough_points(points, info.data.get("order", 0))

    def block(self, dt: float, force: tuple[str, ...]) -> Block:
        n = len(force)
        w = weights_on_axes(self.order, self.points, on_axes(self.prediction, n) / dt)
        return Block(
            name="force prediction",
            step=forward_prediction_step,
            inputs=force,
            outputs=channels(PREDICTED, "N", n, of="axis"),
            parameters={"weights": w},
            state={"history": np.zeros(w.shape), "started": 0.0},
            frozen=("started",),
            references=("horiuchi1999",),
        )


class ForcePredicting(PlainCoupling):
    """A coupling of one block that may predict the measured force too: its kinds have a field for that."""

    of_others: ClassVar[tuple[str, ...]] = ("force_prediction",)

    if TYPE_CHECKING:
        force_prediction: ForcePrediction | None

    def feedback_blocks(self, context: Context) -> tuple[list[Block], tuple[str, ...]]:
        if self.force_prediction is None:
            return super().feedback_blocks(context)
        block = self.force_prediction.block(context.step, context.channels("measured.force"))
        return [block], names(block.outputs)

    def fits(self, known: Known) -> None:
        super().fits(known)
        if self.force_prediction is not None:
            for at, count in given_each(self.force_prediction).items():
                check_axes(known, count, "force_prediction", *at, passive=True)

    def with_force_prediction(self, time: float) -> Self:
        return self.unchecked_copy({"force_prediction": ForcePrediction(prediction=time)})

    def with_earlier_forces(self, earlier: float) -> Self:
        used = self.force_prediction
        if used is None:
            return self
        left = np.maximum(used.prediction - earlier, 0.0)
        kept = used.unchecked_copy({"prediction": left if left.ndim else float(left)})
        return self.unchecked_copy({"force_prediction": kept})
