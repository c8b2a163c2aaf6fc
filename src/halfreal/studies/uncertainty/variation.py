"""A definition with some of its numbers varied, and how fast the loop of each variant grows or decays.

Every variant is validated like a definition from a file.  Its growth rate ln|λ|/Δt is that of the code that runs,
linearised at rest; the loop is stable where it is negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...definition.definition import Definition
from ...definition.load import from_json
from ...definition.paths import keys_of, slot
from ...runs.loop_stability import linearised
from ...settings import Settings


class Variation:
    """The variants of a definition in the numbers at some places; what it says of their uncertainty is left out."""

    def __init__(self, definition: Definition, places: Sequence[str]) -> None:
        self.places = tuple(places)
        self._data: dict[str, Any] = definition.model_dump(mode="json", exclude={"uncertainty"})
        self._slots = [slot(definition, self._data, place) for place in self.places]
        self._definition = definition

    @property
    def whole(self) -> tuple[bool, ...]:
        """Which of the numbers are whole ones."""
        return tuple(isinstance(holder[key], int) for holder, key in self._slots)

    def at(self, values: Sequence[float] | np.ndarray) -> Definition:
        """The variant with these values [SI]; ``DefinitionError`` if it is not a valid definition."""
        for (holder, key), value in zip(self._slots, values, strict=True):
            holder[key] = round(value) if isinstance(holder[key], int) else float(value)
        return from_json(Definition, self._data, "with the values given:")

    def unchecked(self, values: Sequence[float] | np.ndarray) -> Definition:
        """The variant with these values, not validated: for many between some that were."""
        changed = self._definition
        for place, value in zip(self.places, values, strict=True):
            changed = _replaced(changed, keys_of(place), value)
        return changed

    def growth(self, values: Sequence[float] | np.ndarray) -> float:
        """Growth rate [1/s] of the variant's loop."""
        return growth_rate(self.at(values))


def growth_rate(definition: Definition) -> float:
    """ln(spectral radius)/Δt [1/s] of the loop that runs, linearised at rest; −∞ if it forgets everything."""
    radius = linearised(definition).spectral_radius
    return math.log(radius) / definition.timing.step if radius > 0.0 else -math.inf


def _replaced(part: Any, keys: list[Any], value: float) -> Any:
    """A copy of a part in which the number that the keys lead to is another."""
    if isinstance(part, np.ndarray):
        array = part.copy()
        array[tuple(keys) or ...] = value
        return array
    if not keys and isinstance(part, tuple):  # a list of one number
        return (_replaced(part[0], [], value),)
    if not keys:
        return round(value) if isinstance(part, int) else float(value)
    key, rest = keys[0], keys[1:]
    if isinstance(part, Settings):
        return part.unchecked_copy({key: _replaced(getattr(part, key), rest, value)})
    if isinstance(part, tuple):
        return (*part[:key], _replaced(part[key], rest, value), *part[key + 1 :])
    return {**part, key: _replaced(part[key], rest, value)}
