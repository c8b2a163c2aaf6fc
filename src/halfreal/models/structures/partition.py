"""A virtual substructure that is what remains of a whole structure when the specimen is taken out of it:

    (M − B M_s Bᵀ) q¨ + (C − B C_s Bᵀ) q˙ + (K − B K_s Bᵀ) q = −M ι a_g + other excitation − B f

M, C, K are those of the whole structure (``mass``, ``stiffness`` and one way of damping: modal ratios are those of the
whole), B selects the interface and M_s, C_s, K_s are taken out there (``removed``).  The ground shakes the whole mass,
also that of a specimen that stands still in the laboratory: with f measured on a fixed base, whole structure and
hybrid test then agree.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ...contracts.quantities import ActsAs
from ...contracts.system import System
from ...settings import Matrix, Settings, fault
from .structure import Structure


class Removed(Settings):
    """Mass, damping and stiffness between the interface axes that the virtual part does not have."""

    stiffness: Annotated[np.ndarray, Matrix("N/m", symmetric=True)] | None = None
    damping: Annotated[np.ndarray, Matrix("N s/m")] | None = None
    mass: Annotated[np.ndarray, Matrix("kg", symmetric=True, definite="semi")] | None = None


class Partition(Structure):
    """A whole structure without the part that is tested."""

    kind: Literal["partition"]  # type: ignore[assignment]
    removed: Annotated[Removed, Field(validate_default=True)]

    @field_validator("removed")
    @classmethod
    def _leaves_mass(cls, removed: Removed, info: ValidationInfo) -> Removed:
        mass, interface = info.data.get("mass"), info.data.get("interface")
        if mass is None or interface is None:
            return removed
        n = len(interface)
        for key in ("mass", "damping", "stiffness"):
            matrix = getattr(removed, key)
            if matrix is not None and matrix.shape != (n, n):
                raise fault(
                    f"a {matrix.shape[0]} × {matrix.shape[1]} matrix where the interface has {n} axis(es); give one "
                    "row and one column for each",
                    key,
                )
        if removed.mass is not None:
            at = np.ix_([dof - 1 for dof in interface], [dof - 1 for dof in interface])
            left = np.array(mass)
            left[at] -= removed.mass
            if np.linalg.eigvalsh(left).min() <= 0.0:
                raise fault("more mass is taken out than the structure has there; take out less", "mass")
        return removed

    def system(self, excitation: ActsAs) -> System:
        whole = super().system(excitation)
        interface = whole.displacement_outputs[: self.axes].T

        def without(matrix: np.ndarray, taken: np.ndarray | None) -> np.ndarray:
            return matrix if taken is None else matrix - interface @ taken @ interface.T

        return replace(
            whole,
            mass=without(whole.mass, self.removed.mass),
            damping=without(whole.damping, self.removed.damping),
            stiffness=without(whole.stiffness, self.removed.stiffness),
        )
