"""What becomes of free motion of a nonlinear loop, at the amplitudes that matter to a test: its limit cycles."""

from __future__ import annotations

from dataclasses import dataclass

from ...contracts.context import AT_REST
from ...definition.definition import Definition
from ...errors import HalfrealError
from ...runs.build import build
from ...runs.rehearse import Progress
from ..cycles.limit_cycles import expected_motion, limit_cycles
from ..cycles.periodic_motion import PeriodicMotion
from .nonlinear import scaled, tried

WHERE_STABLE, WHERE_UNSTABLE = (0.05, 100.0), (1e-3, 1e3)
"""Amplitudes that are searched, in those of the largest motion expected: from where it matters to where it does not."""
LARGE, WHERE_LARGE = 2000, 5.0
"""Numbers of a loop from which on fewer amplitudes are searched: up to so many times the amplitude margin required."""


@dataclass(frozen=True)
class FreeMotion:
    """Limit cycles, smallest first, and the largest motion that the test is expected to make [m or rad]."""

    cycles: tuple[PeriodicMotion, ...]
    expected: float
    searched_to: float
    """Amplitude up to which cycles were looked for [m or rad]."""
    untold: str = ""
    """Why there is no answer, if there is none."""
    persists: float | None = None
    """Amplitude of motion that neither grows nor decays, where no cycle was found [m or rad]."""

    @property
    def searched_less(self) -> bool:
        """Whether amplitudes were left out because the loop is large."""
        return self.searched_to < WHERE_STABLE[1] * self.expected

    @property
    def bounded(self) -> PeriodicMotion | None:
        """The smallest stable cycle: where motion that grows from rest ends."""
        return next((one for one in self.cycles if one.stable), None)

    @property
    def border(self) -> PeriodicMotion | None:
        """The smallest unstable cycle: beyond it motion grows."""
        return next((one for one in self.cycles if not one.stable), None)

    @property
    def ratio(self) -> float | None:
        """The border's amplitude over the largest motion expected; None if there is no border."""
        return None if self.border is None else self.border.amplitude / self.expected

    @property
    def beyond(self) -> PeriodicMotion | None:
        """The stable cycle that motion beyond the border ends on; None if it diverges."""
        border = self.border
        return next((one for one in self.cycles if border and one.stable and one.amplitude > border.amplitude), None)


def rehearsed_motion(definition: Definition) -> float:
    """The largest motion expected of a test that is stable at rest, from the rehearsal that it has had already."""
    run = tried(definition, 1.0) if scaled(definition, 1.0) is not None else None
    if run is None or not run.peaks:
        return expected_motion(definition)
    largest = max(float(one[len(definition.interface.commanded) :].max()) for one in run.peaks)
    return largest if largest > 0.0 else expected_motion(definition)


def free_motion(definition: Definition, stable_at_rest: bool, on_progress: Progress | None = None) -> FreeMotion:
    """Look for the limit cycles of a definition's loop."""
    expected = rehearsed_motion(definition) if stable_at_rest else expected_motion(definition)
    lowest, highest = WHERE_STABLE if stable_at_rest else WHERE_UNSTABLE
    if stable_at_rest and build(definition, AT_REST).vector.size >= LARGE:
        highest = min(highest, WHERE_LARGE * max(1.0, definition.acceptance.least("amplitude_margin")))
    try:
        found = limit_cycles(definition, expected=expected, lowest=lowest, highest=highest, on_progress=on_progress)
    except HalfrealError as error:
        return FreeMotion((), expected, highest * expected, str(error), getattr(error, "persists", None))
    return FreeMotion(found, expected, highest * expected)
