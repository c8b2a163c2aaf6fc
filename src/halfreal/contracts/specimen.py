"""Interface of a specimen, and further members of one that has matrices.

Contract for implementers
-------------------------
1. ``check_axes(axes, place)`` raises a fault unless it fits an interface of so many axes.
   ``check_rotations(axes)`` does so unless its rotations are those of the interface.
2. ``known`` is the specimen itself if it has matrices: for emulated systems, static stiffness and sizes of loop gains.
3. ``nonlinearities`` lists its nonlinear parts.
"""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np

from ..settings import Settings
from .axes import Axes
from .state_space import StateSpace
from .system import System


class RigSpecimen(Settings):
    """What a rig moves."""

    kind: str

    def check_axes(self, axes: int, place: str = "rig.specimen") -> None:
        """Raise a fault unless it fits an interface of so many axes."""

    def check_rotations(self, axes: Axes) -> None:
        """Raise a fault if it takes an axis for a rotation that is none, or a rotation for a displacement."""

    @property
    def known(self) -> KnownSpecimen | None:
        """The specimen itself, if it has matrices."""
        return None

    def impedance(self, axes: int, hz: np.ndarray) -> np.ndarray | None:
        """Its force per displacement of the interface at rest, (frequencies, axes, axes); None if it is not known."""
        if self.known is None:
            return None
        turn = 2j * np.pi * np.asarray(hz, dtype=float)[:, None, None] * np.eye(axes)
        moved = np.concatenate([np.ones_like(turn) * np.eye(axes), turn, turn @ turn], axis=1)
        return np.asarray(self.known.motion_to_force(axes).response(2.0 * np.pi * np.asarray(hz, dtype=float)) @ moved)

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        """What of it is nonlinear, for people, such as "a cubic element"; nothing if it is linear."""
        return ()


class KnownSpecimen(Protocol):
    """A specimen whose matrices are known."""

    def stiffness_at_rest(self, axes: int) -> np.ndarray:
        """Static stiffness at the interface, elements at their initial stiffness, (axes, axes)."""
        ...

    def matrices_at_rest(self, axes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """M, C, K between the axes of the interface, elements at their initial stiffness; None if it has degrees of
        freedom as well."""
        ...

    def motion_to_force(self, axes: int) -> StateSpace:
        """From displacements, velocities and accelerations of the interface to its forces, continuous, elements at
        their initial stiffness."""
        ...

    def fast_mass(self, axes: int) -> np.ndarray:
        """Its mass that is effective in a fast motion of the interface, (axes, axes)."""
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

    def felt_in_motion(self, axes: int) -> tuple[str, ...]:
        """What of it resists motion only, and is not felt in a slow test: "mass", "damping"."""
        ...
