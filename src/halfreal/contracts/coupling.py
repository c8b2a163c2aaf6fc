"""Interface of a coupling: required and optional members.

Contract for implementers
-------------------------
1. ``blocks(context)`` gives its blocks.  They read ``target``, ``measured.displacement`` and ``measured.force``, one
   channel for each axis, all of time t, and the last one writes ``command.asked``, one channel for each
   actuator: ``channels("command.asked", unit, n, of="actuator")``.  It works on the axes of the context;
   where actuators move the interface, these may be actuators.
2. ``gives(targets)`` is what it commands the rig in, for targets of this kind; None if it cannot be known.
3. ``follows_forces`` states whether it can follow targets that are forces, ``serves_slow_tests`` whether it can be
   used with a rig that has settled before it is measured.
4. ``fits(known)`` raises a fault if the part does not fit the sections before it.
5. Optional: the weights of the last targets in the command (``predictor``), by how much it
   predicts.  Without them the code that runs is linearised numerically.
6. ``trials`` lists what ``halfreal tune`` should evaluate, for the rig and the motion of a test.
7. Settings that are left out and follow from models of the rig and of the virtual substructure are computed in
   ``with_model_data``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from ..kernels.block import Block
from ..settings import Settings
from .context import Context
from .finding import Finding
from .known import Known
from .quantities import Commands
from .state_space import StateSpace
from .tuning import Known as KnownRig
from .tuning import Trial

if TYPE_CHECKING:
    from ..couplings.forward_prediction import ForwardPrediction
    from ..definition.definition import Definition
    from ..studies.check.examined import Examined


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
    sees_interface: ClassVar[bool] = False
    """Whether it needs the interface as the virtual substructure has it: every axis commanded, and in the pose."""
    compensates: ClassVar[bool] = True
    """Whether the command differs from the target."""

    @abstractmethod
    def blocks(self, context: Context) -> list[Block]:
        """Its blocks; the last writes the asked command."""
        raise NotImplementedError

    def feedback_blocks(self, context: Context) -> tuple[list[Block], tuple[str, ...]]:
        """Blocks between the measurement and the virtual substructure, and the channels of what they make of it."""
        fed_back = "displacement" if context.virtual.targets == "force" else "force"
        return [], context.channels(f"measured.{fed_back}")

    def gives(self, targets: Commands) -> Commands | None:
        """What it commands the rig in; None if that cannot be known."""
        return targets

    def fits(self, known: Known) -> None:
        """Raise a fault unless it suits the sections before it: step, virtual substructure, excitations."""

    def with_model_data(self, test: Definition) -> Self:
        """The coupling with what it has left out of its settings and takes from the models of the test's parts."""
        return self

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

    # --- how it may be changed ----------------------------------------------------------------------------------------

    def with_force_prediction(self, time: float) -> Self | None:
        """The coupling with the measured force predicted by this time [s]; None if it has no room for that."""
        return None

    def with_earlier_forces(self, earlier: float) -> Self:
        """The coupling where measured forces come so much earlier [s]: if it predicts them, by so much less."""
        return self

    def with_responses(self, test: Definition, frequency_hz: np.ndarray, wanted: np.ndarray) -> Self | None:
        """The coupling with these responses from target to command at frequencies [Hz] of the test, each where the
        test has it; None if it has no table of them."""
        return None

    @classmethod
    def trials(cls, known: KnownRig) -> Iterable[Trial]:
        """What ``halfreal tune`` should try of it besides what it tries of its own (``studies/tuning/families.py``)."""
        return ()

    # --- what it chooses by itself, and at which frequencies it is judged ---------------------------------------------

    @property
    def drive_needs_limits(self) -> bool:
        """Whether the size of the random drive that it identifies the rig with is chosen from the test's limits."""
        return False

    def written_down(self, test: Definition, plant: Callable[[], StateSpace]) -> Self:
        """The coupling with what it would choose by itself written down; ``plant`` as in ``Context``."""
        return self

    def frequencies_to_judge(self, test: Definition) -> tuple[float, ...]:
        """The frequencies [Hz] to which it is tuned in the test, one after another; none if it stays the same.

        A coupling that says some has ``tuned_to`` and ``tuned_response`` too.
        """
        return ()

    def tuned_to(self, test: Definition, frequency_hz: float) -> Self:
        """The coupling as it is where the test has this frequency [Hz]."""
        return self

    def tuned_response(self, test: Definition, frequency_hz: np.ndarray, tuned_hz: float) -> np.ndarray:
        """From target to command at frequencies [Hz], where the test has ``tuned_hz``; of one axis, complex."""
        raise NotImplementedError

    # --- what a check asks of it --------------------------------------------------------------------------------------

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        """What of it is nonlinear, for people, once it no more adapts; nothing if it is linear."""
        return ()

    def predicting(self, time: float) -> ForwardPrediction | None:
        """A plain prediction by this time [s] in its place, such as a check may try; None where none belongs."""
        return None

    def findings(self, examined: Examined) -> Iterable[Finding]:
        """What a check should report of it in addition to what it reports of every test."""
        return ()
