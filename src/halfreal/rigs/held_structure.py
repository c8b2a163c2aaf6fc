"""A specimen that is a structure with degrees of freedom of its own, held at one of them by the rig.

    M q¨ + C q˙ + K q = b e(t) + B F,      d = Bᵀq,      f = F

e(t) is an excitation that acts on the specimen itself, spread over it by b (wind, gusts, a hammer); F is the force with
which the rig moves the interface, and so the force f with which the specimen resists it.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ..contracts.specimen import RigSpecimen
from ..models.structures.damping import Rayleigh
from ..settings import Matrix, Vector, fault


class HeldStructure(RigSpecimen):
    """A linear structure by its matrices; the interface is one of its degrees of freedom, counted from 1."""

    kind: Literal["held structure"] = "held structure"
    mass: Annotated[np.ndarray, Matrix("kg", symmetric=True, definite="semi")]
    stiffness: Annotated[np.ndarray, Matrix("N/m", symmetric=True, definite="semi")]
    damping: Annotated[np.ndarray, Matrix("N s/m")] | None = None
    rayleigh: Rayleigh | None = None
    interface: Annotated[int, Field(ge=1)] = 1
    excited: Annotated[np.ndarray, Vector("1")] | None = None
    """Distribution of the excitation over the degrees of freedom; default: at the interface."""

    @field_validator("stiffness", "damping", "excited")
    @classmethod
    def _fits(cls, array: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        mass = info.data.get("mass")
        if array is not None and mass is not None and len(array) != len(mass):
            raise fault(f"{len(array)} row(s), but the mass matrix is {len(mass)} × {len(mass)}; give {len(mass)}")
        return array

    @field_validator("rayleigh")
    @classmethod
    def _one_way_of_damping(cls, rayleigh: Rayleigh | None, info: ValidationInfo) -> Rayleigh | None:
        if rayleigh is not None and info.data.get("damping") is not None:
            raise fault("both rayleigh and damping are given; keep one kind of damping")
        return rayleigh

    @field_validator("interface")
    @classmethod
    def _within_range(cls, interface: int, info: ValidationInfo) -> int:
        mass = info.data.get("mass")
        if mass is not None and interface > len(mass):
            raise fault(f"degree of freedom {interface} where the mass matrix has {len(mass)}; count from 1")
        return interface

    @property
    def dofs(self) -> int:
        return len(self.mass)

    def damping_matrix(self) -> np.ndarray:
        if self.damping is not None:
            return self.damping
        if self.rayleigh is not None:
            return self.rayleigh.matrix(self.mass, self.stiffness)
        return np.zeros_like(self.mass)

    def held_at(self) -> np.ndarray:
        """B, (dofs,)."""
        return np.asarray(np.eye(self.dofs)[self.interface - 1])

    def pushed_at(self) -> np.ndarray:
        """b, (dofs,)."""
        return self.held_at() if self.excited is None else self.excited

    def impedance(self, axes: int, hz: np.ndarray) -> np.ndarray:
        omega = 2.0 * np.pi * np.asarray(hz, dtype=float)[:, None, None]
        dynamic = self.stiffness + 1j * omega * self.damping_matrix() - omega**2 * self.mass
        at = self.held_at()[:, None]
        others = np.eye(self.dofs)[:, at[:, 0] == 0.0]
        free = np.linalg.solve(others.T @ dynamic @ others, others.T @ dynamic @ at)
        return np.asarray(at.T @ dynamic @ at - at.T @ dynamic @ others @ free)

    def natural_frequencies_hz(self, *, held: bool) -> np.ndarray:
        """Undamped, with the interface held or free; the specimen must have mass at all that moves."""
        import scipy.linalg

        kept = [i for i in range(self.dofs) if not (held and i == self.interface - 1)]
        part = np.ix_(kept, kept)
        squares = scipy.linalg.eigh(self.stiffness[part], self.mass[part], eigvals_only=True)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)) / (2 * np.pi))
