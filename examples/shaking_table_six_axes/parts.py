"""A wing, virtual, and a store under it, on a six-axis shaking table: both as beams in space.

         root ▒▒══════╤════════════S═════════╤═══ tip          y →, x back, z down
                      │            ║ pylon                      S: interface, all six motions
                    mid      nose ═╩════════ tail   store

The wing is kept by its first modes; the store, with its pylon and the plate that holds it to the table, is what would
be hardware.  All sizes are ours: the paper of the DLR Institute of Aeroelasticity on its table MAVIS leaves a flexible
specimen on a flexible virtual part with a six-axis interface for later.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from halfreal.models.damping import modal_damping
from halfreal.models.frame_elements import DIRECTIONS, Section, frame_beam, frame_dofs, rigid_mass
from halfreal.models.substructure import Substructure, couple

SPAN, WING_ELEMENTS = 6.0, 12  # m
STATION, MID, TIP = 9, 6, 13  # nodes of the wing: the interface at 4 m, 2.5 m, the tip at 6 m
WING = Section(stretching=2e8, torsion=2.2e5, bending_2=5e6, bending_3=1.1e6, mass=22.0, inertia=1.6)
PYLON = Section(stretching=5e7, torsion=1.2e4, bending_2=2.5e4, bending_3=1.6e4, mass=6.0, inertia=0.02)
BODY = Section(stretching=5e7, torsion=2e5, bending_2=3e4, bending_3=3e4, mass=9.0, inertia=0.04)
PLATE_MASS, PLATE_INERTIA = 3.0, np.array([0.02, 0.02, 0.03])  # that holds the pylon, kg, kg m²
WING_DAMPING = 0.02  # ratio, of every mode
STORE_DAMPING = 1e-3  # damping over stiffness, s
WING_MODES = 8

INTERFACE = frame_dofs("wing", STATION)
FORCE = f"wing.{TIP}.z"
"""Where the virtual excitation acts."""
WING_RESPONSES = {"tip": f"wing.{TIP}.z", "tip twist": f"wing.{TIP}.ry", "mid": f"wing.{MID}.z", "tip back": f"wing.{TIP}.x"}
STORE_RESPONSES = {"nose": "body.1.z", "nose side": "body.1.y", "tail": "body.5.z", "tail side": "body.5.y"}


def wing() -> Substructure:
    """The wing, held at its root, with the same damping ratio in every mode."""
    axis = frame_beam("wing", np.zeros(3), np.array([0.0, SPAN, 0.0]), WING_ELEMENTS, WING, np.array([0.0, 0.0, 1.0]))
    part = axis.held(*frame_dofs("wing", 1))
    ratios = np.array([WING_DAMPING])
    return Substructure(part.dofs, part.mass, modal_damping(part.mass, part.stiffness, ratios), part.stiffness)


def modes(count: int) -> tuple[np.ndarray, np.ndarray, Substructure]:
    """Natural frequencies [Hz] and shapes, columns of unit modal mass, of the wing alone."""
    part = wing()
    squares, shapes = scipy.linalg.eigh(part.stiffness, part.mass)
    return np.sqrt(squares[:count]) / (2 * np.pi), shapes[:, :count], part


def store() -> Substructure:
    """The store with its pylon and plate, free in space; its interface has the names of the wing's."""
    back, down = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    low = 0.35 * down
    pylon = frame_beam("pylon", np.zeros(3), low, 1, PYLON, back)
    body = frame_beam("body", low - 0.9 * back, low + 1.1 * back, 4, BODY, np.array([0.0, 1.0, 0.0]))
    held = dict(zip(frame_dofs("pylon", 2), frame_dofs("body", 3), strict=True))  # 0.1 m behind the interface
    joined = couple(pylon.renamed(held), body, rigid_mass("pylon", 1, PLATE_MASS, PLATE_INERTIA))
    part = joined.renamed(dict(zip(frame_dofs("pylon", 1), INTERFACE, strict=True)))
    return Substructure(part.dofs, part.mass, STORE_DAMPING * part.stiffness, part.stiffness)


def reduced_wing(count: int = WING_MODES) -> Substructure:
    """The wing by its first modes, in the coordinates of interface and modes: what the test has of it."""
    hz, shapes, part = modes(count)
    names = tuple(f"wing.mode.{i + 1}" for i in range(count))
    none = np.diag(2 * WING_DAMPING * 2 * np.pi * hz)
    return Substructure(names, np.eye(count), none, np.diag((2 * np.pi * hz) ** 2))
