"""Which poles stay as the order of a model rises: the stabilisation diagram of ``lscf``.

A pole of the structure comes again at every order; one of noise is unstable, or wanders.  How far the poles of the
highest orders are spread shows nothing of how well a pole is determined: they are all of the same noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

NEAR = 0.02
"""Part of its frequency within which a pole of another order counts as the same, if it is the nearest."""
LAST = 10
"""Of the highest orders, so many are looked at."""


@dataclass(frozen=True)
class Stabilisation:
    """Stable poles s [1/s] of the upper half plane within the band, of one order after another."""

    orders: tuple[int, ...]
    poles: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, candidates: Sequence[np.ndarray]) -> Stabilisation:
        """Of the poles from which ``lscf`` chooses."""
        return cls(tuple(range(1, len(candidates) + 1)), tuple(candidates))

    def same(self, pole: complex) -> list[complex | None]:
        """What each order has of a pole, None where it has none."""
        found: list[complex | None] = []
        for poles in self.poles:
            k = int(np.argmin(np.abs(poles - pole))) if poles.size else -1
            near = k >= 0 and abs(abs(poles[k]) - abs(pole)) <= NEAR * abs(pole)
            found.append(complex(poles[k]) if near else None)
        return found

    def share(self, pole: complex) -> float:
        """Of the highest orders, how many have a pole."""
        last = self.same(pole)[-LAST:]
        return sum(one is not None for one in last) / len(last)
