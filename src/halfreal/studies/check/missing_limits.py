"""Limits without which nothing but the rig itself bounds how it is commanded."""

from __future__ import annotations

from ...definition.definition import Definition
from ...safety.limits import UNLIMITED


def missing_limits(definition: Definition) -> list[str]:
    """A warning where a test on a rig has no limit on the command or on its rate."""
    if definition.link is None:
        return []
    watched = definition.limits.watched(definition.interface, definition.commands)
    key = "drive" if definition.commands == "force" else "command"
    names = [name for name, one in zip((key, f"{key}_rate"), watched, strict=False) if (one.trip == UNLIMITED).any()]
    if not names:
        return []
    missing = " and ".join(f"limits.{name}.trip" for name in names)
    return [f"warning: without {missing} only the rig's own limits bound its commands; set what the rig may do"]
