"""A coupling: the target extrapolated along its last two samples, the first-order case of T. Horiuchi, M. Inoue,
T. Konno, Y. Namita, Earthquake Engng Struct. Dyn. 28 (1999) 1121–1141.

    u[k] = (1 + r) z[k] − r z[k−1],      r = T/Δt

======== ===========================
z, u     target, asked command
T        ``lead``
======== ===========================
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from halfreal.contracts.context import Context
from halfreal.contracts.coupling import Coupling, Predictor
from halfreal.contracts.known import Known
from halfreal.kernels.block import Block, channels
from halfreal.settings import Number, fault

LONGEST = 100
"""Steps of a lead, above which noise is all that is left."""


def linear_lead_step(p, s, t, u, y):
    for i in range(y.size):
        if s.started == 0.0:
            s.before[i] = u[i]
        y[i] = (1.0 + p.ratio) * u[i] - p.ratio * s.before[i]
        s.before[i] = u[i]
    s.started = 1.0
    return 0


class LinearLead(Coupling):
    """The target, extrapolated along its last two samples."""

    kind: Literal["linear lead"] = "linear lead"
    lead: Annotated[float, Number("s", least=0)]
    """How far ahead the target is extrapolated: by how much the rig is late."""

    def fits(self, known: Known) -> None:
        if known.step is not None and self.lead > LONGEST * known.step:
            raise fault(f"is more than {LONGEST} steps of {known.step:g} s; two samples do not reach that far", "lead")

    @property
    def predicts(self) -> bool:
        return self.lead > 0.0

    def predictor(self, step: float) -> Predictor:
        ratio = self.lead / step
        return Predictor(np.array([1.0 + ratio, -ratio]))

    def blocks(self, context: Context) -> list[Block]:
        n = len(context.axes)
        return [
            Block(
                name="coupling",
                step=linear_lead_step,
                inputs=context.channels("target"),
                outputs=channels("command.asked", context.unit, n, of="actuator"),
                parameters={"ratio": self.lead / context.step},
                state={"before": np.zeros(n), "started": 0.0},
                frozen=("started",),
                references=("horiuchi1999",),
            )
        ]
