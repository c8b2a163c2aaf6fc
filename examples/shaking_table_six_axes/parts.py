"""A wing, virtual, and a store under it, on a six-axis shaking table: both as beams in space.

         root ▒▒══════╤════════════S═════════╤═══ tip          y →, x back, z down; swept back by 25°
                      │            ║ pylon                      S: interface, all six motions
                    mid      nose ═╩════════ tail   store

The wing is kept by its first modes; the store, with its pylon and the plate that holds it to the table, is what would
be hardware.  All sizes are ours: the paper of the DLR Institute of Aeroelasticity on its table MAVIS leaves a flexible
specimen on a flexible virtual part with a six-axis interface for later.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from halfreal.models import Section, Substructure, couple, frame_beam, frame_dofs, modal_damping, rigid_mass

SPAN, WING_ELEMENTS = 6.0, 12  # m, along the swept axis
SWEEP = np.radians(25.0)
ALONG = np.array([np.sin(SWEEP), np.cos(SWEEP), 0.0])
STATION, MID, TIP = 9, 6, 13  # nodes of the wing: the interface at 4 m, 2.5 m, the tip at 6 m
WING = Section(stretching=1.2e9, torsion=1.32e6, bending_2=3e7, bending_3=6.6e6, mass=132.0, inertia=9.6)
PYLON = Section(stretching=2e7, torsion=4.8e3, bending_2=1e4, bending_3=6.4e3, mass=6.0, inertia=0.02)
BODY = Section(stretching=5e7, torsion=2e5, bending_2=3e4, bending_3=3e4, mass=9.0, inertia=0.04)
PLATE_MASS, PLATE_INERTIA = 3.0, np.array([0.02, 0.02, 0.03])  # that holds the pylon, kg, kg m²
WING_DAMPING = 0.02  # ratio, of every mode
STORE_DAMPING = 1e-3  # damping over stiffness, s
WING_MODES = 4

INTERFACE = frame_dofs("wing", STATION)
FORCE = {f"wing.{TIP}.x": 0.6, f"wing.{TIP}.z": 0.8}
"""Where the virtual excitation acts, and in which direction."""
WING_RESPONSES = {
    "tip": f"wing.{TIP}.z",
    "tip back": f"wing.{TIP}.x",
    "tip twist": f"wing.{TIP}.ry",
    "mid": f"wing.{MID}.z",
}
STORE_RESPONSES = {"nose": "body.1.z", "nose side": "body.1.y", "tail": "body.5.z", "tail side": "body.5.y"}


def wing() -> Substructure:
    """The wing, held at its root, with the same damping ratio in every mode."""
    axis = frame_beam("wing", np.zeros(3), SPAN * ALONG, WING_ELEMENTS, WING, np.array([0.0, 0.0, 1.0]))
    part = axis.held(*frame_dofs("wing", 1))
    ratios = np.array([WING_DAMPING])
    return Substructure(part.dofs, part.mass, modal_damping(part.mass, part.stiffness, ratios), part.stiffness)


def modes(count: int) -> tuple[np.ndarray, np.ndarray, Substructure]:
    """Natural frequencies [Hz] and shapes, columns of unit modal mass, of the wing alone.

    The largest entry of a shape is positive, and what is rounding alone is zero: so they are the same on every machine.
    """
    part = wing()
    squares, shapes = scipy.linalg.eigh(part.stiffness, part.mass)
    shapes = shapes[:, :count]
    largest = shapes[np.abs(shapes).argmax(axis=0), np.arange(count)]
    shapes = np.where(np.abs(shapes) > 1e-9 * np.abs(largest), shapes * np.sign(largest), 0.0)
    return np.sqrt(squares[:count]) / (2 * np.pi), shapes, part


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


def assembled() -> Substructure:
    """What the test emulates: wing and store as one, no mode left out."""
    return couple(wing(), store())


def pushed(part: Substructure) -> np.ndarray:
    """How the excitation acts on a part that has the wing's tip, (n,)."""
    return np.asarray(sum(share * part.selection([dof])[0] for dof, share in FORCE.items()))


