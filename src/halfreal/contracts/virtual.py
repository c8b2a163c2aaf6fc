"""Interface of a virtual substructure: required and optional members.

Contract for implementers
-------------------------
1. ``axes`` is the number of degrees of freedom that it shares with the specimen.
2. ``blocks(context)`` gives its blocks.  The last is called "virtual", reads ``excitation.virtual`` with its rate and
   ``feedback``, one channel for each axis, and writes ``target``, one channel for each axis, all of time t:
   ``channels("target", "m", n, of="axis")``.
3. ``targets`` is what it commands of the specimen: a displacement, with forces as feedback (positive where they
   resist a positive displacement), or a force, with displacements as feedback.
4. ``initial_target`` is the initial position of the interface, ``at_rest`` the same part without its initial state:
   the loop is linearised there.
5. ``fits(known)`` raises a fault (``halfreal.settings.fault``) if the part does not fit the sections before it;
   ``check_excitation`` if an excitation cannot act on it.
6. Optional: its matrices (``system``), a linear model (``linear_model``), which axes are rotations,
   its nonlinearities, the positions of its parts (``sketch``) and how its block's state describes them (``inside``).
   Without them the code that runs is linearised numerically, or the study that needs them reports that they are not
   known.
7. It uses a force measured in tick k as that of the displacement of tick k.  Only a part that uses it as the response
   to the target of tick k − 1 can run slow tests; its ``check_slow`` raises nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from ..errors import HalfrealError
from ..kernels.block import Block
from ..settings import Settings, fault
from .client_port import ClientPort
from .context import Context
from .device import Device, device_of
from .finding import Finding
from .known import Known
from .quantities import ActsAs, Commands, Hold
from .state_space import StateSpace
from .system import Method, System

if TYPE_CHECKING:
    from ..definition.definition import Definition
    from ..studies.check.examined import Examined
    from .inside import Inside, Sketch
    from .pushed import Push, Pushed
    from .rig import Rig


class Virtual(Settings):
    """The simulated part of the structure."""

    kind: str
    targets: ClassVar[Commands] = "displacement"

    @property
    @abstractmethod
    def axes(self) -> int:
        """Number of axes of the interface."""
        raise NotImplementedError

    @abstractmethod
    def blocks(self, context: Context) -> list[Block]:
        """Its blocks; the last writes the target."""
        raise NotImplementedError

    def fits(self, known: Known) -> None:
        """Raise a fault unless it suits the sections before it: the names of the axes, and the step."""
        if known.named is not None and self.axes != len(known.named):
            raise fault(
                f"an interface of {self.axes} axis(es), but axes lists {len(known.named)} ({', '.join(known.named)}); "
                "list as many as there are"
            )

    def check_excitation(self, excitation: ActsAs) -> None:
        """Raise a fault unless it knows how this excitation acts on it."""

    def initial_target(self) -> np.ndarray:
        """Where the interface is at the start, (axes,) [m or rad]."""
        return np.zeros(self.axes)

    def at_rest(self, rig: Rig | None = None) -> Self:
        """The part without its initial state.  What it would find out of the specimen it may ask the rig's model."""
        return self

    @property
    def turning(self) -> tuple[bool, ...] | None:
        """Which axes are rotations, where the part knows; else their names show it."""
        return None

    @property
    def client_port(self) -> ClientPort | None:
        """Where the client is waited for that gives its displacements, if ``halfreal site`` is to serve one.

        Its block has a parameter ``mailbox`` and writes ``client.waiting`` as long as the client wants nothing new; it
        is called while a slow test holds its tick, too.
        """
        return None

    @property
    def ticks_per_step(self) -> int:
        """Exchanges with the rig in one step of its integration."""
        return 1

    @property
    def probing_ticks(self) -> int:
        """Ticks at the beginning, while the excitation waits, in which it finds out the specimen's stiffness."""
        return 0

    @property
    def force_hold(self) -> Hold:
        """How it takes a measured force between two ticks."""
        return "first"

    def check_slow(self) -> None:
        """Raise a fault if it cannot serve a slow test."""
        raise fault(
            f"a virtual substructure of kind '{self.kind}' uses the measured force as that of the same tick, but "
            "in a slow test it is the response to the previous target; use another kind"
        )

    def system(self, excitation: ActsAs) -> System | None:
        """Its matrices, with inputs (excitation, its rate, feedback…) and outputs (displacements…, responses…)."""
        return None

    def linear_model(self) -> StateSpace | None:
        """From the measured forces to the displacements of the interface, continuous, with elements at their initial
        stiffness; from its matrices, if it has some."""
        system = self.system("none")
        if system is None:
            return None
        a, b, c, d = system.first_order()
        return StateSpace(a, b[:, -self.axes :], c[: self.axes], d[: self.axes, -self.axes :])

    def device(self, step: float) -> Device:
        """From the force that acts on it to its displacement, as it is integrated: what compensators assume."""
        if self.axes != 1:
            raise HalfrealError(
                f"a compensated device has one axis, but the interface has {self.axes}; use another coupling"
            )
        model = self.linear_model()
        if model is None:
            raise HalfrealError(
                f"the virtual substructure of kind '{self.kind}' has no linear model here; give the coupling's table "
                "or weights itself"
            )
        return device_of(StateSpace(model.a, -model.b, model.c, -model.d), self.integration_delay(step))

    def integration_delay(self, step: float) -> float:
        """By how much its displacement is late [s]: half a step if forces are held over one."""
        return 0.5 * step if self.force_hold == "zero" else 0.0

    def form(self, step: float) -> str:
        """In which form the program integrates it, for people; empty if as it stands."""
        return ""

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        """What of it is nonlinear, for people, such as "virtual: a bouc-wen element"; nothing if it is linear."""
        return ()

    @property
    def caveat(self) -> str | None:
        """What a judgement of the linearised loop leaves out of it."""
        return None

    def sketch(self) -> Sketch | None:
        """Where its parts are, for pictures; None if it does not know."""
        return None

    def inside(self, excitation: ActsAs) -> Inside | None:
        """How the state of its block shows what happens inside; None if it does not."""
        return None

    def pushover(self, by: Push) -> Pushed | None:
        """Pushed sideways, step by step; None if it does not know how."""
        return None

    def own_method(self, system: System, step: float) -> Method | None:
        """The scheme that integrates it, for another system such as the emulated one; None if it has no scheme."""
        return None

    def emulation(self, joined: System, step: float) -> Method | None:
        """How the emulated system is integrated whose matrices, with the specimen, are ``joined``, where these do not
        describe all of it; None if they do."""
        return None

    def check_reference(self) -> None:
        """Raise a fault unless the emulated system is known."""
        if self.system("none") is None:
            raise fault(
                f"the emulated system of a virtual substructure of kind '{self.kind}' is not known; omit the reference"
            )

    @property
    def brings_reference(self) -> bool:
        """Whether it computes the emulated system itself (``own_reference``)."""
        return False

    def own_reference(self, definition: Definition, ticks: int, every: int) -> np.ndarray | None:
        """Interface displacements of the emulated system, every ``every``-th tick, (rows, axes), if it has its own way
        to compute them; None if its matrices suffice."""
        return None

    def findings(self, examined: Examined) -> Iterable[Finding]:
        """What a check should report of it in addition to what it reports of every test."""
        return ()
