"""What a part is told while a definition is read: the sections before its own, as far as they had no fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .axes import Axes

if TYPE_CHECKING:
    from ..definition.sections import Excitations, Timing
    from ..safety.slow_motion import Slow
    from .coupling import Coupling
    from .rig import Rig
    from .virtual import Virtual


@dataclass(frozen=True)
class Known:
    """The sections that are known.  None: not read yet, left out, or faulty, and then it has its own message."""

    named: tuple[str, ...] | None = None
    """The names that the definition gives the axes."""
    timing: Timing | None = None
    virtual: Virtual | None = None
    excitation: Excitations | None = None
    coupling: Coupling | None = None
    rig: Rig | None = None
    slow: Slow | None = None

    @classmethod
    def of(cls, sections: Mapping[str, Any], **more: Any) -> Known:
        """From the sections that pydantic has validated, and the one that is being validated."""
        names = ("timing", "virtual", "excitation", "coupling", "rig", "slow")
        found = {name: sections.get(name) for name in names}
        return cls(sections.get("axes"), **{**found, **more})

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
        return self.rig.interface(self.virtual, self.named)
