"""What a specimen that has matrices says of itself: for emulated systems, static stiffness and sizes of loop gains."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np

from .system import System


class KnownSpecimen(Protocol):
    """A specimen whose matrices are known."""

    def stiffness_at_rest(self, axes: int) -> np.ndarray:
        """Static stiffness at the interface, elements at their initial stiffness, (axes, axes)."""
        ...

    def attached_to(self, virtual: System, axes: int) -> System:
        """The emulated system: a virtual part with this specimen joined rigidly to its first ``axes`` outputs."""
        ...

    def scaled(self, share: float) -> Self | None:
        """The specimen with this share of its mass, damping and stiffness; None if elements forbid it."""
        ...

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        """What of it is nonlinear, for people."""
        ...
