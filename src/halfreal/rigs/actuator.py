"""Actuators of a simulated rig, on the rig's own step h: from the delayed command c to the motion x, x˙, x¨.

    delay          x = c
    first order    T x˙ + x = c
    second order   x¨/ω² + 2ζ x˙/ω + x = c

each per axis.  How c and its rates are reconstructed from the commands, which come once a tick, is described in
``transport.py``.  The motion of a pure delay is that of its delayed command, with velocity and acceleration at the same
time as the displacement.  The others are integrated exactly for what the command does over h: the cubic with its
values and rates at both ends, a straight line, or a step that is held.  Straight lines and steps have corners, whose
accelerations have died out at the end of the step if the actuator is fast: a specimen's mass is then not felt
(``felt_specimen.py``).

``stroke`` and ``speed`` saturate the motion as a cylinder's end stops and its valve do.  ``friction`` and ``backlash``
make it inaccurate where it changes direction.  Friction is given as the following error f that overcomes it:

    first order    T x˙ + x = c − f sgn x˙                    at rest while |c − x| ≤ f
    second order   x¨/ω² + 2ζ x˙/ω + x = c − f sgn x˙         the same

A valve's dead zone of ± f does the same to the first order.  A pure delay is the limit of a fast one: it is at rest
at a reversal until the command has come back by 2f, as with play.  ``backlash`` is the whole play between actuator and
specimen; within it the specimen stays where it is left.  By default an actuator has none of the four.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from ..contracts.state_space import StateSpace
from ..kernels.block import Block, channels
from ..kernels.compile import kernel
from ..kernels.history import push, weighted
from ..kernels.play import through_play
from ..settings import Number, Settings
from .transport import Reconstruction, history_of, motion_taps, shortest_way

HERMITE = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [-6.0, -4.0, 6.0, -2.0], [12.0, 6.0, -12.0, 6.0]])
"""Derivatives at the beginning of a step of 1, from none to the third, of the cubic with these values and rates: at the
beginning, then at the end."""
LINE = np.array([[1.0, 0, 0, 0], [-1.0, 0, 1.0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
HELD = np.array([[0, 0, 1.0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])


class _Actuator(Settings):
    is_dynamic: ClassVar[bool] = True
    """Whether it lags behind its delayed command."""
    delay: Annotated[float, Number("s", least=0)] = 0.0
    reconstruction: Reconstruction = "cubic"
    stroke: Annotated[float, Number("m", above=0)] | None = None
    speed: Annotated[float, Number("m/s", above=0)] | None = None
    friction: Annotated[float, Number("m", least=0)] = 0.0
    """Following error needed to overcome friction, or half of a valve's dead zone."""
    backlash: Annotated[float, Number("m", least=0)] = 0.0
    """Backlash between actuator and specimen, total."""

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        """What of it is nonlinear, for people."""
        ends = {"stroke": self.stroke, "speed": self.speed}
        lost = {"friction": self.friction, "backlash": self.backlash}
        limited = tuple(f"a limited {name}" for name, value in ends.items() if value is not None)
        return (*limited, *(name for name, size in lost.items() if size))

    def block(self, commands: tuple[str, ...], unit: str, dt: float, substeps: int, x0: np.ndarray) -> Block:
        raise NotImplementedError

    def blocks(self, commands: tuple[str, ...], unit: str, dt: float, substeps: int, x0: np.ndarray) -> list[Block]:
        return [self.block(commands, unit, dt, substeps, x0)]

    @property
    def half_play(self) -> float:
        """Half of what it loses at a reversal [m], in slow motion."""
        return self.friction + 0.5 * self.backlash

    def smooth(self) -> Self:
        """The same without friction and backlash."""
        return self.unchecked_copy({"friction": 0.0, "backlash": 0.0})

    @property
    def holds(self) -> bool:
        """Whether its command is a staircase."""
        return self.reconstruction == "hold"

    def delay_had(self, dt: float, substeps: int) -> float:
        """The pure delay [s] with which the commands are followed; those that are held change on whole steps."""
        if not self.holds:
            return shortest_way(self.delay, dt, self.reconstruction)
        h = dt / substeps
        if not self.is_dynamic:
            return dt * max(float(np.ceil(self.delay / dt - 1e-9)), 1.0)
        return h * float(np.ceil(self.delay / h - 0.5 - 1e-9))

    def _block(
        self,
        step: Any,
        commands: tuple[str, ...],
        unit: str,
        dt: float,
        substeps: int,
        x0: np.ndarray,
        parameters: dict[str, Any],
        state: dict[str, np.ndarray],
    ) -> Block:
        n, h = len(x0), dt / substeps
        delay = shortest_way(self.delay, dt, self.reconstruction)
        # An actuator with dynamics needs what is held over its step, not what a staircase has jumped to at its end.
        share = 0.5 if self.holds and self.is_dynamic else 1.0
        rows = [motion_taps((delay - (i + share) * h) / dt, dt, self.reconstruction) for i in range(substeps)]
        first = np.array([float(index) for index, _ in rows])
        stroke = np.inf if self.stroke is None else self.stroke
        speed = np.inf if self.speed is None else self.speed
        return Block(
            name="actuator",
            step=step,
            inputs=commands,
            outputs=(
                *channels("rig.command", unit, n, of="actuator"),
                *channels("rig.displacement", "m", n, of="axis"),
                *channels("rig.velocity", "m/s", n, of="axis"),
                *channels("rig.acceleration", "m/s^2", n, of="axis"),
            ),
            parameters={
                "first": first,
                "weights": np.array([weights for _, weights in rows]),
                "h": h,
                "stroke": stroke,
                "travel": speed * h,
                "friction": self.friction,
                "play": 0.5 * self.backlash if self.is_dynamic else self.half_play,
                **parameters,
            },
            state={
                "history": history_of(x0, first),
                "substep": 0.0,
                "x": x0,
                "v": np.zeros(n),
                "at": x0,
                "at_speed": np.zeros(n),
                **state,
            },
            frozen=("substep", "at", "at_speed"),
            memory=("at", "at_speed"),
            initial=(*x0, *x0),
        )

    def _map(self, a: np.ndarray, b: np.ndarray, h: float) -> np.ndarray:
        """The state at the end of a step out of the state, and the command's value and rate, at its beginning, and the
        command's at its end, of x˙ = A x + b c (Van Loan 1978)."""
        n = len(a)
        augmented = np.zeros((n + 4, n + 4))
        augmented[:n, :n], augmented[:n, n] = a * h, b * h
        augmented[n:, n:] = np.diag(np.ones(3), 1)
        from scipy.linalg import expm

        transition = expm(augmented)[:n]
        course = HELD if self.holds else LINE if self.reconstruction == "linear" else HERMITE
        by_command = transition[:, n:] @ course * np.array([1.0, h, 1.0, h])
        return np.hstack([transition[:, :n], by_command])


