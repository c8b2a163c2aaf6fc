"""An actuator that is a program: a function of the user's, one of a compiled library, an FMU.

It is called at the end of each step h of the rig with the commands of the tick, and gives displacements [m], velocities
and accelerations of that time.  What an FMU does not give of these is found from differences over h:

    v_k = (x_k − x_{k−1})/h        a_k = (v_k − v_{k−1})/h
"""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np

from ..contracts.fmu import FmuPart, Port
from ..contracts.library import LibraryFunction
from ..contracts.state_space import StateSpace
from ..contracts.user_code import Programmed, UserFunction
from ..kernels.block import Block, Channel, channels
from .transport import Reconstruction

MOTION = ("displacement", "velocity", "acceleration")
UNITS = {"displacement": "m", "velocity": "m/s", "acceleration": "m/s^2"}


def motion_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = s.x.size
    for i in range(n):
        x, v, a = u[n + i], 0.0, 0.0
        if p.given_velocity != 0.0:
            v = u[2 * n + i]
        elif s.begun != 0.0:
            v = (x - s.x[i]) / p.h
        if p.given_acceleration != 0.0:
            a = u[int(p.accelerations) + i]
        elif s.begun != 0.0:
            a = (v - s.v[i]) / p.h
        y[i], y[n + i], y[2 * n + i], y[3 * n + i] = u[i], x, v, a
        s.x[i], s.v[i] = x, v
    s.begun = 1.0
    return 0


class ProgrammedActuator(Programmed):
    """u = commands…, y = (displacements…, velocities…, accelerations…), on the rig's step."""

    delay: ClassVar[float] = 0.0
    reconstruction: ClassVar[Reconstruction] = "cubic"
    """Of the ideal actuator that it is measured against."""
    holds: ClassVar[bool] = False
    stroke: ClassVar[None] = None
    speed: ClassVar[None] = None
    half_play: ClassVar[float] = 0.0

    def smooth(self) -> Self:
        return self

    def delay_had(self, dt: float, substeps: int) -> float:
        """As far as is known."""
        return self.delay

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        return (self.foreign,)

    def linear_model(self) -> StateSpace | None:
        """Not known: its lag is measured on the code that runs."""
        return None

    def denominator(self) -> None:
        """Not known either."""
        return None

    def given(self) -> tuple[str, ...]:
        """What of its motion it shows."""
        return MOTION

    def blocks(self, commands: tuple[str, ...], unit: str, dt: float, substeps: int, x0: np.ndarray) -> list[Block]:
        """The program, tried out, and its motion as the rig knows it."""
        n, h, told = len(x0), dt / substeps, self.given()
        outputs = [channels(f"actuator.{name}", UNITS[name], n, of="axis") for name in told]
        program = self.program(commands, tuple(one for group in outputs for one in group), h, unit)
        motion = Block(
            name="actuator",
            step=motion_step,
            inputs=(*commands, *(channel.name for channel in program.outputs)),
            outputs=(
                *channels("rig.command", unit, n, of="actuator"),
                *(one for name in MOTION for one in channels(f"rig.{name}", UNITS[name], n, of="axis")),
            ),
            parameters={
                "h": h,
                "given_velocity": float("velocity" in told),
                "given_acceleration": float("acceleration" in told),
                "accelerations": float(n * len(told)),
            },
            state={"x": np.array(x0, dtype=float), "v": np.zeros(n), "begun": 0.0},
            frozen=("begun",),
            initial=(*x0, *x0),
        )
        return [program, motion]

    def program(self, commands: tuple[str, ...], outputs: tuple[Channel, ...], h: float, unit: str) -> Block:
        return self.tried(self.method(h).block("actuator program", commands, outputs))


class UserActuator(ProgrammedActuator, UserFunction):
    """An actuator written by the user: it reads commands and gives displacements, velocities and accelerations."""

    kind: Literal["user"] = "user"


class LibraryActuator(ProgrammedActuator, LibraryFunction):
    """An actuator in a compiled library: it reads commands and gives displacements, velocities and accelerations."""

    kind: Literal["library"] = "library"


class FmuActuator(ProgrammedActuator, FmuPart):
    """An actuator that is an FMU: it reads ``command`` and gives ``displacement``, and ``velocity`` and
    ``acceleration`` if it has them."""

    kind: Literal["fmu"] = "fmu"

    def given(self) -> tuple[str, ...]:
        return tuple(name for name in MOTION if name == "displacement" or name in self.outputs)

    def program(self, commands: tuple[str, ...], outputs: tuple[Channel, ...], h: float, unit: str) -> Block:
        n, told = len(commands), self.given()
        writes: list[Port] = [(name, len(outputs) // len(told), UNITS[name]) for name in told]
        method = self.fmu_method(h, [("command", n, unit)], writes)
        return self.tried(method.block("actuator program", commands, outputs))
