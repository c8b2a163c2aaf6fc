"""Adaptive model-based compensation: the inverse of a low-order model of the rig, identified while the test runs.

P.-C. Chen, C.-M. Chang, B. F. Spencer, K.-C. Tsai, "Adaptive model-based tracking control for real-time hybrid
simulation", Bull. Earthquake Eng. 13 (2015) 1633–1653, doi 10.1007/s10518-014-9681-2: a rig of third order without
zeros has the inverse of four parameters

    u = a₀ z + a₁ z˙ + a₂ z¨ + a₃ z⃛           (as many as ``coefficients`` are given)

whose parameters are adapted to what the rig did.  Where the paper descends the gradient, here they are the recursive
least squares of the filtered command on the filtered measurement and its derivatives (``derivative_filter.py``),

    min_α Σ_k μ^(now−k) (α·x(k) − u₀(k))² + ‖W(α − α_start)‖²,      α_i = a_i ω^i

by rotations of a triangular factor (``kernels/givens.py``).  The second term stays: with every step that forgets the
part 1 − μ of what was learnt, one of its rows comes in again, so that directions that the motion does not excite, or
that are drowned in noise, return to the model one started with.  W² counts as much as a memory of a motion whose
filtered derivatives all have the rms ``prior``.  Nothing is learnt or forgotten while the rms of the filtered
displacement in a memory is below ``least_amplitude``, and the parameters used stay within ± ``range`` of the start.
Derivatives of the target are those of ``model_inverse.py``.

======== =========================================================================
z, x, u  target, measured displacement, asked command, for each axis
a_i      parameters, in s^i; at the start ``coefficients``
ω, μ     ``cutoff`` of the filter, μ = exp(−Δt/``memory``)
======== =========================================================================
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from ..contracts.context import Context
from ..kernels.block import Block, Value, channels
from ..kernels.givens import forget, rotate_in, solve
from ..kernels.history import fill, push
from ..kernels.linear import copy_to, multiply_add, set_to
from ..settings import PerAxis, RowPerAxis, WholePerAxis, fault
from .derivative_filter import derivative_filter
from .force_prediction import ForcePredicting, ForcePrediction
from .forward_prediction import MOST_POINTS, enough_points
from .kalman_filter import KalmanFilter, filtered
from .model_inverse import derivative_weights, enough_derivatives
from .per_axis import OneOrEach, WholeOrEachAxis, single, whole


def adaptive_model_based_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, size = s.command.shape[0], p.start.shape[0]
    if s.started == 0.0:  # as if the target had always stood where it starts
        fill(s.history, u)
        for c in range(n):
            s.motion[c, 0] = s.last[c] = u[n + c]
            s.drive[c, 0] = s.command[c] = u[c]
        s.started = 1.0
    push(s.history, u)
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

        s.square[c] += (1.0 - p.fade) * (s.motion[c, 0] * s.motion[c, 0] - s.square[c])
        if s.square[c] > p.least * p.least:
            forget(s.r[c], s.z[c], p.root)
            for i in range(size):
                s.row[i] = s.motion[c, i]
            s.right[0] = s.drive[c, 0]
            rotate_in(s.r[c], s.z[c], s.row, s.right, 0)
            k = int(s.next[c])
            s.next[c] = float((k + 1) % size)
            set_to(0.0, s.row)
            s.row[k] = p.refresh
            s.right[0] = p.refresh * p.start[k]
            rotate_in(s.r[c], s.z[c], s.row, s.right, k)
            solve(s.r[c], s.z[c], s.alpha[c])

        command = 0.0
        for i in range(size):
            reach = p.range * abs(p.start[i])
            a = min(max(s.alpha[c, 0, i], p.start[i] - reach), p.start[i] + reach)
            derivative = 0.0
            for j in range(s.history.shape[0]):
                derivative += p.derivatives[i, j] * s.history[j, c]
            command += a * derivative
            y[n + i * n + c] = a / p.scale[i]
        y[c] = s.command[c] = command
    return 0


class AdaptiveModelBased(ForcePredicting):
    """A model inverse whose coefficients follow the rig by recursive least squares."""

    kind: Literal["adaptive model based"] = "adaptive model based"
    coefficients: Annotated[np.ndarray, RowPerAxis("1")]
    """a_i [s^i] at the start, up to a_3; one row for all axes, or one for each."""
    cutoff: Annotated[OneOrEach, PerAxis("Hz", above=0)] = 20.0
    memory: Annotated[OneOrEach, PerAxis("s", above=0)] = 5.0
    prior: Annotated[OneOrEach, PerAxis("m", above=0, of_rotations="rad")] = 1e-6
    least_amplitude: Annotated[OneOrEach, PerAxis("m", least=0, of_rotations="rad")] = 1e-5
    range: Annotated[OneOrEach, PerAxis("1", least=0)] = 0.5
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
        memory = single(self.memory)
        fade = math.exp(-dt / memory)
        weight = single(self.prior) * math.sqrt(memory / dt)
        adapted: dict[str, Value] = {
            "r": np.tile(weight * np.eye(size), (n, 1, 1)),
            "z": np.tile(weight * start, (n, 1, 1)),
            "alpha": np.tile(start, (n, 1, 1)),
            "motion": np.zeros((n, 4)),
            "drive": np.zeros((n, 4)),
            "last": np.zeros(n),
            "command": np.zeros(n),
            "square": np.zeros(n),
            "next": np.zeros(n),
            "before": np.zeros(4),
            "row": np.zeros(size),
            "right": np.zeros(1),
            "started": 0.0,
        }
        return Block(
            name="coupling",
            step=adaptive_model_based_step,
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
                "fade": fade,
                "root": math.sqrt(fade),
                "refresh": weight * math.sqrt((1.0 - fade) * size),
                "least": single(self.least_amplitude),
                "range": single(self.range),
            },
            state={"history": np.zeros((points, n)), **adapted},
            frozen=tuple(adapted),
            held="the coupling adapts: assessed with its initial coefficients",
            references=("chen2015",),
        )