@kernel
def within_reach(stroke, travel, x, wanted):  # type: ignore[no-untyped-def]
    """The wanted position cut to the stroke and to what the speed limit lets it travel in one step from ``x``."""
    wanted = min(max(wanted, x - travel), x + travel)
    return min(max(wanted, -stroke), stroke)


@kernel
def over(friction, error):  # type: ignore[no-untyped-def]
    """Which way an actuator at rest sets out: 1, −1, or 0 if friction holds it."""
    return 0.0 if abs(error) <= friction else math.copysign(1.0, error)


def delay_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, j = u.size, int(s.substep)
    if j == 0:
        push(s.history, u)
    s.substep = (s.substep + 1.0) % p.first.size
    for i in range(n):
        c = weighted(p.weights[j, 0], s.history, int(p.first[j]), i)
        v = weighted(p.weights[j, 1], s.history, int(p.first[j]), i)
        a = weighted(p.weights[j, 2], s.history, int(p.first[j]), i)
        x = within_reach(p.stroke, p.travel, s.x[i], c)
        if x != c:  # at its limit it does not follow its command
            v = (x - s.x[i]) / p.h
            a = (v - s.v[i]) / p.h
        s.x[i], s.v[i] = x, v
        x, v, a = through_play(p.play, p.h, s.at[i], s.at_speed[i], x, v, a)
        y[i], y[n + i], y[2 * n + i], y[3 * n + i] = c, x, v, a
        s.at[i], s.at_speed[i] = x, v
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

    def block(self, commands: tuple[str, ...], unit: str, dt: float, substeps: int, x0: np.ndarray) -> Block:
        return self._block(delay_step, commands, unit, dt, substeps, x0, {}, {})


def first_order_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, j = u.size, int(s.substep)
    if j == 0:
        push(s.history, u)
    s.substep = (s.substep + 1.0) % p.first.size
    for i in range(n):
        c = weighted(p.weights[j, 0], s.history, int(p.first[j]), i)
        d = weighted(p.weights[j, 1], s.history, int(p.first[j]), i)
        wanted = p.map[0] * s.x[i] + p.map[1] * s.c[i] + p.map[2] * s.d[i] + p.map[3] * c + p.map[4] * d
        way = 0.0
        if p.friction > 0.0:
            way = over(p.friction, c - s.x[i])
            wanted -= way * p.friction * (p.map[1] + p.map[3])
            if way * (wanted - s.x[i]) <= 0.0:  # it stands still
                way, wanted = 0.0, s.x[i]
        x = within_reach(p.stroke, p.travel, s.x[i], wanted)
        v = a = 0.0
        if p.friction == 0.0 or way != 0.0:
            v = (c - way * p.friction - x) / p.time_constant
            a = (p.line * (c - s.c[i]) / p.h + p.curve * d - v) / p.time_constant
        if x != wanted:  # at its limit it does not follow its own equation
            v = (x - s.x[i]) / p.h
            a = (v - s.v[i]) / p.h
        s.x[i], s.v[i], s.c[i], s.d[i] = x, v, c, d
        x, v, a = through_play(p.play, p.h, s.at[i], s.at_speed[i], x, v, a)
        y[i], y[n + i], y[2 * n + i], y[3 * n + i] = c, x, v, a
        s.at[i], s.at_speed[i] = x, v
    return 0


