"""No coupling: the command is the target.  The loop then runs with the whole delay of its rig."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ..contracts.coupling import Predictor
from ..kernels.block import Block, channels
from .forward_prediction import ForwardPrediction
from .plain import PlainCoupling


def direct_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for i in range(y.size):
        y[i] = u[i]
    return 0


class Direct(PlainCoupling):
    """The target itself."""

    kind: Literal["none"] = "none"
    follows_forces: ClassVar[bool] = True
    serves_slow_tests: ClassVar[bool] = True
    compensates: ClassVar[bool] = False

    def predictor(self, step: float) -> Predictor:
        return Predictor(np.ones(1))

    def predicting(self, time: float) -> ForwardPrediction:
        return ForwardPrediction(kind="forward prediction", prediction=time)

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        return Block(
            name="coupling",
            step=direct_step,
            inputs=(*target, *measured),
            outputs=channels("command.asked", unit, len(target), of="actuator"),
        )
