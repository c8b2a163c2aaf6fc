"""From where sensors and actuators sit on a rigid interface to motion and force of its virtual point.

M. V. van der Seijs, D. D. van den Bosch, D. J. Rixen, D. de Klerk, "An improved methodology for the virtual point
transformation of measured frequency response functions in dynamic substructuring", COMPDYN 2013; in hybrid testing with
adaptive feed-forward filters and harmonic basis functions (Eqs. 24, 25, 27 of that paper; see A. Bartl, J. Mayet,
M. K. Mahdiabadi, D. J. Rixen, Dynamics of Coupled Structures 4 (2016) 7–14):

    y_i = d_i · (x + θ × p_i) = c_i q,    c_i = [d_iᵀ, (p_i × d_i)ᵀ]         q = C⁺ y
    f   = Σ_j [d_j; p_j × d_j] f_j = B f_A,    B = C_Aᵀ

======== =============================================================================
q        motion of the virtual point: displacements x and right-handed small rotations θ
p_i, d_i position from the virtual point and unit direction of a sensor or an actuator
y_i      what a sensor reads: displacement, velocity or acceleration along d_i
f_A      forces of the actuators on the interface, each along its direction
C⁺       pseudo-inverse: least squares if there are more sensors than motions
======== =============================================================================

A plane beam along x that deflects in y has its slope as rotation about z: axes y and rz.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ValidationInfo, field_validator

from ..errors import HalfrealError
from ..settings import Settings, Vector, fault

Axis = Literal["x", "y", "z", "rx", "ry", "rz"]
AXES: tuple[Axis, ...] = ("x", "y", "z", "rx", "ry", "rz")
WORST_CONDITION = 1e6
"""Of a geometry in which rotations are measured by the way they move the farthest place: beyond, places that are meant
to differ are the same within a micrometre on a metre."""


class GeometryError(HalfrealError):
    """Sensors or actuators that do not determine the interface."""


def geometry(positions: np.ndarray, directions: np.ndarray, axes: Sequence[Axis]) -> np.ndarray:
    """C, (places, axes): readings at the places for unit motions of the virtual point."""
    p, d = np.atleast_2d(positions).astype(float), np.atleast_2d(directions).astype(float)
    d = d / np.linalg.norm(d, axis=1, keepdims=True)
    return np.hstack([d, np.cross(p, d)])[:, [AXES.index(axis) for axis in axes]]


def determined(c: np.ndarray, axes: Sequence[str], what: str) -> None:
    """Raise ``GeometryError`` unless ``what`` (sensors, actuators), with the matrix C, determine every motion."""
    count, wanted = c.shape
    if count < wanted:
        raise GeometryError(
            f"{count} {what} for {wanted} motions ({', '.join(axes)}); use at least {wanted}, or remove "
            f"{wanted - count} of these motions"
        )
    scale = np.abs(c).max(axis=0)
    _, sizes, shapes = np.linalg.svd(c / np.where(scale > 0, scale, 1.0))
    if sizes[-1] * WORST_CONDITION < sizes[0] or sizes[0] == 0.0:
        share = np.abs(shapes[-1])
        lost = [axis for axis, part in zip(axes, share, strict=True) if part > 1e-3 * share.max()]
        motion = lost[0] if len(lost) == 1 else f"a combination of {', '.join(lost)}"
        raise GeometryError(
            f"the {count} {what} leave {motion} undetermined (their rank is below {wanted}); move or turn one of them "
            "so that no two are redundant, add one, or remove a motion"
        )


def motion_from_sensors(c: np.ndarray, axes: Sequence[str]) -> np.ndarray:
    """C⁺, (axes, sensors), of sensors that determine every motion."""
    determined(c, axes, "sensors")
    return np.asarray(np.linalg.pinv(c))


class Placed(Settings):
    """A sensor or an actuator: where it sits, from the virtual point, and the direction in which it counts."""

    position: Annotated[np.ndarray, Vector("m")]
    direction: Annotated[np.ndarray, Vector("1")]

    @field_validator("position", "direction")
    @classmethod
    def _in_space(cls, vector: np.ndarray, info: ValidationInfo) -> np.ndarray:
        if len(vector) != 3:
            raise fault(f"{len(vector)} entries; give three, along x, y and z")
        if info.field_name == "direction" and not np.any(vector):
            raise fault("the direction is [0, 0, 0]; give one, such as [0, 0, 1]")
        return vector


class InterfaceGeometry(Settings):
    """Sensors and actuators on a rigid interface, and the motions of its virtual point that count."""

    axes: tuple[Axis, ...]
    acceleration_sensors: tuple[Placed, ...] = ()
    displacement_sensors: tuple[Placed, ...] = ()
    """Where displacement is measured; left out, it is integrated from the accelerations."""
    actuators: tuple[Placed, ...]

    @field_validator("axes")
    @classmethod
    def _each_once(cls, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        if not axes or len(set(axes)) < len(axes):
            raise fault(f"{list(axes)}: name each axis of the interface once, such as ['z', 'ry']")
        return axes

    @field_validator("acceleration_sensors", "displacement_sensors", "actuators")
    @classmethod
    def _determine(cls, placed: tuple[Placed, ...], info: ValidationInfo) -> tuple[Placed, ...]:
        axes, field = info.data.get("axes"), str(info.field_name)
        if axes is None or (field != "actuators" and not placed):
            return placed
        try:
            determined(_matrix(placed, axes), axes, field.replace("_", " "))
        except GeometryError as error:
            raise fault(str(error)) from error
        return placed

    def sensors(self, quantity: Literal["displacement", "acceleration"]) -> np.ndarray:
        """C_Sd or C_Sa, (sensors, axes); displacements stand at the acceleration sensors if none is measured."""
        placed = self.displacement_sensors if quantity == "displacement" else ()
        return _matrix(placed or self.acceleration_sensors, self.axes)

    def forces(self) -> np.ndarray:
        """B, (axes, actuators)."""
        return _matrix(self.actuators, self.axes).T


def _matrix(placed: Sequence[Any], axes: Sequence[Axis]) -> np.ndarray:
    if not placed:
        return np.zeros((0, len(axes)))
    return geometry(np.array([one.position for one in placed]), np.array([one.direction for one in placed]), axes)
