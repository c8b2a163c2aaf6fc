"""A rigid table on actuators with ball joints at both ends: strokes for a pose, pose for strokes.

    s_i(x, θ) = |x + R(θ) p_i − g_i| − ℓ_i,      g_i = p_i − ℓ_i d_i                strokes
    ∂s_i/∂(x, θ) = [n_iᵀ, (R p_i × n_i)ᵀ J(θ)],  n_i the unit vector along actuator i
    at rest  C = [d_iᵀ, (p_i × d_i)ᵀ]                                              ``interface_geometry.geometry``

R = exp[θ]× is the rotation by the rotation vector θ, and J the left Jacobian of the rotation group: J(θ) θ˙ is the
angular velocity.  The pose for given strokes is found by Newton's method from the table at rest; with more actuators
than six it is that of least squares, and what the strokes cannot all have is reported.

Modal control, as the DLR paper on its six-axis table calls it, is C times the target motion; ``extensions`` is the same
for motions that are not small.

======== ==========================================================================================
x, θ     displacement and rotation vector of the reference point, right-handed, small or not
p_i, d_i where actuator i holds the table, from the reference point, and the direction it pushes in
ℓ_i, g_i its length between the joints at rest, and its joint on the ground
======== ==========================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .interface_geometry import AXES, WORST_CONDITION, GeometryError, geometry

ITERATIONS = 30
CONVERGED = 1e-13
"""Newton step [m, rad] below which a pose counts as found."""


def cross_matrix(vector: np.ndarray) -> np.ndarray:
    """[a]×, (3, 3): [a]× b = a × b."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def rotation(theta: np.ndarray) -> np.ndarray:
    """exp[θ]×, (3, 3), by Rodrigues' formula."""
    angle = float(np.linalg.norm(theta))
    turn = cross_matrix(theta)
    return np.asarray(np.eye(3) + np.sinc(angle / np.pi) * turn + 0.5 * np.sinc(0.5 * angle / np.pi) ** 2 * turn @ turn)


def left_jacobian(theta: np.ndarray) -> np.ndarray:
    """J(θ), (3, 3): angular velocity for unit rates of the rotation vector."""
    angle = float(np.linalg.norm(theta))
    turn = cross_matrix(theta)
    third = 1.0 / 6.0 - angle**2 / 120.0 if angle < 1e-3 else (angle - np.sin(angle)) / angle**3
    return np.asarray(np.eye(3) + 0.5 * np.sinc(0.5 * angle / np.pi) ** 2 * turn + third * turn @ turn)


@dataclass(frozen=True)
class TableKinematics:
    """Where m actuators hold the table, (m, 3), the directions they push in, (m, 3), and their lengths, (m,)."""

    positions: np.ndarray
    directions: np.ndarray
    lengths: np.ndarray

    def __post_init__(self) -> None:
        directions = np.asarray(self.directions, dtype=float)
        object.__setattr__(self, "positions", np.asarray(self.positions, dtype=float))
        object.__setattr__(self, "directions", directions / np.linalg.norm(directions, axis=1, keepdims=True))
        object.__setattr__(self, "lengths", np.asarray(self.lengths, dtype=float))
        _moves_every_axis(self.modal)

    @cached_property
    def modal(self) -> np.ndarray:
        """C, (m, 6): strokes for unit small motions."""
        return geometry(self.positions, self.directions, AXES)

    @cached_property
    def grounds(self) -> np.ndarray:
        """g_i, (m, 3)."""
        return np.asarray(self.positions - self.lengths[:, None] * self.directions)

    @cached_property
    def redundant(self) -> np.ndarray:
        """Forces of the actuators, in rows of unit length, that cancel on the table: what they can fight with.

        (m − 6, m); with six actuators there are none.
        """
        return np.asarray(np.linalg.svd(self.modal.T)[2][len(AXES) :])

    def extensions(self, pose: np.ndarray) -> np.ndarray:
        """Strokes s, (m,), of the actuators for a pose (x, y, z, rx, ry, rz)."""
        reach = pose[:3] + self.positions @ rotation(pose[3:]).T - self.grounds
        return np.asarray(np.linalg.norm(reach, axis=1) - self.lengths)

    def jacobian(self, pose: np.ndarray) -> np.ndarray:
        """∂s/∂(x, θ), (m, 6)."""
        arms = self.positions @ rotation(pose[3:]).T
        reach = pose[:3] + arms - self.grounds
        along = reach / np.linalg.norm(reach, axis=1, keepdims=True)
        return np.hstack([along, np.cross(arms, along) @ left_jacobian(pose[3:])])

    def pose(self, extensions: np.ndarray) -> np.ndarray:
        """Pose, (6,), for given strokes: exact if they are those of one, else of least squares."""
        found: np.ndarray = np.zeros(len(AXES))
        for _ in range(ITERATIONS):
            step = np.linalg.lstsq(self.jacobian(found), extensions - self.extensions(found), rcond=None)[0]
            found = found + step
            if np.abs(step).max() < CONVERGED:
                return found
        shown = ", ".join(f"{1e3 * value:.4g}" for value in extensions)
        raise GeometryError(
            f"no pose of the table found for the strokes {shown} mm within {ITERATIONS} steps of Newton's method; it "
            "is too far from rest, or the strokes are inconsistent"
        )

    def misfit(self, extensions: np.ndarray) -> np.ndarray:
        """What the strokes have beyond those of the pose nearest to them, (m,): it strains the table."""
        return np.asarray(extensions - self.extensions(self.pose(extensions)))


PUSHING = {
    "x": "along x",
    "y": "along y",
    "z": "along z",
    "rx": "along y or z at a distance from the x axis",
    "ry": "along x or z at a distance from the y axis",
    "rz": "along x or y at a distance from the z axis",
}
"""What moves the table in an axis."""


def _moves_every_axis(modal: np.ndarray) -> None:
    """Raise ``GeometryError`` if there is a motion of the table in which no actuator with the matrix C moves."""
    scale = np.abs(modal).max(axis=0)
    size = np.zeros(len(AXES))
    _, found, motions = np.linalg.svd(modal / np.where(scale > 0.0, scale, 1.0))
    size[: len(found)] = found
    free = motions[size * WORST_CONDITION < size[0]]
    if not len(free):
        return
    lost = [axis for axis, share in zip(AXES, np.abs(free).max(axis=0), strict=True) if share > 1e-3]
    which = lost[0] if len(lost) == 1 else f"{', '.join(lost[:-1])} and {lost[-1]}"
    if len(lost) > len(free):
        which = f"{len(free)} motion(s) made of {which}"
    helps = [PUSHING[axis] for axis in lost]
    places = helps[0] if len(helps) == 1 else f"{'; '.join(helps[:-1])}; or {helps[-1]}"
    raise GeometryError(
        f"the {len(modal)} actuators cannot move the table in {which}; add {len(free)}, pushing {places}"
    )
