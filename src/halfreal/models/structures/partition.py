"""A virtual substructure that is what remains of a whole structure when the specimen is taken out of it:

    (M − B M_s Bᵀ) q¨ + (C − B C_s Bᵀ) q˙ + (K − B K_s Bᵀ) q = −M_g ι a_g + other excitation − B f

M, C, K are those of the whole structure (``mass``, ``stiffness`` and one way of damping: modal ratios are those of the
whole), B selects the interface and M_s, C_s, K_s are taken out there (``removed``).  What the ground acceleration a_g
does to the removed mass must be felt once, and ``removed.ground_load_on`` says where:

"virtual"     M_g = M: the specimen is at rest in the laboratory, not on moving ground; its load −M_s ι a_g is
              put on the virtual part.  With f measured on a fixed base, whole structure and hybrid test agree.
"specimen"    M_g = M − B M_s Bᵀ: the specimen is shaken itself, by a table or an excitation of its own, and f contains
              its load M_s ι a_g.
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

ROUNDING = 1e-12
"""Part of a mass, damping or stiffness that may be left where all of it is taken out."""


class Removed(Settings):
    """Mass, damping and stiffness between the interface axes that the virtual part does not have."""

    stiffness: Annotated[np.ndarray, Matrix("N/m", symmetric=True)] | None = None
    damping: Annotated[np.ndarray, Matrix("N s/m")] | None = None
    mass: Annotated[np.ndarray, Matrix("kg", symmetric=True, definite="semi")] | None = None
    ground_load_on: Literal["virtual", "specimen"] = "virtual"
    """Where the inertia force of the removed mass under ground acceleration acts: on the virtual part (specimen
    fixed in the laboratory), or on the specimen (shaken in the laboratory).
    """


class Partition(Structure):
    """A whole structure without the part that is tested."""

    kind: Literal["partition"] = "partition"  # type: ignore[assignment]
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
            size = np.abs(mass).max()
            if np.linalg.eigvalsh(left / size).min() < -ROUNDING:
                raise fault("more mass is removed than the structure has there; remove less", "mass")
            if np.diag(left).max() <= ROUNDING * size:
                raise fault("all mass is removed, and none is left for the virtual part; remove less", "mass")
        return removed

    def system(self, excitation: ActsAs) -> System:
        whole = super().system(excitation)
        interface = whole.displacement_outputs[: self.axes].T
        inputs = whole.inputs
        if excitation == "ground" and self.removed.ground_load_on == "specimen" and self.removed.mass is not None:
            inputs = inputs.copy()
            inputs[:, 0] += interface @ self.removed.mass @ interface.T @ self.influence

        def without(matrix: np.ndarray, taken: np.ndarray | None) -> np.ndarray:
            if taken is None:
                return matrix
            left = matrix - interface @ taken @ interface.T
            left[np.abs(left) <= ROUNDING * np.abs(matrix)] = 0.0  # all of it, as 0.3 − 0.1 − 0.2
            return np.asarray(left)

        return replace(
            whole,
            mass=without(whole.mass, self.removed.mass),
            damping=without(whole.damping, self.removed.damping),
            stiffness=without(whole.stiffness, self.removed.stiffness),
            inputs=inputs,
        )
