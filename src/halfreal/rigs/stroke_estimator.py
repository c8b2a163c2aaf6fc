"""Strokes from noisy sensors, what the commands say, and a model of the actuators: a steady Kalman filter.

R. E. Kalman, "A new approach to linear filtering and prediction problems", J. Basic Eng. 82 (1960) 35–45.  The model is
that of the actuators as they are known (``halfreal.models.actuator_matrix``), with commands held over a step:

    x_k = Φ x_{k−1} + Γ (u_{k−1} + v_{k−1}),      y_k = C x_k + D u_{k−1} + e_k
    x̂⁻ = Φ x̂ + Γ u_{k−1},      x̂ = x̂⁻ + L (y_k − C x̂⁻ − D u_{k−1}),      estimated strokes C x̂ + D u_{k−1}

White noise v on the commands represents what the model does not know, e is that of the sensors, and L is
P Cᵀ(C P Cᵀ + r² I)⁻¹ with P from the Riccati equation.

======== ======================================================================
u, y     commands that were applied, measured strokes
v, e     of rms ``command_noise`` and r = ``measurement_noise``
======== ======================================================================
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..contracts.state_space import StateSpace
from ..kernels.block import Block, channels
from ..kernels.linear import copy_to, multiply_add, multiply_subtract, set_to, stored
from ..models.schemes.exact import discretise
from ..settings import Number, Settings

ESTIMATED = "estimated.stroke"


def stroke_estimator_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = y.size
    copy_to(s.x, s.before)
    set_to(0.0, s.x)
    multiply_add(p.transition, s.before, s.x)
    multiply_add(p.inputs, u[:n], s.x)
    for i in range(n):
        s.error[i] = u[n + i]
    multiply_subtract(p.outputs, s.x, s.error)
    multiply_subtract(p.direct, u[:n], s.error)
    multiply_add(p.gain, s.error, s.x)
    set_to(0.0, y)
    multiply_add(p.outputs, s.x, y)
    multiply_add(p.direct, u[:n], y)
    return 0


class StrokeEstimator(Settings):
    """A Kalman filter on all strokes, with the model of the actuators."""

    command_noise: Annotated[float, Number("m", above=0)]
    """RMS of the process noise on the commands, per step, which represents model errors."""
    measurement_noise: Annotated[float, Number("m", above=0)]
    """RMS of the sensor noise."""

    def block(
        self, dt: float, model: StateSpace, command: tuple[str, ...], sensed: tuple[str, ...], asked: np.ndarray
    ) -> Block:
        """The block "estimator"; it begins at rest under the first command."""
        import scipy.linalg

        transition, held, _ = discretise(model.a, model.b, dt, "zero")
        n, c = len(sensed), model.c
        # in units of the measurement's noise, so that the equation is well scaled
        ratio = self.command_noise / self.measurement_noise
        p = scipy.linalg.solve_discrete_are(transition.T, c.T, ratio**2 * held @ held.T, np.eye(n))
        gain = np.linalg.solve(c @ p @ c.T + np.eye(n), c @ p).T
        resting = -np.linalg.solve(model.a, model.b @ asked)
        return Block(
            name="estimator",
            step=stroke_estimator_step,
            inputs=(*command, *sensed),
            outputs=channels(ESTIMATED, "m", n, of="actuator"),
            parameters={
                "transition": stored(transition),
                "inputs": stored(held),
                "outputs": stored(c),
                "direct": stored(model.d),
                "gain": stored(gain),
            },
            state={"x": resting, "before": np.zeros(model.states), "error": np.zeros(n)},
            frozen=("before", "error"),
            initial=tuple(c @ resting + model.d @ asked),
            references=("kalman1960",),
        )
