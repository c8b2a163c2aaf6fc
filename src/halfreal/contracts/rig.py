"""Interface of a rig: required and optional members.

Contract for implementers
-------------------------
1. ``blocks(context, command)`` gives two lists of blocks: those that run on the rig's own step, the period divided by
   ``steps_per_tick``, and those that run once a tick after them.  They read the ``command`` channels, and at the end of
   the tick write ``measured.displacement`` and ``measured.force``, one channel for each axis:
   ``channels("measured.force", "N", n, of="axis")``.  In a quiet or ideal loop they contain nothing random and nothing
   saturates; random numbers take their seed from the context.
2. ``commanded_in`` is what the commands are: displacements or forces.
3. ``fits(known)`` raises a fault if the part does not fit the sections before it, ``fits_test`` if that depends on
   all sections.
   A rig that measures passive axes, or is commanded in strokes of actuators, states this in ``check_served``.
4. ``rest_command`` is the command under which it is at rest at a displacement.
5. ``linear_model`` and ``pure_delay`` describe how it follows a command, ``follower`` how the specimen pushes it back,
   ``loop_with`` and ``delay_in_loop`` its part in the delay equation of the loop, ``known_specimen`` what it moves and
   ``known_sensors`` what it measures with.  What a rig does not provide is taken from
   the code that runs, or the study that needs it reports that it is not known.  Its delay is always measured on the
   code that runs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from ..errors import HalfrealError
from ..kernels.block import Block
from ..settings import Settings, fault
from .axes import Axes
from .context import Context
from .finding import Finding
from .known import Known
from .quantities import Commands
from .reach import Bound
from .specimen import KnownSpecimen
from .state_space import StateSpace

if TYPE_CHECKING:
    from ..definition.definition import Definition
    from ..models.shaker import Shaker
    from ..rigs.sensors import Sensors
    from ..rigs.shaking_table import ShakingTable
    from ..stability.ideal_compensator import Following
    from ..studies.check.examined import Examined
    from .virtual import Virtual


class RigBlocks(NamedTuple):
    """The blocks of a rig: on its own step, and at the end of a tick."""

    inner: list[Block]
    outer: list[Block]


@dataclass(frozen=True)
class StaticAnswer:
    """What a rig measures under a force that is held."""

    stiffness: np.ndarray
    """Of the specimen as it is measured, (axes, axes) [N/m]."""
    softer: bool = False
    """Whether that is less than it has, as what holds the specimen gives way too and is measured with it."""
    noise: float = 0.0
    """Of the measured displacement [m, rms]."""


class Rig(Settings):
    """Anything that responds to a command with a measurement."""

    kind: str
    can_be_served: ClassVar[bool] = True
    """Whether it can run as a process of its own, begun anywhere and behind a link."""
    identified: ClassVar[tuple[str, ...]] = ()
    """Its sections whose numbers can be identified from records of command, displacement and force (``halfreal
    identify``)."""
    tuning_hint: ClassVar[str] = ""
    """What a compensation that is tuned for it may gain in a loop without one, for people."""

    @abstractmethod
    def blocks(self, context: Context, command: tuple[str, ...]) -> RigBlocks:
        """Its blocks, which begin with the interface at ``context.start``."""
        raise NotImplementedError

    @property
    def commanded_in(self) -> Commands:
        """What it is commanded in."""
        return "displacement"

    @property
    def steps_per_tick(self) -> int:
        """Its own steps in a tick."""
        return 1

    def interface(self, virtual: Virtual, named: tuple[str, ...] | None) -> Axes:
        """The axes of the interface, by the names that the definition gives them, or by their numbers."""
        if named is not None:
            return Axes(named, self.drives(virtual))
        return Axes.numbered(virtual.axes, self.drives(virtual), virtual.turning)

    def drives(self, virtual: Virtual) -> bool:
        """Whether its commands are forces of actuators that are no axes of the interface."""
        return False

    def check_served(self, axes: Axes) -> None:
        """Raise a fault if the interface has axes or actuators that it does not serve: passive axes, whose forces it
        must measure without a command for them, or actuators, whose strokes are its commands."""
        if axes.passive:
            raise fault(
                f"a rig of kind '{self.kind}' moves every axis of its interface, but {', '.join(axes.passive)} "
                'are passive; use one that measures them without a command, such as one of kind "assembled"',
            )
        if axes.moved_by is not None:
            raise fault(
                f"a rig of kind '{self.kind}' is commanded along the axes of its interface, not in strokes of "
                'actuators; omit [kinematics], or use a rig of kind "assembled"'
            )

    def fits(self, known: Known) -> None:
        """Raise a fault unless it suits the sections before it: step, interface, excitations, coupling."""

    def fits_test(self, test: Definition) -> None:
        """Raise a fault unless it suits all sections."""

    def rest_command(self, displacement: np.ndarray) -> np.ndarray:
        """The command under which it is at rest at this displacement of the interface."""
        return np.zeros_like(displacement) if self.commanded_in == "force" else displacement

    def varying_sensors(self, axes: Axes) -> np.ndarray:
        """Which sensors are known to vary, displacements first, then forces: 1 where noise is not lost in rounding."""
        sensors = self.known_sensors
        return np.zeros(2 * len(axes)) if sensors is None else sensors.varying(axes)

    @property
    def caveat(self) -> str | None:
        """What a judgement of the linearised loop leaves out of it."""
        return None

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        """What of it is nonlinear, for people, such as "rig.specimen: a cubic element"; nothing if it is linear."""
        return ()

    # --- how it follows a command -------------------------------------------------------------------------------------

    @property
    def pure_delay(self) -> float:
        """Of a command on its way to what ``linear_model`` describes [s]."""
        return 0.0

    def delay_in_loop(self, step: float) -> float:
        """Of a command until it acts in the loop that runs [s], where it is held with half the step of the hold."""
        return self.pure_delay

    def delay_within(self, delay: float, step: float) -> float:
        """The longest delay that it can have up to this one [s]."""
        return delay

    def ideal_but_late(self, delay: float) -> Rig | None:
        """A rig with its specimen that is late by a pure delay [s] and otherwise ideal; None if it is not known.

        The rig is measured against it: how long a pure delay the test would bear in its place.
        """
        return None

    def follower(self, step: float, shaker: Shaker | None = None) -> Following:
        """Its actuator by its responses, with the hold of the command; ``shaker`` in place of its own."""
        self.check_shaker(shaker)
        raise HalfrealError(
            f"the actuator of a rig of kind '{self.kind}' has no model here; give the coupling's table or weights "
            "itself"
        )

    def check_shaker(self, shaker: Shaker | None) -> None:
        """Refuse a coupling's shaker: for rigs that have none."""
        if shaker is not None:
            raise HalfrealError(f"coupling.shaker describes a shaker, but the rig is of kind '{self.kind}'; omit it")

    def linear_model(self, axes: int) -> StateSpace | None:
        """From the command, after any pure delay, to the displacement, continuous; None if it is not known."""
        return None

    def stroke_model(self) -> StateSpace | None:
        """From commands to the strokes of actuators that act on each other, continuous, as it is known beforehand; None
        if it is not, or there are no such actuators."""
        return None

    def loop_with(self, virtual: StateSpace) -> StateSpace | None:
        """L₀ (``halfreal.stability.bare_loop``) with a virtual substructure, from measured force to target; continuous,
        without pure delay and coupling; None if it is not known."""
        return None

    @property
    def known_specimen(self) -> KnownSpecimen | None:
        """Its specimen, if that has matrices."""
        return None

    def with_share_of_specimen(self, share: float) -> Self | None:
        """The rig with this share of its specimen's mass, damping and stiffness; None if it is not known."""
        return None

    def specimen_impedance(self, axes: int, hz: np.ndarray) -> np.ndarray | None:
        """Force of its specimen per displacement at rest, (frequencies, axes, axes) [N/m]; None if it is not known."""
        return None

    @property
    def smoother(self) -> tuple[str, Self] | None:
        """A setting that makes its command smoother, as text, and the rig with it; None if there is none."""
        return None

    @property
    def known_sensors(self) -> Sensors | None:
        """What it measures the interface with, if that is known."""
        return None

    def with_sensors(self, sensors: Sensors) -> Self | None:
        """The rig with other sensors; None if they are no settings of it."""
        return None

    def without_resolution(self) -> Self:
        """The rig with sensors and converters that do not round, as far as they are settings of it."""
        sensors = self.known_sensors
        other = (
            None if sensors is None else self.with_sensors(sensors.changed({"resolution": 0.0}, {"resolution": 0.0}))
        )
        return self if other is None else other

    def stability_remedy(self, test: Definition) -> str:
        """What would fix a rig that is unstable on its own."""
        return "a rig that stays at rest under a held command: check its controller gains and its specimen"

    @property
    def as_table(self) -> ShakingTable | None:
        """The rig as a shaking table, whose controllers and axes are tuned one by one; None if it is none."""
        return None

    # --- what a check asks of it --------------------------------------------------------------------------------------

    def findings(self, examined: Examined) -> Iterable[Finding]:
        """What a check should report of it in addition to what it reports of every test."""
        return ()

    def bounds_on_motion(self, motion: np.ndarray, step: float, axes: Axes) -> list[Bound]:
        """What a motion of the interface, (ticks, axes), needs of its actuators, next to what they have."""
        return []

    @property
    def end_channels(self) -> tuple[str, ...]:
        """Channels that show whether its actuators have come to an end of what they can do; none if nothing shows."""
        return ()

    def end_reached(self, log: np.ndarray) -> str:
        """What of its actuators comes to its end in rows of these channels, such as "stroke"; empty if nothing does."""
        return ""

    def static_answer(self, axes: int) -> StaticAnswer | None:
        """What it measures under a force that is held; None if it is not known, or it is not commanded in force."""
        return None

    def inverse_coefficients(self, axes: int) -> np.ndarray | None:
        """a₀, a₁, … [s^i] of its inverse, for the coupling "model inverse"; None if it has none."""
        return None
