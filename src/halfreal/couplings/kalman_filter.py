"""Kalman filter on the measured displacement: what the command and a model of the rig say, corrected by the sensor.

R. E. Kalman, "A new approach to linear filtering and prediction problems", J. Basic Eng. 82 (1960) 35–45.  The model is
the one of ``model_inverse.py``, a rig without zeros driven by a command that is held over the step:

    X/U = 1/(a₀ + a₁ s + … + a_m s^m),       q_k = Φ q_{k−1} + Γ (u_{k−1} + v_{k−1}),   x_k = C q_k + e_k

with white noise v on the command, which represents what the model does not know, and e on the measurement.  The gain is
the steady one, L = P Cᵀ/(C P Cᵀ + r²) with P from the Riccati equation:

    q̂⁻ = Φ q̂ + Γ u_{k−1},      q̂ = q̂⁻ + L (x_k − C q̂⁻),       filtered displacement C q̂

======== ======================================================================
u, x     command that was applied, measured displacement, for each axis
a_i      ``coefficients``, in s^i
v, e     of rms ``command_noise`` and r = ``measurement_noise``
======== ======================================================================
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import field_validator

from ..contracts.context import Context
from ..kernels.block import Block, channels, names
from ..kernels.linear import copy_to, dot, multiply_add, stored
from ..models.schemes.exact import discretise
from ..settings import PerAxis, RowPerAxis, Settings, fault
from .per_axis import OneOrEach, single

FILTERED = "filtered.displacement"


def kalman_filter_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = y.size
    for c in range(n):
        x, command = u[c], u[n + c]
        if s.started == 0.0:  # at rest where it is measured
            s.q[c, 0] = x
            command = p.stiffness * x
        copy_to(s.q[c], s.before)
        for i in range(s.before.shape[0]):
            s.q[c, i] = p.inputs[i] * command
        multiply_add(p.transition, s.before, s.q[c])
        error = x - dot(p.output, s.q[c])
        for i in range(s.before.shape[0]):
            s.q[c, i] += p.gain[i] * error
        y[c] = dot(p.output, s.q[c])
    s.started = 1.0
    return 0


class KalmanFilter(Settings):
    """A steady Kalman filter with a model of the rig."""

    coefficients: Annotated[np.ndarray, RowPerAxis("1")]
    command_noise: Annotated[OneOrEach, PerAxis("m", above=0, of_rotations="rad")]
    measurement_noise: Annotated[OneOrEach, PerAxis("m", above=0, of_rotations="rad")]

    @field_validator("coefficients")
    @classmethod
    def _stable(cls, coefficients: np.ndarray) -> np.ndarray:
        for row in np.atleast_2d(coefficients):
            if len(row) < 2 or row[-1] == 0.0:
                raise fault(
                    "a rig of order 0 has no dynamics to filter; give two coefficients or more, the last not zero"
                )
            growing = np.roots(row[::-1]).real.max()
            if growing >= 0.0:
                raise fault(f"the model grows as exp({growing:.3g} t/s); give coefficients of a stable rig")
        return coefficients

    def model(self, dt: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Φ, Γ, C over a step; the states are the displacement and its derivatives in units of a time of the rig."""
        a = np.asarray(self.coefficients)
        order = len(a) - 1
        time = (a[-1] / a[0]) ** (1.0 / order)
        scaled = a / time ** np.arange(order + 1)
        system = np.diag(np.ones(order - 1), 1) / time
        system[-1] = -scaled[:-1] / scaled[-1] / time
        inputs = np.zeros((order, 1))
        inputs[-1] = 1.0 / scaled[-1] / time
        transition, held, _ = discretise(system, inputs, dt, "zero")
        return transition, held[:, 0], np.eye(order)[0]

    def gain(self, dt: float) -> np.ndarray:
        """L, and with it how much of a measurement is believed."""
        import scipy.linalg

        transition, held, output = self.model(dt)
        # in units of the measurement's noise, so that the equation is well scaled
        ratio = single(self.command_noise) / single(self.measurement_noise)
        p = scipy.linalg.solve_discrete_are(
            transition.T, output[:, None], ratio**2 * np.outer(held, held), np.array([[1.0]])
        )
        return np.asarray(p @ output / (output @ p @ output + 1.0))

    def block(self, dt: float, unit: str, displacement: tuple[str, ...], command: tuple[str, ...]) -> Block:
        """The block "filter"; it reads the commands that were applied in the tick before."""
        transition, held, output = self.model(dt)
        n, order = len(displacement), len(held)
        return Block(
            name="filter",
            step=kalman_filter_step,
            inputs=(*displacement, *command),
            outputs=channels(FILTERED, unit, n, of="axis"),
            parameters={
                "transition": stored(transition),
                "inputs": held,
                "output": output,
                "gain": self.gain(dt),
                "stiffness": float(self.coefficients[0]),
            },
            state={"q": np.zeros((n, order)), "before": np.zeros(order), "started": 0.0},
            frozen=("before", "started"),
            references=("kalman1960",),
        )


def filtered(blocks: list[Block], used: KalmanFilter | None, context: Context) -> list[Block]:
    """The same blocks, the last of which sees the measured displacement through the filter, if there is one."""
    if used is None:
        return blocks
    *before, coupling = blocks
    places = context.channels("measured.displacement")
    block = used.block(context.step, "m", places, context.channels("command"))
    seen = dict(zip(places, names(block.outputs), strict=True))
    return [*before, block, replace(coupling, inputs=tuple(seen.get(name, name) for name in coupling.inputs))]