class FirstOrder(_Actuator):
    """A first-order lag behind the delay."""

    kind: Literal["first order"] = "first order"
    time_constant: Annotated[float, Number("s", above=0)]

    def denominator(self) -> np.ndarray:
        """Δ(s) of x = c/Δ(s), the coefficient of the highest power first."""
        return np.array([self.time_constant, 1.0])

    def linear_model(self) -> StateSpace:
        """From the delayed command to the displacement, on one axis."""
        rate = 1.0 / self.time_constant
        return StateSpace(np.array([[-rate]]), np.array([[rate]]), np.ones((1, 1)), np.zeros((1, 1)))

    def block(self, commands: tuple[str, ...], unit: str, dt: float, substeps: int, x0: np.ndarray) -> Block:
        model = self.linear_model()
        # the rate of the command at the end of the step, as its course has it
        line, curve = float(self.reconstruction == "linear"), float(self.reconstruction == "cubic")
        weights = self._map(model.a, model.b[:, 0], dt / substeps)[0]
        parameters = {"time_constant": self.time_constant, "map": weights, "line": line, "curve": curve}
        state = {"c": x0, "d": np.zeros(len(x0))}
        return self._block(first_order_step, commands, unit, dt, substeps, x0, parameters, state)


def second_order_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n, j = u.size, int(s.substep)
    if j == 0:
        push(s.history, u)
    s.substep = (s.substep + 1.0) % p.first.size
    for i in range(n):
        c = weighted(p.weights[j, 0], s.history, int(p.first[j]), i)
        d = weighted(p.weights[j, 1], s.history, int(p.first[j]), i)
        wanted = speed = 0.0
        before = (s.x[i], s.v[i], s.c[i], s.d[i], c, d)
        for k in range(6):
            wanted += p.map[0, k] * before[k]
            speed += p.map[1, k] * before[k]
        way = 0.0
        if p.friction > 0.0:
            way = math.copysign(1.0, s.v[i]) if s.v[i] != 0.0 else over(p.friction, c - s.x[i])
            push_back = way * p.friction
            wanted -= push_back * (p.map[0, 2] + p.map[0, 4])
            speed -= push_back * (p.map[1, 2] + p.map[1, 4])
            if way == 0.0:
                wanted, speed = s.x[i], 0.0
            elif way * speed < 0.0:  # it comes to rest within the step, and stays, or goes back
                left = p.h * speed / (speed - s.v[i])
                wanted = s.x[i] + 0.5 * s.v[i] * (p.h - left)
                way = over(p.friction, c - wanted)
                speed = p.omega * p.omega * (c - wanted - way * p.friction) * left if way != 0.0 else 0.0
                wanted += 0.5 * speed * left
        x = within_reach(p.stroke, p.travel, s.x[i], wanted)
        a = p.omega * (p.omega * (c - way * p.friction - x) - 2.0 * p.damping * speed)
        if p.friction > 0.0 and way == 0.0:
            a = 0.0
        if x != wanted:  # at its limit it does not follow its own equation
            speed = (x - s.x[i]) / p.h
            a = (speed - s.v[i]) / p.h
        s.x[i], s.v[i], s.c[i], s.d[i] = x, speed, c, d
        x, speed, a = through_play(p.play, p.h, s.at[i], s.at_speed[i], x, speed, a)
        y[i], y[n + i], y[2 * n + i], y[3 * n + i] = c, x, speed, a
        s.at[i], s.at_speed[i] = x, speed
    return 0


class SecondOrder(_Actuator):
    """A second-order follower behind the delay."""

    kind: Literal["second order"] = "second order"
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

    def block(self, commands: tuple[str, ...], unit: str, dt: float, substeps: int, x0: np.ndarray) -> Block:
        model = self.linear_model()
        weights = self._map(model.a, model.b[:, 0], dt / substeps)
        parameters = {"map": weights, "omega": 2.0 * np.pi * self.frequency, "damping": self.damping}
        state = {"c": x0, "d": np.zeros(len(x0))}
        return self._block(second_order_step, commands, unit, dt, substeps, x0, parameters, state)