def poles(part: Substructure, highest_hz: float) -> tuple[np.ndarray, np.ndarray]:
    """Oscillating poles s [1/s] of a damped structure in order of frequency, and their shapes, (n, poles)."""
    n = len(part.dofs)
    inverse = np.linalg.inv(part.mass)
    system = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ part.stiffness, -inverse @ part.damping]])
    values, vectors = np.linalg.eig(system)
    kept = np.flatnonzero((values.imag > 0) & (np.abs(values) < 2 * np.pi * highest_hz))
    kept = kept[np.argsort(np.abs(values[kept]))]
    return values[kept], vectors[:n, kept]


def kept_modes_response(frequency_hz: np.ndarray, dofs: Sequence[str]) -> np.ndarray:
    """Of the wing's kept modes and the store as one to the excitation, (dofs, frequencies): no delay, fewer modes."""
    hz, shapes, part = modes(WING_MODES)
    held = store()
    free = [i for i in range(len(held.dofs)) if i not in held.index(INTERFACE)]
    n = WING_MODES + len(free)
    moves = np.zeros((len(held.dofs), n))  # of the store, by modes of the wing and its own free ones
    moves[held.index(INTERFACE), :WING_MODES] = shapes[part.index(INTERFACE)]
    moves[free, range(WING_MODES, n)] = 1.0
    own = np.zeros((3, n, n))
    omega = 2 * np.pi * hz
    for matrix, values in zip(own, (np.ones(WING_MODES), 2 * WING_DAMPING * omega, omega**2), strict=True):
        matrix[range(WING_MODES), range(WING_MODES)] = values
    mass, damping, stiffness = (
        matrix + moves.T @ other @ moves
        for matrix, other in zip(own, (held.mass, held.damping, held.stiffness), strict=True)
    )
    pushes = np.concatenate([pushed(part) @ shapes, np.zeros(len(free))])
    seen = [
        np.concatenate([shapes[part.index([dof])[0]], np.zeros(len(free))])
        if dof in part.dofs
        else moves[held.index([dof])[0]]
        for dof in dofs
    ]
    s = 2j * np.pi * np.asarray(frequency_hz)[:, None, None]
    return np.asarray(
        np.array(seen) @ np.linalg.solve(s**2 * mass + s * damping + stiffness, pushes[:, None])[..., 0].T
    )


def positions() -> dict[str, np.ndarray]:
    """Where the nodes of wing and store are [m]."""
    station = SPAN * (STATION - 1) / WING_ELEMENTS * ALONG
    wing = {f"wing.{i + 1}": SPAN * i / WING_ELEMENTS * ALONG for i in range(WING_ELEMENTS + 1)}
    return {**wing, **{f"body.{i + 1}": station + np.array([-0.9 + 0.5 * i, 0.0, 0.35]) for i in range(5)}}


def virtual() -> dict[str, object]:
    """The wing as it stands in a definition."""
    hz, shapes, part = modes(WING_MODES)
    rows = {
        name: {"shape": shapes[part.index([dof])[0]], "quantity": "displacement", "rotation": ".r" in dof}
        for name, dof in WING_RESPONSES.items()
    }
    return {
        "kind": "modes",
        "frequency": hz,
        "damping": [WING_DAMPING],
        "mass": np.ones(WING_MODES),
        "interface": shapes[part.index(INTERFACE)],
        "force_shape": pushed(part) @ shapes,
        "responses": rows,
    }


def specimen() -> dict[str, object]:
    """The store as it stands in a definition."""
    part = store()
    return {
        "kind": "flexible",
        "mass": part.mass,
        "stiffness": part.stiffness,
        "rayleigh": {"stiffness": STORE_DAMPING},
        "interface": [i + 1 for i in part.index(INTERFACE)],
        "responses": {
            name: {"dof": part.index([dof])[0] + 1, "quantity": "displacement"} for name, dof in STORE_RESPONSES.items()
        },
    }
