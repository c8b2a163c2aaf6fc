"""Actuators of a simulated rig, on the rig's own step h: from the delayed command c to the motion x, x˙, x¨.

    delay          x = c
    first order    T x˙ + x = c
    second order   x¨/ω² + 2ζ x˙/ω + x = c

each per axis, integrated exactly for a command that is linear over h, or held over h if it is reconstructed so.  The
motion of a pure delay is as smooth as its command; its velocity and acceleration are differences over the loop's step,
whatever h.  ``stroke`` and ``speed`` saturate the motion as a cylinder's end stops and its valve do; by default an
actuator has neither.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from scipy.linalg import expm

from ..contracts.state_space import StateSpace
from ..kernels.block import Block, channels
from ..kernels.compile import kernel
from ..kernels.history import push
from ..settings import Number, Settings
from .transport import Reconstruction


class _Actuator(Settings):
    is_dynamic: ClassVar[bool] = True
    """Whether it lags behind its delayed command."""
    delay: Annotated[float, Number("s", least=0)] = 0.0
    reconstruction: Reconstruction = "linear"
    stroke: Annotated[float, Number("m", above=0)] | None = None
    speed: Annotated[float, Number("m/s", above=0)] | None = None

    @property
    def holds(self) -> bool:
        """Whether its command is a staircase."""
        return self.reconstruction == "hold"

    def _block(
        self, step: Any, h: float, unit: str, x0: np.ndarray, parameters: dict[str, Any], state: dict[str, np.ndarray]
    ) -> Block:
        n = len(x0)
        stroke = np.inf if self.stroke is None else self.stroke
        speed = np.inf if self.speed is None else self.speed
        return Block(
            name="actuator",
            step=step,
            inputs=tuple(channel.name for channel in channels("rig.command", unit, n)),
            outputs=(
                *channels("rig.displacement", "m", n, of="axis"),
                *channels("rig.velocity", "m/s", n, of="axis"),
                *channels("rig.acceleration", "m/s^2", n, of="axis"),
            ),
            parameters={"h": h, "stroke": stroke, "travel": speed * h, **parameters},
            state=state,
            initial=tuple(x0),
        )


@kernel
def within_reach(stroke, travel, x, wanted):  # type: ignore[no-untyped-def]
    """The wanted position cut to the stroke and to what the speed limit lets it travel in one step from ``x``."""
    wanted = min(max(wanted, x - travel), x + travel)
    return min(max(wanted, -stroke), stroke)


def ideal_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = u.size
    substeps = s.past.shape[0] // 2
    for i in range(n):
        y[i] = within_reach(p.stroke, p.travel, s.past[0, i], u[i])
    push(s.past, y)
    for i in range(n):
        now, before, earlier = s.past[0, i], s.past[substeps, i], s.past[2 * substeps, i]
        y[n + i] = (now - before) / p.step
        y[2 * n + i] = (now - 2.0 * before + earlier) / (p.step * p.step)
    return 0


class Delay(_Actuator):
    """A pure delay: the actuator follows its delayed command exactly."""

    is_dynamic: ClassVar[bool] = False
    kind: Literal["delay"] = "delay"

    def denominator(self) -> np.ndarray:
        """Δ(s) of x = c/Δ(s), the coefficient of the highest power first."""
        return np.ones(1)

    def linear_model(self) -> StateSpace:
        """From the delayed command to the displacement, on one axis."""
        return StateSpace(np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), np.ones((1, 1)))

    def block(self, h: float, unit: str, x0: np.ndarray, substeps: int = 1) -> Block:
        past = np.tile(x0, (2 * substeps + 1, 1))
        return self._block(ideal_step, h, unit, x0, {"step": substeps * h}, {"past": past})


def first_order_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = u.size
    for i in range(n):
        wanted = p.decay * s.x[i] + p.old * s.c[i] + p.new * u[i]
        x = within_reach(p.stroke, p.travel, s.x[i], wanted)
        v = (u[i] - x) / p.time_constant
        a = (p.slope * (u[i] - s.c[i]) / p.h - v) / p.time_constant
        if x != wanted:  # at its limit it does not follow its own equation
            v = (x - s.x[i]) / p.h
            a = (v - s.v[i]) / p.h
        y[i], y[n + i], y[2 * n + i] = x, v, a
        s.x[i], s.v[i], s.c[i] = x, v, u[i]
    return 0


class FirstOrder(_Actuator):
    """A first-order lag behind the delay."""

    kind: Literal["first order"]
    time_constant: Annotated[float, Number("s", above=0)]

    def denominator(self) -> np.ndarray:
        """Δ(s) of x = c/Δ(s), the coefficient of the highest power first."""
        return np.array([self.time_constant, 1.0])

    def linear_model(self) -> StateSpace:
        """From the delayed command to the displacement, on one axis."""
        rate = 1.0 / self.time_constant
        return StateSpace(np.array([[-rate]]), np.array([[rate]]), np.ones((1, 1)), np.zeros((1, 1)))

    def block(self, h: float, unit: str, x0: np.ndarray, substeps: int = 1) -> Block:
        a = h / self.time_constant
        decay = math.exp(-a)
        mean = (1.0 - decay) / a
        held = self.holds
        old, new = (0.0, 1.0 - decay) if held else (mean - decay, 1.0 - mean)
        return self._block(
            first_order_step,
            h,
            unit,
            x0,
            {"time_constant": self.time_constant, "decay": decay, "old": old, "new": new, "slope": float(not held)},
            {"x": x0, "v": np.zeros(len(x0)), "c": x0},
        )


def second_order_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = u.size
    for i in range(n):
        x, v, c, d = s.x[i], s.v[i], s.c[i], u[i]
        wanted = p.map[0, 0] * x + p.map[0, 1] * v + p.map[0, 2] * c + p.map[0, 3] * d
        reached = within_reach(p.stroke, p.travel, x, wanted)
        speed = p.map[1, 0] * x + p.map[1, 1] * v + p.map[1, 2] * c + p.map[1, 3] * d
        if reached != wanted:
            speed = (reached - x) / p.h
        y[i], y[n + i] = reached, speed
        y[2 * n + i] = p.omega * (p.omega * (d - reached) - 2.0 * p.damping * speed)
        s.x[i], s.v[i], s.c[i] = reached, speed, d
    return 0


class SecondOrder(_Actuator):
    """A second-order follower behind the delay."""

    kind: Literal["second order"]
    frequency: Annotated[float, Number("Hz", above=0)]
    damping: Annotated[float, Number("1", above=0)]

    def denominator(self) -> np.ndarray:
        """Δ(s) of x = c/Δ(s), the coefficient of the highest power first."""
        omega = 2 * np.pi * self.frequency
        return np.array([omega**-2, 2 * self.damping / omega, 1.0])

    def linear_model(self) -> StateSpace:
        """From the delayed command to the displacement, on one axis."""
        omega = 2.0 * np.pi * self.frequency
        a = np.array([[0.0, 1.0], [-(omega**2), -2.0 * self.damping * omega]])
        return StateSpace(a, np.array([[0.0], [omega**2]]), np.array([[1.0, 0.0]]), np.zeros((1, 1)))

    def block(self, h: float, unit: str, x0: np.ndarray, substeps: int = 1) -> Block:
        omega = 2 * math.pi * self.frequency
        # states x, v, c and c's slope; the command is linear over the step (Van Loan 1978)
        augmented = np.zeros((4, 4))
        augmented[0, 1] = augmented[2, 3] = 1.0
        augmented[1, :3] = -(omega**2), -2 * self.damping * omega, omega**2
        transition = expm(augmented * h)[:2]
        late = transition[:, 2] if self.holds else transition[:, 3] / h
        weights = np.column_stack([transition[:, :2], transition[:, 2] - late, late])
        return self._block(
            second_order_step,
            h,
            unit,
            x0,
            {"map": weights, "omega": omega, "damping": self.damping},
            {"x": x0, "v": np.zeros(len(x0)), "c": x0},
        )


Actuator = Annotated[Delay | FirstOrder | SecondOrder, Field(discriminator="kind")]
