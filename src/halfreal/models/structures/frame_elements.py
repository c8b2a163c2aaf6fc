"""Straight beams in space: bending in two planes, stretching and torsion, with consistent mass.

A node has six degrees of freedom, displacements x, y, z and rotations rx, ry, rz.  In its own axes (1 along the beam)
an element of length h stretches and twists as a rod of linear shapes, and bends as an Euler–Bernoulli beam
(``beam_elements``), with the slopes rz in the plane 1–2 and −ry in the plane 1–3:

    K: EA/h, GJ/h, E I_3 in 1–2, E I_2 in 1–3        M: ρA, ρJ_p, ρA, ρA

(any textbook on finite elements, such as T. J. R. Hughes, The Finite Element Method, 1987).  Shear and the rotary
inertia of bending are left out.

======== ====================================================================================
EA, GJ   stiffness against stretching [N] and torsion [N m²]
E I_2    bending stiffness about axis 2, E I_3 about axis 3 [N m²]
ρA, ρJ_p mass [kg/m] and moment of inertia about the beam's axis [kg m] per length
======== ====================================================================================

The degrees of freedom of a node are named ``name.node.x`` … ``name.node.rz``, nodes counting from 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .beam_elements import element_mass, element_stiffness
from .substructure import Substructure, couple

DIRECTIONS = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True)
class Section:
    """Stiffness and mass per length of a beam; see the module's table."""

    stretching: float
    torsion: float
    bending_2: float
    bending_3: float
    mass: float
    inertia: float


def frame_dofs(name: str, node: int) -> tuple[str, ...]:
    """Names of the six degrees of freedom of a node."""
    return tuple(f"{name}.{node}.{direction}" for direction in DIRECTIONS)


def local_element(length: float, section: Section) -> tuple[np.ndarray, np.ndarray]:
    """M and K of an element in its own axes, (12, 12) each."""
    mass, stiffness = np.zeros((12, 12)), np.zeros((12, 12))
    rod_mass, rod = length / 6.0 * np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0, -1.0], [-1.0, 1.0]]) / length
    for first, stiff, heavy in ((0, section.stretching, section.mass), (3, section.torsion, section.inertia)):
        at = np.ix_([first, first + 6], [first, first + 6])
        mass[at] += heavy * rod_mass
        stiffness[at] += stiff * rod
    # w = u_2 with slope +r_3; w = u_3 with slope −r_2
    for places, signs, bending in (
        ([1, 5, 7, 11], [1.0, 1.0, 1.0, 1.0], section.bending_3),
        ([2, 4, 8, 10], [1.0, -1.0, 1.0, -1.0], section.bending_2),
    ):
        turn = np.outer(signs, signs)
        mass[np.ix_(places, places)] += turn * element_mass(length, section.mass)
        stiffness[np.ix_(places, places)] += turn * element_stiffness(length, bending)
    return mass, stiffness


def frame_beam(
    name: str, start: np.ndarray, end: np.ndarray, elements: int, section: Section, second: np.ndarray
) -> Substructure:
    """A free, undamped beam of equal elements from one point to another; ``second`` shows where its axis 2 points to.

    Only the part of ``second`` across the beam counts.
    """
    along = np.asarray(end, dtype=float) - np.asarray(start, dtype=float)
    length = float(np.linalg.norm(along))
    first = along / length
    across = np.asarray(second, dtype=float) - (np.asarray(second, dtype=float) @ first) * first
    if np.linalg.norm(across) < 1e-9 * np.linalg.norm(second):
        raise ValueError(f"axis 2 of beam '{name}' is given along the beam; choose a direction across it")
    across = across / np.linalg.norm(across)
    axes = np.array([first, across, np.cross(first, across)])
    turn = np.kron(np.eye(4), axes)
    mass, stiffness = (turn.T @ matrix @ turn for matrix in local_element(length / elements, section))
    parts = [
        Substructure((*frame_dofs(name, i), *frame_dofs(name, i + 1)), mass, np.zeros((12, 12)), stiffness)
        for i in range(1, elements + 1)
    ]
    return couple(*parts)


def rigid_mass(name: str, node: int, mass: float, inertia: np.ndarray) -> Substructure:
    """A rigid body at a node: its mass [kg] and its moments of inertia [kg m²] about axes x, y, z through the node."""
    none = np.zeros((6, 6))
    return Substructure(frame_dofs(name, node), np.diag([mass] * 3 + list(inertia)), none, none)
