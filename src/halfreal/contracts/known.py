"""What a part receives while a definition is read: the sections before its own, as far as they had no fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .axes import Axes

if TYPE_CHECKING:
    from ..definition.sections import Excitations, Timing
    from ..rigs.kinematics import Kinematics
    from ..safety.slow_motion import Slow
    from .coupling import Coupling
    from .rig import Rig
    from .virtual import Virtual


@dataclass(frozen=True)
class Known:
    """The sections that are known.  None: not read yet, left out, or faulty, and then it has its own message."""

    named: tuple[str, ...] | None = None
    """The names that the definition gives the axes."""
    passive: tuple[str, ...] = ()
    timing: Timing | None = None
    virtual: Virtual | None = None
    excitation: Excitations | None = None
    kinematics: Kinematics | None = None
    coupling: Coupling | None = None
    rig: Rig | None = None
    slow: Slow | None = None

    @classmethod
    def of(cls, sections: Mapping[str, Any], **more: Any) -> Known:
        """From the sections that pydantic has validated, and the one that is being validated."""
        names = ("timing", "virtual", "excitation", "kinematics", "coupling", "rig", "slow")
        found = {name: sections.get(name) for name in names}
        return cls(sections.get("axes"), sections.get("passive") or (), **{**found, **more})

    @property
    def step(self) -> float | None:
        """Step of the test [s]."""
        return None if self.timing is None else self.timing.step

    @property
    def period(self) -> float | None:
        """Period of the rig's clock [s]: the test's step, unless the test is slow."""
        return self.step if self.slow is None else self.slow.period

    @property
    def axes(self) -> Axes | None:
        """The axes of the interface, once virtual substructure and rig are known."""
        if self.virtual is None or self.rig is None:
            return None
        return interface(self.rig, self.virtual, self.named, self.passive, self.kinematics)

    @property
    def coupled(self) -> int | None:
        """On how many axes or actuators the coupling works."""
        if self.virtual is None:
            return None
        if self.kinematics is not None and self.kinematics.coupling_in == "actuators":
            return len(self.kinematics.actuators)
        return self.virtual.axes - len(self.passive)


def interface(
    rig: Rig,
    virtual: Virtual,
    named: tuple[str, ...] | None,
    passive: tuple[str, ...] = (),
    kinematics: Kinematics | None = None,
) -> Axes:
    """The axes of an interface, with those that are not commanded, and what moves the others."""
    moved_by, axes = None if kinematics is None else kinematics.actuators, rig.interface(virtual, named)
    return axes if (passive, moved_by) == ((), None) else replace(axes, passive=passive, moved_by=moved_by)
