"""What a part receives when its blocks are built: the test, and for what purpose the loop is laid out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .axes import Axes
from .quantities import ActsAs

if TYPE_CHECKING:
    from ..definition.definition import Definition
    from .excitation import Excitation
    from .state_space import StateSpace
    from .virtual import Virtual


def _no_plant() -> StateSpace:
    raise NotImplementedError("this loop was built without access to its plant")


@dataclass(frozen=True)
class Purpose:
    """For what a loop is laid out; by default it is the one that is rehearsed and run.

    ``quiet`` silences what is not part of the loop's own dynamics: excitation, initial state, start-up, and noise,
    resolution and range of sensors and converters; every other block is the one that runs.  ``ideal`` leaves out the
    faults of sensors and converters alone.  ``cut`` opens the loop at the command: the rig follows a probe instead
    (``halfreal.stability.open_loop``).  ``endless`` leaves out the soft start and the end.  ``replayed`` leaves out the
    motion of a slow test: the link gives what was measured, one tick after another.
    """

    quiet: bool = False
    ideal: bool = False
    cut: bool = False
    endless: bool = False
    replayed: bool = False

    @property
    def alone(self) -> bool:
        """Whether the loop begins at once and has no end."""
        return self.quiet or self.cut or self.endless


RUN = Purpose()
AT_REST = Purpose(quiet=True)
"""To be linearised."""
OPEN_LOOP = Purpose(quiet=True, cut=True)
"""To be linearised from the command to what comes back."""


@dataclass(frozen=True)
class Context:
    """A loop that is being built."""

    test: Definition
    virtual: Virtual
    """The test's virtual substructure; at rest in a quiet loop."""
    start: np.ndarray
    """Where the interface is at the start, (axes,) [m or rad]."""
    purpose: Purpose = RUN
    plant: Callable[[], StateSpace] = field(default=_no_plant, compare=False)
    """The loop of the test from the command to the gap, linearised, with the model of its rig and without coupling."""
    along: Axes | None = None
    """What a coupling receives in place of the axes, where it works on those that are commanded, or on actuators."""

    @property
    def quiet(self) -> bool:
        """Whether nothing but the loop's own dynamics is wanted."""
        return self.purpose.quiet

    @property
    def ideal(self) -> bool:
        """Whether the faults of sensors and converters are left out."""
        return self.purpose.ideal

    @property
    def cut(self) -> bool:
        """Whether the loop is open at the command."""
        return self.purpose.cut

    @property
    def step(self) -> float:
        """Step of the test [s]."""
        return self.test.timing.step

    @property
    def period(self) -> float:
        """Period of the rig's clock [s]."""
        return self.test.period

    @cached_property
    def axes(self) -> Axes:
        """The axes of the interface, or what a coupling works on in their place."""
        return self.test.interface if self.along is None else self.along

    @property
    def seed(self) -> int:
        """Of everything random in the rig."""
        return self.test.timing.seed

    @property
    def faultless(self) -> bool:
        """Whether sensors and converters are ideal here."""
        return self.purpose.quiet or self.purpose.ideal

    @property
    def unit(self) -> str:
        """Of commands, on axes that are displacements."""
        return "N" if self.test.commands == "force" else "m"

    @property
    def acts_as(self) -> ActsAs:
        """How the virtual substructure is excited; the same in a quiet loop."""
        given = self.test.excitation.virtual
        return "none" if given is None else given.acts_as

    @property
    def virtual_excitation(self) -> Excitation | None:
        """Of the virtual substructure; None in a quiet loop."""
        return None if self.quiet else self.test.excitation.virtual

    @property
    def specimen_excitation(self) -> Excitation | None:
        """Of the specimen; None in a quiet loop."""
        return None if self.quiet else self.test.excitation.specimen

    def channels(self, signal: str) -> tuple[str, ...]:
        """Channels of a signal of the interface as blocks count them, before they are named after its axes."""
        return numbered(signal, len(self.axes))


def numbered(signal: str, n: int) -> tuple[str, ...]:
    """Channels of a signal with n entries as blocks count them."""
    return Axes.numbered(n).channels(signal)
