"""The two substructures of a hardware-in-the-loop test as linear models, and the loop they make.

    G_v   u_b = G_v f            virtual substructure: displacement, velocity or acceleration at the interface
    G_p   f_b = G_p u_b          physical substructure: the force that it resists with
    L = G_p G_v                  loop of negative feedback, as f_p = −f_v                                  (38)

After the paper of the DLR Institute of Aeroelasticity on hardware-in-the-loop with the six-axis shaking table MAVIS,
Eqs. 5–13, 29–38.  G_p grows with the square of the frequency and has no state-space form; from the interface velocity
and acceleration it has one, and so has L.

With ω → ∞, L tends to M_p(∞) Y_b M_v⁻¹ Y_bᵀ.  If its spectral radius exceeds one, the loop is unstable for any delay
however small: a virtual substructure with many modes is light at high frequency.  Keeping fewer modes is the remedy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from ..contracts.massless import split
from ..contracts.state_space import StateSpace
from ..contracts.system import System
from ..models.structures.base_excited import BaseExcited, Simplification

Output = Literal["displacement", "acceleration"]


def virtual_part(system: System, axes: int, output: Output = "displacement") -> StateSpace:
    """G_v from forces on the interface to its motion (Eqs. 8, 10).

    ``system`` is that of a virtual substructure: its inputs are excitation, its rate and ``axes`` resisting forces, its
    first outputs the interface displacements.
    """
    a, b, c, d = _from_forces(system, axes)
    if output == "displacement":
        return StateSpace(a, b, c[:axes], d[:axes])
    return StateSpace(a, b, c[2 * axes :], d[2 * axes :])


def physical_part(specimen: BaseExcited, simplification: Simplification = "none") -> StateSpace:
    """From interface velocities and accelerations to forces (Eqs. 29–33, there from accelerations alone)."""
    return StateSpace(*specimen.first_order(simplification))


def substructured_loop(system: System, specimen: BaseExcited, simplification: Simplification = "none") -> StateSpace:
    """L, from force to force, without any delay."""
    axes = len(specimen.interface)
    a, b, c, d = _from_forces(system, axes)
    return physical_part(specimen, simplification).after(StateSpace(a, b, c[axes:], d[axes:]))


def high_frequency_gain(system: System, fast_mass: np.ndarray) -> float:
    """Spectral radius of L for ω → ∞; ``fast_mass`` is the specimen's M_p(∞), (axes, axes).

    Infinite where the specimen has mass at a place where the virtual part has none.
    """
    interface = system.displacement_outputs[: len(fast_mass)]
    heavy, bare = split(system.mass)
    if np.any(np.abs(fast_mass @ interface @ bare) > 1e-10 * (np.abs(fast_mass) @ np.abs(interface) @ np.abs(bare))):
        return np.inf
    moved = interface @ heavy
    light = moved @ np.linalg.solve(heavy.T @ system.mass @ heavy, moved.T)
    return float(np.abs(np.linalg.eigvals(fast_mass @ light)).max())


def _from_forces(system: System, axes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """From forces on the interface to its displacements, velocities and accelerations."""
    interface = system.displacement_outputs[:axes]
    none = np.zeros((2 * axes, system.dofs))
    moving = replace(
        system,
        displacement_outputs=np.vstack([interface, none]),
        velocity_outputs=np.vstack([none[:axes], interface, none[axes:]]),
        acceleration_outputs=np.vstack([none, interface]),
    )
    a, b, c, d = moving.first_order()
    forces = slice(2, 2 + axes)
    return a, -b[:, forces], c, -d[:, forces]  # a resisting force enters the system with a minus sign
