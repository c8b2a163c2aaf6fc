"""The second-order system every integration scheme advances.

    M q¨ + C q˙ + K q + Σ_e b_e r_e(b_eᵀq) = U u          y = Y_d q + Y_v q˙ + Y_a q¨ + Y_u u

q are the degrees of freedom, r_e the laws of nonlinear elements acting along b_e (``halfreal.kernels.restoring``), and
u the block's inputs: excitation, its rate, and the measured feedback.  A measured force is the specimen's *resisting*
force (positive when it resists a positive displacement), so that it enters U with a minus sign.  M may be singular:
what has no mass is treated in ``massless.py``.

A scheme turns a system and a step into a ``Method``: the compiled function with its parameters and state.  At a tick it
is given u at t_k and returns y at t_k: it advances from t_{k-1} to t_k, its state holding q, q˙ and u at t_{k-1}.  The
first tick returns the initial state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..kernels.block import Jacobian, Value
from ..kernels.restoring import PARAMETERS, initial_stiffness, permanent_set, restoring_force
from . import massless


@dataclass(frozen=True)
class Elements:
    """Nonlinear elements: law codes (e,), directions (e, n) and parameters (e, 6)."""

    law: np.ndarray
    direction: np.ndarray
    parameters: np.ndarray

    @property
    def count(self) -> int:
        return len(self.law)

    @property
    def initial_stiffness(self) -> np.ndarray:
        """Stiffness of each unloaded element, (e,)."""
        return np.array([initial_stiffness(law, row) for law, row in zip(self.law, self.parameters, strict=True)])

    @property
    def stiffness(self) -> np.ndarray:
        """Initial stiffness of all elements together, (n, n)."""
        return np.asarray(self.direction.T * self.initial_stiffness @ self.direction)

    def loaded(self, displacement: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Forces and permanent sets, both (e,), once unloaded elements have been brought to a displacement."""
        forces, permanent = np.zeros(self.count), np.zeros(self.count)
        for e, deformation in enumerate(self.direction @ displacement):
            if deformation != 0.0:  # else zero both, and nothing need be compiled to know it
                permanent[e] = permanent_set(self.law[e], self.parameters[e], 0.0, 0.0, deformation)
                forces[e] = restoring_force(self.law[e], self.parameters[e], 0.0, 0.0, deformation)
        return forces, permanent

    @classmethod
    def none(cls, dofs: int) -> Elements:
        return cls(np.zeros(0), np.zeros((0, dofs)), np.zeros((0, PARAMETERS)))


@dataclass(frozen=True)
class System:
    """Matrices of a second-order system; see the module's equation for the names."""

    mass: np.ndarray
    damping: np.ndarray
    stiffness: np.ndarray
    inputs: np.ndarray
    """U, (n, nu)."""
    displacement_outputs: np.ndarray
    """Y_d, (ny, n)."""
    velocity_outputs: np.ndarray
    acceleration_outputs: np.ndarray
    elements: Elements
    displacement: np.ndarray
    """Initial q, (n,)."""
    velocity: np.ndarray
    direct: np.ndarray | None = None
    """Y_u, (ny, nu): what loads on massless degrees of freedom, which have been condensed, add to y; none if None."""

    @property
    def dofs(self) -> int:
        return len(self.mass)

    @property
    def linear(self) -> bool:
        return self.elements.count == 0

    @property
    def tangent_stiffness(self) -> np.ndarray:
        """K with the initial stiffness of the elements, (n, n)."""
        return np.asarray(self.stiffness + self.elements.stiffness)

    @property
    def feedthrough(self) -> np.ndarray:
        """Y_u, (ny, nu)."""
        shape = len(self.displacement_outputs), self.inputs.shape[1]
        return np.zeros(shape) if self.direct is None else self.direct

    def first_order(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """A, B, C, D of x˙ = A x + B u, y = C x + D u with x = (q, q˙), elements taken at their initial stiffness.

        Of massless degrees of freedom only those are in x that have damping; see ``massless.first_order``.
        """
        return massless.first_order(self)

    def undamped_modes(self) -> tuple[np.ndarray, np.ndarray]:
        """ω² in rising order and shapes (n, modes) with ΦᵀMΦ = I, elements at their initial stiffness.

        As many as there are degrees of freedom with mass; those without follow at once.
        """
        return massless.undamped_modes(self.mass, self.tangent_stiffness)

    def natural_frequencies(self) -> np.ndarray:
        """Undamped ω [rad/s] in rising order, 0 for rigid or unstable modes, elements at their initial stiffness."""
        return np.asarray(np.sqrt(np.maximum(self.undamped_modes()[0], 0.0)))


@dataclass(frozen=True)
class Method:
    """What a scheme makes of a system: everything a block needs but its name and its wiring."""

    step: Callable[..., int]
    parameters: Mapping[str, Value]
    state: Mapping[str, Value]
    frozen: tuple[str, ...] = ()
    faults: Mapping[int, str] = field(default_factory=dict)
    references: tuple[str, ...] = ()
    jacobian: Callable[..., Jacobian] | None = None
    """As that of a block (``halfreal.kernels.block``)."""
