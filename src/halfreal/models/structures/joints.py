"""Joints: springs, dampers and masses at the degrees of freedom of substructures.

    f_b = k (u_b − u_a) + c (u˙_b − u˙_a),   f_a = −f_b                    between a and b
    f_a = k u_a + c u˙_a + m u¨_a                                          from a to ground

u is a displacement or a rotation, with k, c, m in N/m, N s/m, kg or in N m/rad, N m s/rad, kg m².
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ...settings import Number, Settings, fault
from .substructure import Substructure, couple


def spring(stiffness: float, damping: float, *between: str) -> Substructure:
    """A spring and a damper side by side: between two degrees of freedom, or from one to ground."""
    if len(between) not in (1, 2) or len(set(between)) < len(between):
        raise ValueError(
            f"a spring between {list(between)}; name two degrees of freedom, or one for a spring to ground"
        )
    b = np.array([[1.0], [-1.0]])[: len(between)]
    shape = b @ b.T
    return Substructure(between, 0.0 * shape, damping * shape, stiffness * shape)


def point_mass(mass: float, dof: str) -> Substructure:
    """A mass, or a moment of inertia, at one degree of freedom."""
    return Substructure((dof,), np.array([[mass]]), np.zeros((1, 1)), np.zeros((1, 1)))


class Joint(Settings):
    """A joint at a node of a beam, to another node or to ground; what is left out is zero.

    Masses sit at ``node``.
    """

    node: Annotated[int, Field(ge=1)]
    to: Annotated[int, Field(ge=1)] | None = None
    stiffness: Annotated[float, Number("N/m")] = 0.0
    damping: Annotated[float, Number("N s/m", least=0)] = 0.0
    mass: Annotated[float, Number("kg", least=0)] = 0.0
    rotational_stiffness: Annotated[float, Number("N m/rad")] = 0.0
    rotational_damping: Annotated[float, Number("N m s/rad", least=0)] = 0.0
    rotational_inertia: Annotated[float, Number("kg m^2", least=0)] = 0.0

    @field_validator("to")
    @classmethod
    def _elsewhere(cls, to: int | None, info: ValidationInfo) -> int | None:
        if to is not None and to == info.data.get("node"):
            raise fault(f"the joint leads from node {to} to itself; name another node, or omit 'to' for ground")
        return to

    def part(self, name: str) -> Substructure:
        """The joint at the nodes of the beam ``name``."""
        nodes = (self.node,) if self.to is None else (self.node, self.to)
        w, phi = ([f"{name}.{node}.{direction}" for node in nodes] for direction in ("w", "phi"))
        return couple(
            spring(self.stiffness, self.damping, *w),
            spring(self.rotational_stiffness, self.rotational_damping, *phi),
            point_mass(self.mass, w[0]),
            point_mass(self.rotational_inertia, phi[0]),
        )
