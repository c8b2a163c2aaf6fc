"""Contact at the end of a gap: elastic, one-sided, without memory.

    gap     F = k (x + g) where x < −g, else 0        it resists closing, as a stop or a pounding neighbour does
    hook    F = k (x − g) where x > g, else 0         it resists opening, as a cable or an anchor does

With g = 0 the one is a spring that bears compression only, the other one that bears tension only.  At rest such a law
has two slopes, k and zero; k is given as its initial one.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ...kernels.compile import kernel
from ...settings import Number
from .law import Law

GAP = 13.0


@kernel
def gap(p, strain):  # type: ignore[no-untyped-def]
    """p = (k, lower end, upper end): nothing between the ends."""
    if strain < p[1]:
        return p[0] * (strain - p[1]), p[0]
    if strain > p[2]:
        return p[0] * (strain - p[2]), p[0]
    return 0.0, 0.0


class _OneSided(Law):
    code = GAP
    stiffness: Annotated[float, Number("N/m", above=0)]
    """k, stiffness in contact."""
    gap: Annotated[float, Number("m", least=0)] = 0.0
    """g, distance that is moved before contact."""

    @property
    def initial_stiffness(self) -> float:
        return self.stiffness if self.gap == 0.0 else 0.0


class Gap(_OneSided):
    """Elastic contact that resists closing beyond a gap: compression only."""

    kind: Literal["gap"] = "gap"

    def values(self) -> tuple[float, ...]:
        return self.stiffness, -self.gap, np.inf


class Hook(_OneSided):
    """Elastic contact that resists opening beyond a gap: tension only."""

    kind: Literal["hook"] = "hook"

    def values(self) -> tuple[float, ...]:
        return self.stiffness, -np.inf, self.gap
