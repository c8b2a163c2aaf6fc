"""A definition with some of its numbers varied, and how fast the loop of each variant grows or decays.

Every variant is validated like a definition from a file.  Where many are made within ranges (``Variation.expect``),
ends of the ranges and points between them are validated instead, and must be what replacing the numbers alone gives;
then the others are made in that way, in a thirtieth of the time.  The ends are taken together so that of any three
numbers every combination occurs (a Hadamard matrix and its mirror image): what bounds single numbers, or compares up to
three, cannot fail between them unnoticed unless it allows both ends and not what lies between, and for that there are
the points inside.  If one of all these is refused, every variant is validated.

A variant's growth rate ln|λ|/Δt is that of the code that runs, linearised at rest; the loop is stable where it is
negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...definition.definition import Definition
from ...definition.faults import DefinitionError
from ...definition.load import from_json
from ...definition.paths import keys_of, slot
from ...runs.loop_stability import linearised
from ...settings import Settings

INSIDE = 4
"""Points inside of the ranges that are validated."""


class Variation:
    """The variants of a definition in the numbers at some places; their stated uncertainty is left out."""

    def __init__(self, definition: Definition, places: Sequence[str]) -> None:
        self.places = tuple(places)
        self._data: dict[str, Any] = definition.model_dump(mode="json", exclude={"uncertainty"})
        self._slots = [slot(definition, self._data, place) for place in self.places]
        self._keys = [keys_of(place) for place in self.places]
        self._definition = definition.unchecked_copy({"uncertainty": {}})
        self._validated: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def whole(self) -> tuple[bool, ...]:
        """Which of the numbers are whole ones."""
        return tuple(isinstance(holder[key], int) for holder, key in self._slots)

    def expect(self, low: Sequence[float] | np.ndarray, high: Sequence[float] | np.ndarray) -> bool:
        """Have variants between these values made without validating each of them, if that changes nothing."""
        ends = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        self._validated = None
        try:
            well = all(self.at(row) == self.unchecked(row) for row in _tried(*ends))
        except DefinitionError:
            well = False
        self._validated = ends if well else None
        return well

    def at(self, values: Sequence[float] | np.ndarray) -> Definition:
        """The variant with these values [SI]; ``DefinitionError`` if it is not a valid definition."""
        if self._validated is not None:
            given, (low, high) = np.asarray(values, dtype=float), self._validated
            if np.all((given >= low) & (given <= high)):
                return self.unchecked(values)
        for (holder, key), value in zip(self._slots, values, strict=True):
            holder[key] = round(value) if isinstance(holder[key], int) else float(value)
        return from_json(Definition, self._data, "with the values given:")

    def unchecked(self, values: Sequence[float] | np.ndarray) -> Definition:
        """The variant with these values, not validated: for many between some that were."""
        changed: Definition = _replaced(self._definition, list(zip(self._keys, values, strict=True)))
        return changed

    def growth(self, values: Sequence[float] | np.ndarray) -> float:
        """Growth rate [1/s] of the variant's loop."""
        return growth_rate(self.at(values))


def growth_rate(definition: Definition) -> float:
    """ln(spectral radius)/Δt [1/s] of the loop that runs, linearised at rest; −∞ if it forgets everything."""
    radius = linearised(definition).spectral_radius
    return math.log(radius) / definition.timing.step if radius > 0.0 else -math.inf


def _tried(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Values to be validated for a range: ends of it together, and points inside, a row each."""
    from scipy.linalg import hadamard
    from scipy.stats import qmc

    n = low.size
    ends = hadamard(1 << max(n - 1, 0).bit_length())[:, :n]
    inside = qmc.LatinHypercube(n, seed=1).random(INSIDE)
    return np.asarray(low + np.vstack([0.5 + 0.5 * ends, 0.5 - 0.5 * ends, inside]) * (high - low))


def _replaced(part: Any, changes: list[tuple[list[Any], float]]) -> Any:
    """A copy of a part in which the numbers that keys lead to are others; each section of it is copied once."""
    if isinstance(part, np.ndarray):
        array = part.copy()
        for keys, value in changes:
            array[tuple(keys) or ...] = value
        return array
    keys, value = changes[-1]
    if not keys and isinstance(part, tuple):  # a list of one number
        return (_replaced(part[0], changes),)
    if not keys:
        return round(value) if isinstance(part, int) else float(value)
    below = dict[Any, list[tuple[list[Any], float]]]()
    for keys, value in changes:
        below.setdefault(keys[0], []).append((keys[1:], value))
    if isinstance(part, Settings):
        return part.unchecked_copy({key: _replaced(getattr(part, key), some) for key, some in below.items()})
    if isinstance(part, tuple):
        return tuple(_replaced(one, below[at]) if at in below else one for at, one in enumerate(part))
    return {**part, **{key: _replaced(part[key], some) for key, some in below.items()}}
