"""A rig of an actuator, a specimen that it moves as it likes, and sensors, each simulated by its own block.

command → transport (delay, reconstruction) → actuator → specimen → sensors
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ..contracts.axes import Axes
from ..contracts.context import Context
from ..contracts.known import Known
from ..contracts.reach import Bound, peaks
from ..contracts.rig import RigBlocks
from ..contracts.state_space import StateSpace
from ..models.shaker import Shaker
from ..settings import default_kind, fault
from ..stability.ideal_compensator import Follower
from .actuator import Actuator, Delay
from .any_specimen import AnySpecimen
from .sensors import Sensors
from .specimen import excitation_block
from .transport import transport
from .with_sensors import SensedRig

LONGEST_DELAY = 2000
"""In steps: the loop is linearised with every sample of it."""


class SimulatedRig(SensedRig):
    """Actuator, specimen and sensors simulated on their own step: the loop's step divided by ``substeps``."""

    kind: Literal["simulated"] = "simulated"
    actuator: Annotated[Actuator, default_kind("delay")] = Delay()
    specimen: AnySpecimen
    sensors: Sensors = Sensors()
    substeps: Annotated[int, Field(ge=1, le=1000)] = 1

    def blocks(self, context: Context, command: tuple[str, ...]) -> RigBlocks:
        """Transport, actuator and specimen; sensors."""
        n, step, x0, actuator = len(context.axes), context.period, context.start, self.actuator
        specimen = self.specimen.block(n, x0, step / self.substeps)
        way = transport(
            command,
            "m",
            step,
            self.substeps,
            actuator.delay,
            actuator.reconstruction,
            x0,
            dynamic=actuator.is_dynamic,
        )
        moved = actuator.block(step / self.substeps, "m", x0, self.substeps)
        resting = np.array([*x0, *(specimen.initial or np.zeros(n))])
        return RigBlocks([way, moved, excitation_block(context), specimen], [self.sensors_block(context, resting)])

    @property
    def steps_per_tick(self) -> int:
        return self.substeps

    def fits(self, known: Known) -> None:
        """Raise a fault unless specimen and sensors suit the interface, and the delay the step."""
        super().fits(known)
        delay, step = self.actuator.delay, known.step
        if step is not None and delay > LONGEST_DELAY * step:
            raise fault(
                f"{delay:g} s are {delay / step:.0f} steps, over {LONGEST_DELAY}; "
                "shorten the delay or lengthen timing.step",
                "actuator",
                "delay",
            )

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        ends = {"stroke": self.actuator.stroke, "speed": self.actuator.speed}
        limited = tuple(f"rig.actuator: a limited {name}" for name, value in ends.items() if value is not None)
        return (*super().nonlinearities, *limited)

    def bounds_on_motion(self, motion: np.ndarray, step: float, axes: Axes) -> list[Bound]:
        places, speeds = peaks(motion, step)
        bounds = (("stroke", places, self.actuator.stroke, "m"), ("speed", speeds, self.actuator.speed, "m/s"))
        return [
            Bound.on_axes(axes, f"the actuator's {name}", needed, most, unit)
            for name, needed, most, unit in bounds
            if most is not None
        ]

    # --- how it follows a command -------------------------------------------------------------------------------------

    @property
    def pure_delay(self) -> float:
        return self.actuator.delay

    def ideal_but_late(self, delay: float) -> SimulatedRig:
        late = Delay(delay=delay, reconstruction=self.actuator.reconstruction)
        return SimulatedRig(actuator=late, specimen=self.specimen, substeps=self.substeps)

    def delay_within(self, delay: float, step: float) -> float:
        return step * float(np.floor(delay / step + 1e-9)) if self.actuator.holds else delay

    def follower(self, step: float, shaker: Shaker | None = None) -> Follower:
        self.check_shaker(shaker)
        # the shortest way into the rig: a command is held until the next one
        delay = max(self.actuator.delay, step)
        if self.actuator.holds:  # a staircase: late by whole steps, and by half of one on average
            delay = step * float(np.ceil(self.actuator.delay / step - 1e-9)) + 0.5 * step
        return Follower(self.actuator.denominator(), np.ones(1), np.zeros(1), delay)

    def linear_model(self, axes: int) -> StateSpace:
        one, eye = self.actuator.linear_model(), np.eye(axes)
        return StateSpace(np.kron(eye, one.a), np.kron(eye, one.b), np.kron(eye, one.c), np.kron(eye, one.d))
