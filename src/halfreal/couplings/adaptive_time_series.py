"""Adaptive time series compensator: the target and its derivatives, weighted as the last second of the test says.

Y. Chae, K. Kazemibidokhti, J. M. Ricles, "Adaptive time series compensator for delay compensation of servo-hydraulic
actuator systems for real-time hybrid simulation", Earthquake Engng Struct. Dyn. 42 (2013) 1697–1715, doi
10.1002/eqe.2294.  A rig of gain A and delay τ needs u = x(t + τ)/A, whose Taylor series is

    u = a₀ z + a₁ z˙ + a₂ z¨                    (as many terms as ``coefficients`` are given)

and the coefficients are those that would have given the commands of the last ``window`` from the motion measured in it:

    a = (XᵀX)⁻¹XᵀU,      X = [x  x˙  x¨],  U = [u]

As in the paper both come from the same low-pass filter (``derivative_filter.py``), every coefficient stays within
bounds and moves no faster than a given rate, and nothing is adapted while the motion is small.  The window holds
``samples`` rows, and the least squares are solved by rotations (``kernels/givens.py``) when a new one comes in; XᵀX is
not formed, as x and x¨ are all but proportional in a narrow band.  The coefficients sought are a_i ω^i, of like size.

======== ===================================================================================
z, x, u  target, measured displacement, asked command, for each axis
a_i      ``coefficients`` at the start, in s^i: 1/A, τ/A, τ²/2A of a pure delay
ω        ``cutoff`` of the filter
bounds   ± ``range``, and ``rate`` in 1/s, as parts of the starting values
======== ===================================================================================
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from ..contracts.context import Context
from ..kernels.block import Block, Value, channels
from ..kernels.givens import rotate_in, solve
from ..kernels.history import fill, push
from ..kernels.linear import copy_to, multiply_add, set_to
from ..settings import PerAxis, RowPerAxis, WholePerAxis, fault
from .derivative_filter import derivative_filter
from .force_prediction import ForcePredicting, ForcePrediction
from .forward_prediction import MOST_POINTS, enough_points
from .kalman_filter import KalmanFilter, filtered
from .model_inverse import derivative_weights, enough_derivatives
from .per_axis import OneOrEach, WholeOrEachAxis, single, whole


def adaptive_time_series_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, size, rows = s.command.shape[0], p.start.shape[0], s.window.shape[1]
    if s.started == 0.0:  # as if the target had always stood where it starts
        fill(s.history, u)
        for c in range(n):
            s.motion[c, 0] = s.last[c] = u[n + c]
            s.drive[c, 0] = s.command[c] = u[c]
        s.started = 1.0
    push(s.history, u)
    s.wait += 1.0
    due = s.wait >= p.every
    for c in range(n):
        # filtered measurement with its derivatives, and filtered command, both at this tick
        copy_to(s.motion[c], s.before)
        for i in range(s.before.shape[0]):
            s.motion[c, i] = p.earlier[i] * s.last[c] + p.later[i] * u[n + c]
        multiply_add(p.transition, s.before, s.motion[c])
        copy_to(s.drive[c], s.before)
        for i in range(s.before.shape[0]):
            s.drive[c, i] = p.held[i] * s.command[c]
        multiply_add(p.transition, s.before, s.drive[c])
        s.last[c] = u[n + c]

        if due:
            oldest = int(s.taken) % rows
            for i in range(size):
                s.window[c, oldest, i] = s.motion[c, i]
            s.window[c, oldest, size] = s.drive[c, 0]
            square = 0.0
            for k in range(rows):
                square += s.window[c, k, 0] * s.window[c, k, 0]
            if s.taken >= rows and square > p.least * p.least * rows:
                for i in range(size):
                    set_to(0.0, s.r[i])
                set_to(0.0, s.z[0])
                for k in range(rows):
                    for i in range(size):
                        s.row[i] = s.window[c, k, i]
                    s.right[0] = s.window[c, k, size]
                    rotate_in(s.r, s.z, s.row, s.right, 0)
                solve(s.r, s.z, s.found)
                for i in range(size):
                    reach, travel = p.range * abs(p.start[i]), p.travel * abs(p.start[i])
                    value = min(max(s.found[0, i], p.start[i] - reach), p.start[i] + reach)
                    s.alpha[c, i] = min(max(value, s.alpha[c, i] - travel), s.alpha[c, i] + travel)

        command = 0.0
        for i in range(size):
            derivative = 0.0
            for j in range(s.history.shape[0]):
                derivative += p.derivatives[i, j] * s.history[j, c]
            command += s.alpha[c, i] * derivative
            y[n + i * n + c] = s.alpha[c, i] / p.scale[i]
        y[c] = s.command[c] = command
    if due:
        s.wait = 0.0
        s.taken += 1.0
    return 0


class AdaptiveTimeSeries(ForcePredicting):
    """The target's Taylor series with coefficients from least squares over a moving window."""

    kind: Literal["adaptive time series"] = "adaptive time series"
    coefficients: Annotated[np.ndarray, RowPerAxis("1")]
    """a_i [s^i] at the start; one row for all axes, or one for each."""
    cutoff: Annotated[OneOrEach, PerAxis("Hz", above=0)] = 20.0
    window: Annotated[OneOrEach, PerAxis("s", above=0)] = 1.0
    samples: Annotated[WholeOrEachAxis, WholePerAxis(least=8, most=1024)] = 128
    least_amplitude: Annotated[OneOrEach, PerAxis("m", least=0, of_rotations="rad")] = 1e-4
    range: Annotated[OneOrEach, PerAxis("1", least=0)] = 0.5
    rate: Annotated[OneOrEach, PerAxis("1/s", above=0)] = 1.0
    order: Annotated[WholeOrEachAxis, WholePerAxis(least=1, most=10)] = 4
    points: Annotated[WholeOrEachAxis, WholePerAxis(least=2, most=MOST_POINTS)] = 12
    lead: Annotated[OneOrEach, PerAxis("s", least=0)] = 0.0
    filter: KalmanFilter | None = None
    force_prediction: ForcePrediction | None = None

    @field_validator("coefficients")
    @classmethod
    def _few(cls, coefficients: np.ndarray) -> np.ndarray:
        if not 2 <= coefficients.shape[-1] <= 4:
            raise fault(f"{coefficients.shape[-1]} coefficients; give 2 to 4, a₀ to a₃")
        return coefficients

    @field_validator("order")
    @classmethod
    def _enough_derivatives(cls, order: WholeOrEachAxis, info: ValidationInfo) -> WholeOrEachAxis:
        return enough_derivatives(order, info.data.get("coefficients"))

    @field_validator("points")
    @classmethod
    def _enough_points(cls, points: WholeOrEachAxis, info: ValidationInfo) -> WholeOrEachAxis:
        return enough_points(points, info.data.get("order", 1))

    def blocks_together(self, context: Context) -> list[Block]:
        return filtered(super().blocks_together(context), self.filter, context)

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        n, size, points = len(target), len(self.coefficients), whole(self.points)
        omega = 2.0 * math.pi * single(self.cutoff)
        scale = omega ** np.arange(size)
        start = self.coefficients * scale
        used = derivative_filter(4, omega, dt)
        derivatives = derivative_weights(size - 1, whole(self.order), points, single(self.lead), dt)
        rows = whole(self.samples)
        every = max(round(single(self.window) / (rows * dt)), 1)
        adapted: dict[str, Value] = {
            "alpha": np.tile(start, (n, 1)),
            "motion": np.zeros((n, 4)),
            "drive": np.zeros((n, 4)),
            "last": np.zeros(n),
            "command": np.zeros(n),
            "window": np.zeros((n, rows, size + 1)),
            "r": np.zeros((size, size)),
            "z": np.zeros((1, size)),
            "found": np.zeros((1, size)),
            "before": np.zeros(4),
            "row": np.zeros(size),
            "right": np.zeros(1),
            "wait": 0.0,
            "taken": 0.0,
            "started": 0.0,
        }
        return Block(
            name="coupling",
            step=adaptive_time_series_step,
            inputs=(*target, *measured),
            outputs=(
                *channels("command.asked", unit, n, of="actuator"),
                *(
                    channel
                    for i in range(size)
                    for channel in channels(f"coupling.a{i}", f"s^{i}" if i else "1", n, of="axis")
                ),
            ),
            parameters={
                "derivatives": derivatives / scale[:, None],
                "transition": used.transition,
                "earlier": used.earlier,
                "later": used.later,
                "held": used.held,
                "start": start,
                "scale": scale,
                "every": float(every),
                "travel": single(self.rate) * every * dt,
                "least": single(self.least_amplitude),
                "range": single(self.range),
            },
            state={"history": np.zeros((points, n)), **adapted},
            frozen=tuple(adapted),
            held="the coupling adapts: assessed with its initial coefficients",
            references=("chae2013",),
        )
