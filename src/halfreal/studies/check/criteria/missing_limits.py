"""Limits without which nothing but the rig itself bounds how it is commanded."""

from __future__ import annotations

from collections.abc import Iterable

from ....contracts.finding import Finding, warning
from ....contracts.quantities import UNLIMITED
from ....safety.watched import COMMAND, COMMAND_RATE
from ..examined import Examined


def missing_limits(examined: Examined) -> Iterable[Finding]:
    """A warning where a test on a rig has no limit on the command or on its rate."""
    definition = examined.definition
    if definition.link is None:
        return
    watched = definition.limits.watched(definition.interface, definition.commands)
    names = [one.key for one in (watched[COMMAND], watched[COMMAND_RATE]) if (one.trip == UNLIMITED).any()]
    if names:
        missing = " and ".join(f"limits.{name}.trip" for name in names)
        yield warning(f"without {missing} only the rig's own limits bound its commands; set the limits of the rig")
