"""A rig: servos of first order that are no faster than their valves' flow allows, each on a spring (H. E. Merritt,
Hydraulic Control Systems, Wiley, 1967).

    x˙ = (u − x)/τ, at most v,      f = k x

The step is exact for a command that is held, as long as the valve is not fully open.

======== ==================================================================
u, x, f  command, displacement, force of the spring, for each axis
τ, v     ``time_constant``, ``fastest``
k        ``stiffness``
======== ==================================================================
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np

from halfreal.contracts.context import Context
from halfreal.contracts.known import Known
from halfreal.contracts.rig import Rig, RigBlocks
from halfreal.kernels.block import Block, channels
from halfreal.settings import Number, fault

MERRITT = "H. E. Merritt, Hydraulic Control Systems, John Wiley & Sons, New York (1967)."
NOT_A_NUMBER = 1


def servo_step(p, s, t, u, y):
    n = u.size
    for i in range(n):
        if not math.isfinite(u[i]):
            return NOT_A_NUMBER
        s.x[i] += min(max(p.share * (u[i] - s.x[i]), -p.furthest), p.furthest)
        y[i] = s.x[i]
        y[n + i] = p.stiffness * s.x[i]
    return 0


class RateLimitedServo(Rig):
    """Servos of first order with a rate limit, each on a spring."""

    kind: Literal["rate-limited servo"] = "rate-limited servo"
    time_constant: Annotated[float, Number("s", above=0)]
    """Of the servos."""
    fastest: Annotated[float, Number("m/s", above=0)]
    """Speed with the valve fully open."""
    stiffness: Annotated[float, Number("N/m", least=0)]
    """Of the spring on each axis."""

    def fits(self, known: Known) -> None:
        if known.period is not None and self.time_constant < known.period:
            raise fault(
                f"{self.time_constant:g} s is shorter than a step of {known.period:g} s; shorten the step",
                "time_constant",
            )

    def blocks(self, context: Context, command: tuple[str, ...]) -> RigBlocks:
        n, start = len(command), context.start
        servo = Block(
            name="servo",
            step=servo_step,
            inputs=command,
            outputs=(
                *channels("measured.displacement", "m", n, of="axis"),
                *channels("measured.force", "N", n, of="axis"),
            ),
            parameters={
                "share": 1.0 - math.exp(-context.period / self.time_constant),
                "furthest": np.finfo(float).max if context.faultless else self.fastest * context.period,
                "stiffness": self.stiffness,
            },
            state={"x": start},
            faults={NOT_A_NUMBER: "a command is not a number"},
            initial=(*start, *(self.stiffness * start)),
            references=(MERRITT,),
        )
        return RigBlocks([], [servo])

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        return ("rig: a rate limit",)
