"""The loops of a definition over one of its numbers, left to themselves."""

from __future__ import annotations

import numpy as np

from ...contracts.context import AT_REST
from ...definition.definition import Definition
from ...definition.paths import slot
from ...kernels.loop import Loop
from ...runs.build import build, ticks_alike
from ..uncertainty.variation import Variation
from .free_loop import free_loop


class Family:
    """A definition with one number varied, and the free loops of its variants."""

    def __init__(self, definition: Definition, place: str) -> None:
        self.definition, self.place = definition, place
        self.step = ticks_alike(definition, build(definition, AT_REST))
        self._variation = Variation(definition, [place])
        holder, key = slot(definition, definition.model_dump(mode="json", exclude={"uncertainty"}), place)
        self.whole = isinstance(holder[key], int)
        self._valid: list[float] = []
        self._rest: dict[int, np.ndarray] = {}

    def at(self, number: float) -> Definition:
        """The variant with this value; ``DefinitionError`` if it is not valid, unless it lies between two that are."""
        if self._valid and min(self._valid) <= number <= max(self._valid):
            return self._variation.unchecked([number])
        found = self._variation.at([number])
        self._valid.append(number)
        return found

    def loop_at(self, number: float) -> Loop:
        """Its free loop, at rest."""
        return free_loop(self.at(number))

    def rest(self, loop: Loop) -> np.ndarray:
        """Where such a loop rests at the beginning."""
        key = loop.vector.size
        if key not in self._rest:
            self._rest[key] = loop.vector.copy()
        return self._rest[key]
