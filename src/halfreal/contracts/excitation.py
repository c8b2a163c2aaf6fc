"""What an excitation must say of itself.

Contract for implementers
-------------------------
1. ``quantity`` is what it gives: "displacement" of the support, "force" on a degree of freedom, "acceleration" of the
   ground; ``acts_as`` follows from it.
2. ``block(name, shift)`` gives a block without inputs that writes the channels ``name`` and ``name.rate``: value and
   rate at the tick's time plus ``shift``.  Before time 0 both are zero.
3. What else it knows of itself it may say: the band it excites (``band``), the frequencies it stays at, one after
   another (``dwells``), the harmonics it consists of (``harmonics``).  None stands for what is not known; couplings and
   checks then go without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..kernels.block import Block
from ..settings import Settings
from .quantities import ActsAs

Quantity = Literal["displacement", "force", "acceleration"]
ACTS_AS: dict[str, ActsAs] = {"displacement": "support", "force": "force", "acceleration": "ground"}


@dataclass(frozen=True)
class Dwells:
    """Frequencies [Hz] that an excitation stays at, one after another, each for ``dwell`` [s]."""

    frequencies: tuple[float, ...]
    dwell: float | None = None


class Excitation(Settings):
    """Drives the virtual substructure or the specimen."""

    kind: str

    @property
    def quantity(self) -> str:
        raise NotImplementedError

    @property
    def acts_as(self) -> ActsAs:
        return ACTS_AS[self.quantity]

    def block(self, name: str, shift: float = 0.0) -> Block:
        """Block ``name``, which writes the channels ``name`` and ``name.rate``."""
        raise NotImplementedError

    @property
    def highest_frequency(self) -> float | None:
        """The highest frequency that it excites [Hz]; None if not known, or without bound."""
        return None

    @property
    def dwells(self) -> Dwells | None:
        """The frequencies it stays at, if it has one at a time."""
        return None

    def harmonics(self, step: float) -> np.ndarray | None:
        """The frequencies it consists of [Hz], as far as a loop of this step carries them; None if it is not so."""
        return None
