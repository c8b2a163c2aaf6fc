"""The specimen of a simulated rig: the force that resists a motion of the interface.

    f = M x¨ + C x˙ + K x + Σ_e b_e r_e(b_eᵀx) − b e(t)

x is the interface displacement (n axes), r_e the nonlinear elements, e(t) an excitation force that acts on the specimen
itself along b.  f is positive when it resists a positive displacement.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ..kernels.block import Block, channels, names
from ..kernels.linear import multiply_add, stored
from ..kernels.restoring import add_restoring, commit
from ..models.structures.restoring import Element, assemble
from ..settings import Matrix, Settings, fault

EXCITATION = "excitation.specimen"


def specimen_inputs(n: int) -> tuple[str, ...]:
    motion = (*channels("rig.displacement", "m", n), *channels("rig.velocity", "m/s", n))
    return (*names(motion), *names(channels("rig.acceleration", "m/s^2", n)), EXCITATION)


def specimen_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    n = y.size
    for i in range(n):
        s.trial[i] = u[i]
        y[i] = -p.excited[i] * u[3 * n]
    multiply_add(p.stiffness, u[:n], y)
    multiply_add(p.damping, u[n : 2 * n], y)
    multiply_add(p.mass, u[2 * n : 3 * n], y)
    add_restoring(p.law, p.direction, p.elements, s.z, s.before, s.trial, p.direction, 1.0, y)
    commit(p.law, p.direction, p.elements, s.z, s.before, s.trial)
    for i in range(n):
        s.before[i] = u[i]
    return 0


class Specimen(Settings):
    """Mass, damping and stiffness between the interface axes, and nonlinear elements; what is left out is zero."""

    kind: Literal["specimen"] = "specimen"
    stiffness: Annotated[np.ndarray, Matrix("N/m", symmetric=True)] | None = None
    damping: Annotated[np.ndarray, Matrix("N s/m")] | None = None
    mass: Annotated[np.ndarray, Matrix("kg", symmetric=True, definite="semi")] | None = None
    elements: tuple[Element, ...] = ()
    excited_axis: Annotated[int, Field(ge=1)] = 1

    @field_validator("damping", "mass")
    @classmethod
    def _same_shape(cls, matrix: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        stiffness = info.data.get("stiffness")
        if matrix is not None and stiffness is not None and matrix.shape != stiffness.shape:
            raise fault(
                f"a {matrix.shape[0]}×{matrix.shape[1]} matrix beside a {stiffness.shape[0]}×{stiffness.shape[1]} "
                "stiffness; give every matrix one row for each interface axis"
            )
        return matrix

    def axes(self) -> int | None:
        """Number of interface axes as the matrices say it; None if there are none."""
        given = [m for m in (self.stiffness, self.damping, self.mass) if m is not None]
        return len(given[0]) if given else None

    def matrices(self, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """M, C, K, (n, n) each."""
        none = np.zeros((n, n))
        return tuple(none if m is None else m for m in (self.mass, self.damping, self.stiffness))  # type: ignore[return-value]

    def block(self, n: int, x0: np.ndarray, dt: float) -> Block:
        mass, damping, stiffness = self.matrices(n)
        elements = assemble(self.elements, n)
        forces, z = elements.loaded(x0)
        excited = np.zeros(n)
        excited[self.excited_axis - 1] = 1.0
        return Block(
            name="specimen",
            step=specimen_step,
            inputs=specimen_inputs(n),
            outputs=channels("rig.force", "N", n),
            parameters={
                "stiffness": stored(stiffness),
                "damping": stored(damping),
                "mass": stored(mass),
                "law": elements.law,
                "direction": elements.direction,
                "elements": elements.parameters,
                "excited": excited,
            },
            state={"z": z, "before": np.array(x0, dtype=float), "trial": np.zeros(n)},
            frozen=("z", "trial"),
            memory=("z",),
            initial=tuple(stiffness @ x0 + forces @ elements.direction),
            references=tuple(key for element in self.elements for key in element.law.references),
        )
