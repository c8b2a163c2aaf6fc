"""A linear controller around the rig: feedback on what the rig has not followed, and feed-forward of the target.

    u = W(s) z + C(s) (P(s) z − x)

Any transfer functions may be given for W, C, P (``transfer_function.py``), discretised by Tustin's rule.  The sample
controller of the benchmark problem of C. E. Silva, D. Gomez, A. Maghareh, S. J. Dyke, B. F. Spencer, Mech. Syst. Signal
Process. 135 (2020) 106381, is C = 2 + 95/s (a PI controller) behind a lead compensator P.  Other outer loops are of
this form: lead and lag, PID with a filtered derivative, loop shaping, H∞ design.

The states begin as if target and command had always had their initial values.

======== ======================================================================
z, x, u  target, measured displacement, asked command, for each axis
W        ``feed_forward``: none if left out
C        ``feedback``: none if left out
P        ``prefilter``: 1 if left out
         each a list of sections for all axes, or one list for each
======== ======================================================================
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import model_validator

from ..contracts.context import Context
from ..kernels.block import Block, channels
from ..kernels.linear import stored
from ..settings import fault
from .force_prediction import ForcePredicting, ForcePrediction
from .kalman_filter import KalmanFilter, filtered
from .transfer_function import Discrete, SectionsPerAxis, sections, series, tustin


def linear_controller_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    order = s.x.shape[1]
    for c in range(y.size):
        z, x = u[c], u[y.size + c]
        if s.started == 0.0:
            for i in range(order):
                s.x[c, i] = p.start[i] * z
        value = p.direct[0] * z + p.direct[1] * x
        for i in range(order):
            value += p.output[i] * s.x[c, i]
        y[c] = value
        for i in range(order):
            s.before[i] = s.x[c, i]
            s.x[c, i] = p.inputs[0, i] * z + p.inputs[1, i] * x
        for j in range(order):
            for i in range(order):
                s.x[c, i] += p.transition[j, i] * s.before[j]
    s.started = 1.0
    return 0


class LinearController(ForcePredicting):
    """Feedback and feed-forward by transfer functions, the same on every axis or one for each."""

    kind: Literal["linear controller"] = "linear controller"
    feedback: SectionsPerAxis = ()
    prefilter: SectionsPerAxis = ()
    feed_forward: SectionsPerAxis = ()
    filter: KalmanFilter | None = None
    force_prediction: ForcePrediction | None = None

    @model_validator(mode="after")
    def _does_something(self) -> LinearController:
        if not self.feedback and not self.feed_forward:
            raise fault("neither feedback nor feed_forward is given, so the command would be zero; give one")
        if self.prefilter and not self.feedback:
            raise fault("a prefilter without feedback has no effect; give its sections as feed_forward", "prefilter")
        return self

    def discrete(self, dt: float) -> Discrete:
        """The controller from (z, x) to u."""
        # P z − x, then C
        a, b, c, d = tustin(sections(self.prefilter), dt)
        difference = (a, np.hstack([b, np.zeros_like(b)]), c, np.hstack([d, [[-1.0]]]))
        closing = series(difference, tustin(sections(self.feedback), dt))
        if not self.feedback:
            closing = np.zeros((0, 0)), np.zeros((0, 2)), np.zeros((1, 0)), np.zeros((1, 2))
        if not self.feed_forward:
            return closing
        a, b, c, d = tustin(sections(self.feed_forward), dt)
        return (
            np.block([[closing[0], np.zeros((len(closing[0]), len(a)))], [np.zeros((len(a), len(closing[0]))), a]]),
            np.vstack([closing[1], np.hstack([b, np.zeros_like(b)])]),
            np.hstack([closing[2], c]),
            closing[3] + np.hstack([d, [[0.0]]]),
        )

    def blocks_together(self, context: Context) -> list[Block]:
        return filtered(super().blocks_together(context), self.filter, context)

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        n = len(target)
        a, b, c, d = self.discrete(dt)
        if not len(a):  # a state that does nothing: a block's arrays are not empty
            a, b, c = np.zeros((1, 1)), np.zeros((1, 2)), np.zeros((1, 1))
        order = len(a)
        # at rest with z = x = 1 and, where an integrator leaves it open, u = 1
        resting = np.vstack([np.eye(order) - a, c])
        start = np.linalg.lstsq(resting, np.concatenate([b.sum(1), 1.0 - d.sum(1)]), rcond=None)[0]
        return Block(
            name="coupling",
            step=linear_controller_step,
            inputs=(*target, *measured),
            outputs=channels("command.asked", unit, n, of="actuator"),
            parameters={
                "transition": stored(a),
                "inputs": stored(b),
                "output": c[0],
                "direct": d[0],
                "start": start,
            },
            state={"x": np.zeros((n, order)), "before": np.zeros(order), "started": 0.0},
            frozen=("before", "started"),
            references=("silva2020",),
        )
