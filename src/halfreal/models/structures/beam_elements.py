"""Euler–Bernoulli beam elements in a plane, with cubic shapes and consistent mass.

    E I w'''' + ρ A w¨ = 0,    φ = w',    u_e = (w_1, φ_1, w_2, φ_2)

         E I ⎡ 12   6h  −12   6h ⎤           ρ A h ⎡ 156   22h   54  −13h ⎤
    K_e = ── ⎢  6h  4h²  −6h  2h²⎥     M_e = ───── ⎢ 22h   4h²  13h  −3h² ⎥
          h³ ⎢−12  −6h   12  −6h ⎥            420  ⎢  54   13h  156  −22h ⎥
             ⎣  6h  2h²  −6h  4h²⎦                 ⎣−13h  −3h² −22h   4h² ⎦

(any textbook on finite elements, such as T. J. R. Hughes, The Finite Element Method, 1987).  Nodal displacements under
nodal loads are exact; natural frequencies are too high by a part of order h⁴.  Shear and rotary inertia are left out: a
mode must be long against the beam's height.

======== ====================================================
w, φ     deflection [m] and slope [rad] at a node
h        length of an element
E I      bending stiffness [N m²]
ρ A      mass per length [kg/m]
======== ====================================================

The nodes of a beam count from 1, and its degrees of freedom are named ``name.node.w`` and ``name.node.phi``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .substructure import Substructure, couple


def element_stiffness(length: float, bending: float) -> np.ndarray:
    """K_e, (4, 4)."""
    h = length
    shape = [
        [12.0, 6 * h, -12.0, 6 * h],
        [6 * h, 4 * h * h, -6 * h, 2 * h * h],
        [-12.0, -6 * h, 12.0, -6 * h],
        [6 * h, 2 * h * h, -6 * h, 4 * h * h],
    ]
    return bending / h**3 * np.array(shape)


def element_mass(length: float, mass_per_length: float) -> np.ndarray:
    """M_e, (4, 4)."""
    h = length
    shape = [
        [156.0, 22 * h, 54.0, -13 * h],
        [22 * h, 4 * h * h, 13 * h, -3 * h * h],
        [54.0, 13 * h, 156.0, -22 * h],
        [-13 * h, -3 * h * h, -22 * h, 4 * h * h],
    ]
    return mass_per_length * h / 420.0 * np.array(shape)


def node_dofs(name: str, node: int) -> tuple[str, str]:
    """Names of deflection and slope at a node."""
    return f"{name}.{node}.w", f"{name}.{node}.phi"


def beam_of(
    name: str, lengths: Sequence[float], bending: Sequence[float], mass_per_length: Sequence[float]
) -> Substructure:
    """A free, undamped beam of elements in a row, each with its length, bending stiffness and mass per length."""
    elements = []
    for i, (h, stiff, heavy) in enumerate(zip(lengths, bending, mass_per_length, strict=True)):
        dofs = (*node_dofs(name, i + 1), *node_dofs(name, i + 2))
        elements.append(Substructure(dofs, element_mass(h, heavy), np.zeros((4, 4)), element_stiffness(h, stiff)))
    return couple(*elements)


def uniform_beam(name: str, length: float, elements: int, bending: float, mass_per_length: float) -> Substructure:
    """A free, undamped beam of equal elements."""
    return beam_of(name, [length / elements] * elements, [bending] * elements, [mass_per_length] * elements)


def rectangle(width: float, height: float, modulus: float, density: float) -> tuple[float, float]:
    """E I and ρ A of a rectangular section, bent along its height."""
    return modulus * width * height**3 / 12.0, density * width * height
