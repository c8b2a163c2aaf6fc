"""The reference system in space: its first six modes (the paper's Fig. 16), and why two of them are not excited.

The beams, clamps, foam and the mass at B are those of ``rig.py``, now with lateral bending, torsion and stretching.  Of
the joints the plane model knows only what they do to deflections.  In yaw (rotation about z, which a single screw holds
by friction) all joints are given one stiffness, and the screw at B a moment of inertia about the beam's axis; both are
set so that modes 4 and 5 come out at 368 and 508 Hz.

python modes.py
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import rig
import scipy.linalg
import scipy.optimize

from halfreal.models import DIRECTIONS, Section, Substructure, couple, frame_beam, frame_dofs, rigid_mass, spring

PRINTED = (95.0, 211.0, 319.0, 368.0, 508.0, 520.0)
POISSON = 0.3
STIFF, STIFF_TURN = 1e8, 1e6
"""Of joints in directions that the plane model does not know, but for yaw: N/m, N m/rad."""
NODES = rig.ELEMENTS + 1
KINDS = {"y": "lateral bending", "z": "deflection", "rx": "torsion"}


@dataclass(frozen=True)
class Mode:
    hz: float
    kind: str
    """What moves most: a value of ``KINDS``."""
    shape: np.ndarray
    """Along both beams, largest entry 1: deflection, lateral displacement or twist."""
    at_p: float
    """Deflection at P over the largest displacement of the mode."""


def section() -> Section:
    """Of both beams, 40 mm wide and 4 mm high; torsion after Saint-Venant."""
    b, h = rig.WIDTH, rig.HEIGHT
    torsion = b * h**3 / 3.0 * (1.0 - 0.63 * h / b)
    flat, upright = b * h**3 / 12.0, h * b**3 / 12.0
    modulus, density = rig.MODULUS, rig.DENSITY
    shear = modulus / (2.0 * (1.0 + POISSON))
    return Section(
        modulus * b * h, shear * torsion, modulus * flat, modulus * upright, density * b * h, density * (flat + upright)
    )


def dof(beam: str, node: int, direction: str) -> str:
    return frame_dofs(beam, node)[DIRECTIONS.index(direction)]


def in_space(yaw: float, inertia: float) -> Substructure:
    """Both beams joined; ``yaw`` of clamps and joint [N m/rad], moment of inertia about x at B [kg m²]."""
    b, length = np.array([rig.FREE_LENGTH, 0.0, 0.0]), rig.FREE_LENGTH
    up = np.array([0.0, 1.0, 0.0])
    virtual = frame_beam("virtual", np.zeros(3), b, rig.ELEMENTS, section(), up)
    specimen = frame_beam("specimen", b, np.array([2 * length, 0.0, 0.0]), rig.ELEMENTS, section(), up)
    joint = {"x": STIFF, "y": STIFF, "z": rig.JOINT, "rx": STIFF_TURN, "ry": rig.JOINT_SLOPE, "rz": yaw}
    whole = couple(
        virtual,
        specimen,
        rigid_mass("virtual", NODES, rig.MASS_AT_B, np.array([inertia, 0.0, 0.0])),
        *(spring(k, 0.0, dof("virtual", NODES, one), dof("specimen", 1, one)) for one, k in joint.items()),
        spring(rig.CLAMP, 0.0, dof("virtual", 1, "ry")),
        spring(rig.SPECIMEN_CLAMP, 0.0, dof("specimen", NODES, "ry")),
        spring(rig.FOAM, 0.0, dof("virtual", rig.FOAM_NODE, "z")),
        spring(rig.SPECIMEN_FOAM, 0.0, dof("specimen", rig.SPECIMEN_FOAM_NODE, "z")),
        *(spring(yaw, 0.0, dof(beam, node, "rz")) for beam, node in (("virtual", 1), ("specimen", NODES))),
    )
    held = [
        dof(beam, node, one) for beam, node in (("virtual", 1), ("specimen", NODES)) for one in ("x", "y", "z", "rx")
    ]
    return whole.held(*held)


def modes(yaw: float, inertia: float, count: int = 6) -> list[Mode]:
    whole = in_space(yaw, inertia)
    squares, shapes = scipy.linalg.eigh(whole.stiffness, whole.mass, subset_by_index=(0, count - 1))
    place = {name: i for i, name in enumerate(whole.dofs)}

    def along(shape: np.ndarray, direction: str) -> np.ndarray:
        names = [dof(beam, node, direction) for beam in ("virtual", "specimen") for node in range(1, NODES + 1)]
        return np.array([shape[place[name]] if name in place else 0.0 for name in names])

    found = []
    for square, shape in zip(squares, shapes.T, strict=True):
        sizes = {key: np.abs(along(shape, key)).max() * (rig.WIDTH / 2 if key == "rx" else 1.0) for key in KINDS}
        key = max(sizes, key=lambda one: sizes[one])
        own = along(shape, key)
        at_p = abs(shape[place[dof("virtual", rig.P_NODE, "z")]]) / sizes[key]
        found.append(Mode(float(np.sqrt(square) / (2 * np.pi)), KINDS[key], own / own[np.argmax(np.abs(own))], at_p))
    return found


def frequency(kind: str, yaw: float, inertia: float) -> float:
    return next(mode.hz for mode in modes(yaw, inertia) if mode.kind == kind)


@cache
def calibrated() -> tuple[float, float]:
    """Yaw stiffness [N m/rad] and moment of inertia at B [kg m²] of modes 4 and 5."""
    yaw = scipy.optimize.brentq(lambda k: frequency("lateral bending", k, 0.0) - PRINTED[3], 2e4, 1e6, rtol=1e-5)
    inertia = scipy.optimize.brentq(lambda j: frequency("torsion", yaw, j) - PRINTED[4], 0.0, 1e-5, rtol=1e-4)
    return float(yaw), float(inertia)


def before_calibration() -> tuple[float, float]:
    """Lateral bending with joints that do not yaw, and torsion without inertia at B [Hz]."""
    return frequency("lateral bending", 1e8, 0.0), frequency("torsion", 1e8, 0.0)


if __name__ == "__main__":
    yaw, inertia = calibrated()
    print(f"yaw stiffness {yaw:.3g} N m/rad, inertia at B {inertia:.3g} kg m²; without: {before_calibration()}")
    for i, (mode, told) in enumerate(zip(modes(yaw, inertia), PRINTED, strict=True)):
        print(f"  {i + 1}  {mode.hz:7.2f} Hz (printed {told:g})  {mode.kind}, deflection at P {mode.at_p:.2g}")
