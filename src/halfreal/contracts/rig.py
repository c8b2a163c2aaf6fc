"""What a rig must say of itself.

Contract for implementers
-------------------------
1. ``blocks(context, command)`` gives two lists of blocks: those that run on the rig's own step, the period divided by
   ``steps_per_tick``, and those that run once a tick after them.  They read the ``command`` channels, and at the end of
   the tick write ``measured.displacement`` and ``measured.force``, one channel for each axis.  In a quiet or ideal loop
   nothing random is in them and nothing saturates; what is random takes its seed from the context.
2. ``commanded_in`` is what the commands are: displacements or forces.
3. ``fits(known)`` raises a fault where the part and the sections before it do not go together, ``fits_test`` where it
   needs all of them.
4. ``rest_command`` is the command under which it stands still at a displacement.
5. ``linear_model``, ``delay`` and ``lag`` describe how it follows a command, ``follower`` how the specimen pushes it
   back, ``specimen_matrices`` what it moves.  What a rig leaves out is taken from the code that runs, or the study that
   needs it says that it is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from ..errors import HalfrealError
from ..kernels.block import Block
from ..settings import Settings
from .axes import Axes
from .context import Context
from .known import Known
from .quantities import Commands
from .specimen import KnownSpecimen
from .state_space import StateSpace

if TYPE_CHECKING:
    from ..definition.definition import Definition
    from ..models.shaker import Shaker
    from ..stability.ideal_compensator import Follower
    from .virtual import Virtual


class RigBlocks(NamedTuple):
    """The blocks of a rig: on its own step, and at the end of a tick."""

    inner: list[Block]
    outer: list[Block]


class Rig(Settings):
    """Whatever answers a command with a measurement."""

    kind: str
    can_be_served: ClassVar[bool] = True
    """Whether it can run as a process of its own, begun anywhere and behind a link."""
    own_names: ClassVar[bool] = False
    """Whether what it writes for itself, ``rig.*``, is not counted along the axes."""

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

    def fits(self, known: Known) -> None:
        """Raise a fault unless it suits the sections before it: step, interface, excitations, coupling."""

    def fits_test(self, test: Definition) -> None:
        """Raise a fault unless it suits all sections."""

    def rest_command(self, displacement: np.ndarray) -> np.ndarray:
        """The command under which it stands still at this displacement of the interface."""
        return np.zeros_like(displacement) if self.commanded_in == "force" else displacement

    def varying_sensors(self, axes: Axes) -> np.ndarray:
        """Which sensors are known to vary, displacements first, then forces: 1 where noise is not lost in rounding."""
        return np.zeros(2 * len(axes))

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
    def is_dynamic(self) -> bool:
        """Whether it lags by dynamics of its own, and not by the number of a delay."""
        return False

    def delay(self, step: float) -> float | None:
        """How late it follows in slow motion [s]: a delay, or the lag of its dynamics; None if it is not known."""
        return None

    def with_delay(self, delay: float) -> Self | None:
        """The rig with another delay [s]; None if a delay is no number of it."""
        return None

    def follower(self, step: float, shaker: Shaker | None = None) -> Follower:
        """Its actuator as ratios of polynomials, with the hold of the command; ``shaker`` in place of its own."""
        raise HalfrealError(
            f"the actuator of a rig of kind '{self.kind}' has no model here; give the coupling's table or weights "
            "itself"
        )

    def linear_model(self, axes: int) -> StateSpace | None:
        """From the command, after any pure delay, to the displacement, continuous; None if it is not known."""
        return None

    @property
    def known_specimen(self) -> KnownSpecimen | None:
        """Its specimen, if that has matrices."""
        return None

    def stability_remedy(self, test: Definition) -> str:
        """What would mend a rig that is unstable on its own."""
        return "a rig that stands still under a held command: look at its controller's gains and specimen"
