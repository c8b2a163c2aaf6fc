"""A rig of an actuator, a specimen that it moves as it likes, and sensors, each simulated by its own block.

command → actuator (delay, reconstruction, motion) → specimen → sensors
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from .. import units
from ..contracts.axes import Axes
from ..contracts.context import Context
from ..contracts.finding import Finding
from ..contracts.known import Known
from ..contracts.reach import Bound, peaks
from ..contracts.rig import RigBlocks
from ..contracts.state_space import StateSpace
from ..errors import HalfrealError
from ..models.shaker import Shaker
from ..settings import fault
from ..stability.bare_loop import bare_loop
from ..stability.ideal_compensator import Follower
from .actuator import Delay
from .any_actuator import AnyActuator
from .any_specimen import AnySpecimen
from .reversal import judged
from .sensors import Sensors
from .specimen import excitation_block
from .with_sensors import SensedRig

if TYPE_CHECKING:
    from ..studies.check.examined import Examined

LONGEST_DELAY = 2000
"""In steps: the loop is linearised with every sample of it."""


class SimulatedRig(SensedRig):
    """Actuator, specimen and sensors simulated on their own step: the loop's step divided by ``substeps``."""

    identified: ClassVar[tuple[str, ...]] = ("actuator", "specimen")
    kind: Literal["simulated"] = "simulated"
    actuator: AnyActuator = Delay()
    specimen: AnySpecimen
    sensors: Sensors = Sensors()
    substeps: Annotated[int, Field(ge=1, le=1000)] = 1

    def blocks(self, context: Context, command: tuple[str, ...]) -> RigBlocks:
        """Actuator and specimen; sensors."""
        n, step, x0 = len(context.axes), context.period, context.start
        # at rest friction holds it: poles and margins are those without, and ``reversal.py`` judges what they lack
        actuator = self.actuator.smooth() if context.quiet else self.actuator
        specimen = self.specimen.block(n, x0, step / self.substeps)
        moved = actuator.blocks(command, "m", step, self.substeps, x0)
        resting = np.array([*x0, *(specimen.initial or np.zeros(n))])
        return self.sensed(context, [*moved, excitation_block(context), specimen], resting)

    @property
    def steps_per_tick(self) -> int:
        return self.substeps

    def fits(self, known: Known) -> None:
        """Raise a fault unless specimen and sensors suit the interface, and the delay the step."""
        super().fits(known)
        delay, step = self.actuator.delay, known.step
        if step is not None and delay > LONGEST_DELAY * step:
            raise fault(
                f"{delay:g} s is {delay / step:.0f} steps, more than {LONGEST_DELAY}; "
                "shorten the delay or lengthen timing.step",
                "actuator",
                "delay",
            )

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        return (*super().nonlinearities, *(f"rig.actuator: {one}" for one in self.actuator.nonlinearities))

    def findings(self, examined: Examined) -> Iterable[Finding]:
        """A delay that cannot be had; friction and backlash."""
        yield from self._other_delay(examined.definition.timing.step)
        yield from judged(examined, self.actuator.half_play)

    def _other_delay(self, step: float) -> Iterable[Finding]:
        actuator = self.actuator
        asked, has = actuator.delay, actuator.delay_had(step, self.substeps)
        if asked > 0.0 and abs(has - asked) > 1e-9 * step:
            why, own = "a command acts over one step at least", "a shorter timing.step"
            if actuator.holds:
                why = "a command that is held changes on whole steps of the rig"
                own = 'reconstruction = "cubic"' if asked > step else own
            yield Finding(
                "warning",
                f"rig.actuator.delay is {units.text(asked, 's')}, but the loop has {units.text(has, 's')} in its "
                f"place: {why}; {own} is more accurate",
                asked,
                has,
                "s",
            )

    def bounds_on_motion(self, motion: np.ndarray, step: float, axes: Axes) -> list[Bound]:
        places, speeds = peaks(motion, step)
        bounds = (("stroke", places, self.actuator.stroke, "m"), ("speed", speeds, self.actuator.speed, "m/s"))
        return [
            Bound.on_axes(axes, f"the actuator's {name}", needed, most, unit)
            for name, needed, most, unit in bounds
            if most is not None
        ]

    @property
    def smoother(self) -> tuple[str, SimulatedRig] | None:
        if getattr(self.actuator, "reconstruction", "cubic") == "cubic":
            return None
        smooth = self.actuator.unchecked_copy({"reconstruction": "cubic"})
        return 'rig.actuator.reconstruction = "cubic"', self.unchecked_copy({"actuator": smooth})

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
        denominator = self.actuator.denominator()
        if denominator is None:
            raise HalfrealError(
                "this rig's actuator is a program without a model; give the coupling's table or weights itself"
            )
        return Follower(denominator, np.ones(1), np.zeros(1), self.delay_in_loop(step))

    def delay_in_loop(self, step: float) -> float:
        """At least a step: the shortest way into the rig."""
        if self.actuator.holds:  # a staircase: late by whole steps, and by half of one on average
            return step * float(np.ceil(self.actuator.delay / step - 1e-9)) + 0.5 * step
        return max(self.actuator.delay, step)

    def linear_model(self, axes: int) -> StateSpace | None:
        one, eye = self.actuator.linear_model(), np.eye(axes)
        if one is None:
            return None
        return StateSpace(np.kron(eye, one.a), np.kron(eye, one.b), np.kron(eye, one.c), np.kron(eye, one.d))

    def loop_with(self, virtual: StateSpace) -> StateSpace | None:
        axes, known = virtual.channels, self.known_specimen
        model = self.linear_model(axes)
        return None if known is None or model is None else bare_loop(virtual, model, known.motion_to_force(axes))
