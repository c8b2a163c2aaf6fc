"""The second-order system every integration scheme advances.

    M q¨ + C q˙ + K q + Σ_e b_e r_e(b_eᵀq, b_eᵀq˙) = U u          y = Y_d q + Y_v q˙ + Y_a q¨ + Y_u u

q are the degrees of freedom, r_e the laws of nonlinear elements acting along b_e (``halfreal.models.materials``), and
u the block's inputs: excitation, its rate, and the measured feedback.  A measured force is the specimen's *resisting*
force (positive when it resists a positive displacement), so that it enters U with a minus sign.  M may be singular:
what has no mass is treated in ``massless.py``.

A scheme turns a system and a step into a ``Method``: the compiled function with its parameters and state.  At a tick it
is given u at t_k and returns y at t_k: it advances from t_{k-1} to t_k, its state holding q, q˙ and u at t_{k-1}.  The
first tick returns the initial state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..kernels.block import Block, Channel, Jacobian, Value
from . import massless


@dataclass(frozen=True)
class Elements:
    """Nonlinear elements: law codes (e,), directions (e, n), parameters (e, ·) and states before any load (e, ·)."""

    law: np.ndarray
    direction: np.ndarray
    parameters: np.ndarray
    start: np.ndarray
    initial_stiffness: np.ndarray
    """Stiffness of each unloaded element, (e,)."""
    initial_damping: np.ndarray
    flowing: np.ndarray
    """Which of the states move in time by themselves, (e, ·); the others are hysteretic memory."""

    @property
    def count(self) -> int:
        return len(self.law)

    @property
    def stiffness(self) -> np.ndarray:
        """Initial stiffness of all elements together, (n, n)."""
        return np.asarray(self.direction.T * self.initial_stiffness @ self.direction)

    @property
    def damping(self) -> np.ndarray:
        """Initial damping of all elements together, (n, n)."""
        return np.asarray(self.direction.T * self.initial_damping @ self.direction)

    def along(self, direction: np.ndarray) -> Elements:
        """The same elements in other directions."""
        return replace(self, direction=direction)

    def joined(self, other: Elements) -> Elements:
        """These elements and others, of the same degrees of freedom."""
        return Elements(
            np.concatenate([self.law, other.law]),
            np.vstack([self.direction, other.direction]),
            _stacked(self.parameters, other.parameters),
            _stacked(self.start, other.start),
            np.concatenate([self.initial_stiffness, other.initial_stiffness]),
            np.concatenate([self.initial_damping, other.initial_damping]),
            _stacked(self.flowing, other.flowing),
        )

    @classmethod
    @lru_cache(maxsize=64)
    def none(cls, dofs: int) -> Elements:
        """No elements; all parts of a loop without any share these arrays, which have no entries to change."""
        none, empty = np.zeros(0), np.zeros((0, 0))
        return cls(none, np.zeros((0, dofs)), empty, empty, none, none, np.zeros((0, 0), dtype=bool))


def _stacked(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Rows below rows, with zeros where one are shorter."""
    wide = max(one.shape[1], other.shape[1])
    return np.vstack([np.pad(rows, ((0, 0), (0, wide - rows.shape[1]))) for rows in (one, other)])


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
    def tangent_damping(self) -> np.ndarray:
        """C with the initial damping of the elements, (n, n)."""
        return np.asarray(self.damping + self.elements.damping)

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
    moving: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Entries of frozen fields that are not held."""
    faults: Mapping[int, str] = field(default_factory=dict)
    references: tuple[str, ...] = ()
    jacobian: Callable[..., Jacobian] | None = None
    """As that of a block (``halfreal.kernels.block``)."""
    form: str = ""
    """In which form the program has chosen to integrate the system, for people; empty if as it stands."""
    keeps: Any = None
    """What must live as long as the block, such as an opened library."""

    def block(self, name: str, inputs: tuple[str, ...], outputs: tuple[Channel, ...]) -> Block:
        """A block that does nothing else."""
        return Block(
            name=name,
            step=self.step,
            inputs=inputs,
            outputs=outputs,
            parameters=self.parameters,
            state=self.state,
            frozen=self.frozen,
            moving=self.moving,
            faults=self.faults,
            references=self.references,
            keeps=self.keeps,
            jacobian=self.jacobian,
        )
