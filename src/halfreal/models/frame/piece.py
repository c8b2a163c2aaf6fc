"""What an element gives to the model: one or more pieces, each with coordinates of its own along which it acts.

A *linear* piece is a constant matrix, and goes into the frame's stiffness once.  Any other is a row of the element
table (``evaluate.py``): the code of its state determination, its parameters, its laws.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True)
class Reading:
    """Something that can be recorded of an element: a deformation, or the force that belongs to it."""

    of: Literal["law", "section"]
    number: int
    """Which law of the element, or which deformation of its sections: axial strain and curvatures, one by one."""
    force: bool
    unit: str | None = None
    """None for that of the law."""


@dataclass(frozen=True)
class Piece:
    """A part of an element: d = A u, forces Aᵀf."""

    element: str
    dofs: tuple[int, ...]
    """Places in u of the displacements of its nodes."""
    kinematics: np.ndarray
    """A, (c, dofs)."""
    stiffness: np.ndarray
    """∂f/∂d without load, (c, c): all there is to a linear piece."""
    damping: np.ndarray | None = None
    """∂f/∂d˙ of a linear piece, (c, c)."""
    type: float | None = None
    """Code of the state determination; None if the piece is linear."""
    numbers: tuple[float, ...] = ()
    laws: tuple[Any, ...] = ()
    """Settings of its laws, an instance each."""
    ends: tuple[str, ...] = ()
    """What each law is for people, such as "hinge at 'A'"."""
    places: tuple[float, ...] = ()
    """Where along the element each law is, from 0 at its first node to 1; in the middle if left out."""
    volumes: tuple[float, ...] = ()
    """Work of a unit of stress over a unit of strain of each law; 1 if left out, as of forces and moments."""
    leans: tuple[int, ...] = ()
    """Coordinates that are rotations ψ of the chord with P-Δ: the first force N acts on each of them by N L ψ."""
    length: float = 0.0
    """L of the chord, where it leans."""
    inner: int = 0
    """Inner states."""
    start: tuple[float, ...] = ()
    """Their values before any load, if they are not zero."""
    shared: tuple[float, ...] = ()
    """Further numbers, kept once for all pieces that have the same: those of a section."""
    sections: int = 0
    """How many sections have axial strain and curvatures recorded, and the forces that belong to them."""
    recorded: int = 2
    """How many of these a section has."""
    proportional: bool = field(default=True)
    """Whether Rayleigh damping counts its stiffness."""
