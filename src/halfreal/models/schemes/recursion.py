"""A scheme of a linear system as what it is, a linear recursion; and that in parts which do not act on each other.

    x_k = A x_{k−1} + E u_{k−1} + L u_k,    y_k = C x_k + D u_k,        first tick:  x_0 = x(0) + S u_0

Every scheme of a linear structure has this form, with x = (q, v) or (q, v, a).  Its matrices are those of the scheme's
own equations, formed for a whole structure (one part of n degrees of freedom), or for n modes at once (n parts of one):
all of them are stacks, with the parts along the first axis.

====== =========================================================
x      state of the scheme: q, v and, if it carries it on, a
u, y   inputs and outputs of the block
A      transition over a step, one matrix for each part
E, L   weights of the inputs at the step's beginning and end
S      what the first inputs add to the state at the start
====== =========================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contracts.system import System
from ...kernels.block import Jacobian


@dataclass(frozen=True)
class Stack:
    """Parts of a linear structure that do not act on each other, each with its matrices; masses are regular."""

    mass: np.ndarray
    """(parts, n, n), as damping and stiffness."""
    damping: np.ndarray
    stiffness: np.ndarray
    inputs: np.ndarray
    """(parts, n, nu)."""
    displacement_outputs: np.ndarray
    """(parts, ny, n), as those below."""
    velocity_outputs: np.ndarray
    acceleration_outputs: np.ndarray
    direct: np.ndarray
    """(ny, nu)."""
    displacement: np.ndarray
    """At the start, (parts, n)."""
    velocity: np.ndarray

    @classmethod
    def of(cls, system: System) -> Stack:
        """A whole system as one part."""
        return cls(
            mass=system.mass[None],
            damping=system.damping[None],
            stiffness=system.stiffness[None],
            inputs=system.inputs[None],
            displacement_outputs=system.displacement_outputs[None],
            velocity_outputs=system.velocity_outputs[None],
            acceleration_outputs=system.acceleration_outputs[None],
            direct=system.feedthrough,
            displacement=system.displacement[None].astype(float),
            velocity=system.velocity[None].astype(float),
        )

    @property
    def dofs(self) -> int:
        """Of one part."""
        return int(self.mass.shape[-1])

    def over_mass(self, matrix: np.ndarray) -> np.ndarray:
        """M⁻¹ times a matrix."""
        return np.asarray(np.linalg.solve(self.mass, matrix))

    def acceleration(self) -> np.ndarray:
        """At the start, without inputs, (parts, n)."""
        resisting = self.damping @ self.velocity[..., None] + self.stiffness @ self.displacement[..., None]
        return -self.over_mass(resisting)[..., 0]


@dataclass(frozen=True)
class Recursion:
    """Of parts with w states each; see the module's equation for the names."""

    transition: np.ndarray
    """A, (parts, w, w)."""
    earlier: np.ndarray
    """E, (parts, w, nu)."""
    later: np.ndarray
    """L, (parts, w, nu)."""
    outputs: np.ndarray
    """C, (parts, ny, w)."""
    direct: np.ndarray
    """D, (ny, nu)."""
    start: np.ndarray
    """x(0), (parts, w)."""
    at_start: np.ndarray
    """S, (parts, w, nu)."""

    def jacobian(self, *_: Any) -> Jacobian:
        """Of a block whose state is (x, u of the tick before), x along the states first and along the parts then."""
        from scipy.sparse import bsr_array, csr_array, hstack, vstack

        parts, w, nu = self.later.shape
        a, earlier, later = self.transition, self.earlier, self.later
        c = np.hstack([(self.outputs @ a).transpose(1, 2, 0).reshape(-1, w * parts), (self.outputs @ earlier).sum(0)])
        b = np.vstack([later.transpose(1, 0, 2).reshape(-1, nu), np.eye(nu)])
        d = (self.outputs @ later).sum(0) + self.direct
        by_inputs = earlier.transpose(1, 0, 2).reshape(-1, nu)
        if parts == 1:
            return Jacobian(np.block([[a[0], by_inputs], [np.zeros((nu, w + nu))]]), b, c, d)
        blocks = bsr_array((a, np.arange(parts), np.arange(parts + 1)))  # part by part
        place = np.arange(parts * w).reshape(parts, w).T.ravel()
        own = csr_array(blocks)[place][:, place]
        return Jacobian(vstack([hstack([own, csr_array(by_inputs)]), csr_array((nu, parts * w + nu))]).tocsr(), b, c, d)


def rows(*blocks: tuple[np.ndarray, ...]) -> np.ndarray:
    """Stacks of matrices put together in rows of matrices."""
    return np.concatenate([np.concatenate(row, axis=-1) for row in blocks], axis=-2)
