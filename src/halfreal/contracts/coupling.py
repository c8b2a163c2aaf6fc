"""What a coupling must say of itself.

Contract for implementers
-------------------------
1. ``blocks(context)`` gives its blocks.  They read ``target``, ``measured.displacement`` and ``measured.force``, one
   channel for each axis, all of time t, and the last one writes ``command.asked``.
2. ``gives(targets)`` is what it commands the rig in, for targets of this kind; None if it cannot be known.
3. ``follows_forces`` says whether it can follow targets that are forces, ``serves_slow_tests`` whether it makes sense
   with a rig that has settled before it is measured.
4. ``fits(known)`` raises a fault where the part and the sections before it do not go together.
5. What it knows of itself it may say: the weights of the last targets in the command (``predictor``), by how much it
   predicts.  What it leaves out is taken from the code that runs, linearised numerically.
6. What it leaves out of its settings and takes from models of the rig and of the virtual substructure, it works out in
   ``with_model_data``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from ..kernels.block import Block
from ..settings import Settings
from .context import Context
from .known import Known
from .quantities import Commands

if TYPE_CHECKING:
    from ..definition.definition import Definition


@dataclass(frozen=True)
class Predictor:
    """Weights of the last targets in the command, newest first, and what must be said of them."""

    weights: np.ndarray
    caveat: str = ""


class Coupling(Settings):
    """Makes the command out of the target."""

    kind: str
    follows_forces: ClassVar[bool] = False
    serves_slow_tests: ClassVar[bool] = False
    compensates: ClassVar[bool] = True
    """Whether the command differs from the target."""

    def blocks(self, context: Context) -> list[Block]:
        """Its blocks; the last writes the asked command."""
        raise NotImplementedError

    def feedback_blocks(self, context: Context) -> tuple[list[Block], tuple[str, ...]]:
        """Blocks between the measurement and the virtual substructure, and the channels of what they make of it."""
        return [], context.channels("measured.force")

    def gives(self, targets: Commands) -> Commands | None:
        """What it commands the rig in; None if that cannot be known."""
        return targets

    def fits(self, known: Known) -> None:
        """Raise a fault unless it suits the sections before it: step, virtual substructure, excitations."""

    def with_model_data(self, test: Definition) -> Self:
        """The coupling with what it has left out of its settings and takes from the models of the test's parts."""
        return self

    @property
    def identifies(self) -> bool:
        """Whether it drives the rig at random at first, to identify it."""
        return False

    @property
    def predicts(self) -> bool:
        """Whether it extrapolates the target, and so amplifies what is fast."""
        return False

    def predictor(self, step: float) -> Predictor | None:
        """The command as a weighted sum of the last targets, the same on every axis; None if it is not one."""
        return None

    def caveats(self) -> Iterable[str]:
        """What a judgement of the loop at rest leaves out of it."""
        return ()
