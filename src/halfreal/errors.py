"""Errors that a user can correct: each states the value, the limit and the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

MOST_SHOWN = 50
"""Faults of a definition that its error lists."""


class HalfrealError(ValueError):
    """Something is wrong with what halfreal was given, not with halfreal."""


@dataclass(frozen=True)
class Fault:
    """One fault: where it is (``test.toml:14``, or empty), its key path, and what to do about it."""

    place: str
    path: str
    message: str
    code: str = field(default="", compare=False)
    """Name of the rule that the value violates, such as ``greater_than``; empty if it has none."""

    def __str__(self) -> str:
        text = f"{self.path}: {self.message}" if self.path else self.message
        if self.place.endswith(":"):  # a text, not a line
            return f"{self.place} {text}"
        return f"{self.place}  {text}" if self.place else text


class DefinitionError(HalfrealError):
    """A test definition that cannot be used; ``faults`` holds everything that is wrong with it."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = list(faults)
        super().__init__(self.faults)

    def __str__(self) -> str:
        lines, left = list(map(str, self.faults[:MOST_SHOWN])), len(self.faults) - MOST_SHOWN
        return "\n".join([*lines, f"and {left} more; correct these first"] if left > 0 else lines)
