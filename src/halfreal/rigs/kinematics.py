"""How the actuators move the interface: from its pose to their strokes, and back.

Where the axes of an interface are moved by actuators that are not one to an axis, or not along them, commands are the
actuators' strokes [m].  With a ``matrix`` they are

    strokes = matrix · pose             pose = matrix⁻¹ · strokes, by least squares if there are more strokes

with the pose of the commanded axes in m and rad.  Parallel actuators along the first axis that hold a rigid ``coupler``
at joints (a_i, b_i) from the interface have, at a displacement x and a rotation φ,

    stroke_i = x + a_i (cos φ − 1) − b_i sin φ

and the pose is found out of the strokes by the Gauss–Newton method.  Any other geometry is a pair of functions in a
user's file, each a block ``step(p, s, t, u, y)`` without state (``halfreal.kernels.block``): ``strokes`` is given the
pose and writes the strokes, ``pose`` the other way round.

A coupling works in the pose, and its command is turned into strokes behind it; with ``coupling_in = "actuators"`` the
target and the measured pose are turned into strokes before it.  A rig measures the pose itself, or the strokes
(``measured.stroke``), out of which the pose is then found here.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from ..contracts.axes import Axes
from ..contracts.user_code import UserFunction
from ..errors import HalfrealError
from ..kernels.block import Block, Channel, Value, channels, names
from ..settings import Matrix, Number, Settings, fault

SINGULAR = 1e-6
"""Smallest motion that actuators make over the largest, below which they count as not moving an axis."""
STROKE = "measured.stroke"
"""What a rig measures in place of the pose."""


def _as_table(given: Any) -> Any:
    return {"function": given} if isinstance(given, str) else given


MapFunction = Annotated[UserFunction, BeforeValidator(_as_table)]
"""A user's function: file and name, or a table that has parameters too."""


def matrix_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for i in range(y.size):
        y[i] = 0.0
        empty = True
        for j in range(u.size):
            if p.matrix[i, j] != 0.0:  # so that a row of the identity hands its value on, to the bit
                y[i] = p.matrix[i, j] * u[j] if empty else y[i] + p.matrix[i, j] * u[j]
                empty = False
    return 0


def coupler_strokes_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for i in range(y.size):
        y[i] = u[0] + p.joints[i, 0] * (math.cos(u[1]) - 1.0) - p.joints[i, 1] * math.sin(u[1])
    return 0


def coupler_pose_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    # Gauss-Newton from the pose before; x is eliminated, so that one unknown is left
    n, turn = u.size, s.turn
    for _ in range(int(p.iterations)):
        mean_error, mean_slope = 0.0, 0.0
        cosine, sine = math.cos(turn), math.sin(turn)
        for i in range(n):
            mean_error += (u[i] - p.joints[i, 0] * (cosine - 1.0) + p.joints[i, 1] * sine) / n
            mean_slope += (-p.joints[i, 0] * sine - p.joints[i, 1] * cosine) / n
        above, below = 0.0, 0.0
        for i in range(n):
            error = u[i] - p.joints[i, 0] * (cosine - 1.0) + p.joints[i, 1] * sine - mean_error
            slope = -p.joints[i, 0] * sine - p.joints[i, 1] * cosine - mean_slope
            above += slope * error
            below += slope * slope
        if not below > p.least:
            return 1
        turn += above / below
        if abs(above) <= 1e-15 * below:
            break
    x = 0.0
    for i in range(n):
        x += (u[i] - p.joints[i, 0] * (math.cos(turn) - 1.0) + p.joints[i, 1] * math.sin(turn)) / n
    s.turn = min(max(turn, -p.largest), p.largest)
    y[0], y[1] = x, turn
    return 0


class Coupler(Settings):
    """A rigid body between parallel actuators and the interface, which moves and turns it."""

    joints: Annotated[np.ndarray, Matrix("m")]
    """One row per actuator: position of its joint relative to the interface, along and across the actuators; a
    positive rotation turns the first direction towards the second.
    """
    largest_rotation: Annotated[float, Number("rad", above=0, most=1.5)] = 0.5
    """Largest rotation that the actuators must be able to reach."""

    @field_validator("joints")
    @classmethod
    def _can_turn(cls, joints: np.ndarray) -> np.ndarray:
        if joints.shape[1] != 2 or len(joints) < 2:
            raise fault(f"{len(joints)} row(s) of {joints.shape[1]} number(s); give two numbers for each actuator, and "
                        "two actuators or more")  # fmt: skip
        return joints

    @model_validator(mode="after")
    def _is_regular(self) -> Coupler:
        angles = np.linspace(-self.largest_rotation, self.largest_rotation, 201)
        slope = -np.outer(np.sin(angles), self.joints[:, 0]) - np.outer(np.cos(angles), self.joints[:, 1])
        apart = slope.max(axis=1) - slope.min(axis=1)
        flat, least = int(np.argmin(apart)), SINGULAR * float(np.abs(self.joints).max())
        turned = np.ptp(np.sign(slope[:, 0] - slope[:, 1])) > 0 if len(self.joints) == 2 else False
        if apart[flat] <= least or turned:
            raise fault(
                f"turned by {angles[flat]:.3g} rad all joints are in line with the actuators, which cannot rotate it "
                "there: the map is singular within largest_rotation; move joints apart across the actuators, or lower "
                "largest_rotation",
                "joints",
            )
        return self

    def block(self, name: str, inputs: tuple[str, ...], outputs: tuple[Channel, ...], *, to_pose: bool) -> Block:
        """From pose to strokes, or back."""
        if not to_pose:
            return Block(name, coupler_strokes_step, inputs, outputs, {"joints": self.joints})
        size = float(np.abs(self.joints).max())
        kept: dict[str, Value] = {
            "joints": self.joints,
            "iterations": 8.0,
            "least": (SINGULAR * size) ** 2,
            "largest": self.largest_rotation,
        }
        faults = {1: "the actuators' strokes correspond to no pose of the coupler"}
        return Block(name, coupler_pose_step, inputs, outputs, kept, {"turn": 0.0}, ("turn",), faults=faults)


class Kinematics(Settings):
    """The actuators, and how their strokes go with the pose of the interface."""

    actuators: Annotated[tuple[Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9_]*$")], ...], Field(min_length=1)]
    """Names of the actuators."""
    matrix: Annotated[np.ndarray, Matrix("1")] | None = None
    """One row per actuator, one column per commanded axis, for strokes in m and poses in m and rad."""
    coupler: Coupler | None = None
    """A rigid body that parallel actuators hold at joints: for two commanded axes, a displacement along the actuators
    and a rotation."""
    strokes: MapFunction | None = None
    pose: MapFunction | None = None
    coupling_in: Literal["pose", "actuators"] = "pose"
    """Coordinates in which the coupling works."""

    @field_validator("actuators")
    @classmethod
    def _each_once(cls, actuators: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(actuators)) < len(actuators):
            raise fault(f"{list(actuators)} names an actuator twice; name each once")
        return actuators

    @field_validator("matrix")
    @classmethod
    def _moves_all(cls, matrix: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        actuators = info.data.get("actuators")
        if matrix is None or actuators is None:
            return matrix
        if len(matrix) != len(actuators):
            raise fault(f"{len(matrix)} row(s) for {len(actuators)} actuator(s); give one for each")
        if not _regular(matrix):
            rank = np.linalg.matrix_rank(matrix / np.maximum(np.abs(matrix).max(axis=0), 1e-300), tol=SINGULAR)
            raise fault(
                f"its actuators move {rank} of {matrix.shape[1]} axes independently; give each axis an actuator that "
                "moves it, or make it passive"
            )
        return matrix

    @model_validator(mode="after")
    def _one_way(self) -> Kinematics:
        functions = [one for one in (self.strokes, self.pose) if one is not None]
        ways = (self.matrix is not None) + (self.coupler is not None) + bool(functions)
        if ways != 1 or len(functions) == 1:
            raise fault("give either a matrix, or a coupler, or both functions strokes and pose")
        if self.coupler is not None and len(self.coupler.joints) != len(self.actuators):
            raise fault(
                f"{len(self.coupler.joints)} joint(s) for {len(self.actuators)} actuator(s); give one for each",
                *("coupler", "joints"),
            )
        return self

    def check_axes(self, axes: int) -> None:
        """Raise a fault unless it is for so many axes that are commanded."""
        if self.matrix is not None and self.matrix.shape[1] != axes:
            raise fault(f"{self.matrix.shape[1]} column(s) for {axes} commanded axis(es); give one for each", "matrix")
        if self.coupler is not None and axes != 2:
            raise fault(f"a coupler has two axes, but {axes} are commanded; make others passive", "coupler")
        if len(self.actuators) < axes:
            raise fault(f"{len(self.actuators)} actuator(s) cannot move {axes} axes; make some passive", "actuators")

    def to_strokes(self, name: str, pose: tuple[str, ...], signal: str) -> Block:
        """The block ``name``, from channels of a pose to the strokes ``signal``."""
        outputs = channels(signal, "m", len(self.actuators), of="actuator")
        if self.coupler is not None:
            return self.coupler.block(name, pose, outputs, to_pose=False)
        return self._block(name, self.strokes, self.matrix, pose, outputs)

    def to_pose(self, name: str, strokes: tuple[str, ...], pose: tuple[Channel, ...]) -> Block:
        """The block ``name``, from channels of strokes to those of a pose."""
        if self.coupler is not None:
            return self.coupler.block(name, strokes, pose, to_pose=True)
        inverse = None
        if self.matrix is not None:
            square = len(self.matrix) == self.matrix.shape[1]
            inverse = np.linalg.inv(self.matrix) if square else np.linalg.pinv(self.matrix)
        return self._block(name, self.pose, inverse, strokes, pose)

    def strokes_at(self, pose: np.ndarray) -> np.ndarray:
        """The strokes in a pose of the commanded axes, out of the code that runs."""
        from ..kernels.loop import Loop
        from ..stability.open_loop import PROBE, probe

        source = probe(len(pose), "m")
        loop = Loop([source, self.to_strokes("strokes", names(source.outputs), "stroke")], dt=1.0)
        loop.state(PROBE)["value"] = pose
        loop.run(1)
        at = Axes.numbered(len(self.actuators)).channels("stroke")
        return np.array([loop.vector[loop.index[name]] for name in at])

    def jacobian(self, pose: np.ndarray) -> np.ndarray:
        """Strokes for small motions about a pose of the commanded axes, (actuators, axes), which must be regular."""
        if self.matrix is not None:
            return self.matrix
        small = 1e-6
        columns = [
            self.strokes_at(pose + small * one) - self.strokes_at(pose - small * one) for one in np.eye(len(pose))
        ]
        found = np.column_stack(columns) / (2.0 * small)
        if not _regular(found):
            raise HalfrealError(
                f"the kinematic map is singular at the pose {pose.tolist()}: its actuators move {len(pose)} axes there "
                f"by {np.array2string(found, precision=3)}; give each axis an actuator, or make it passive"
            )
        return found

    def there_and_back(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Strokes in poses, a row each, and the poses found from them, by the code that runs; NaN for a fault."""
        from ..kernels.loop import Loop
        from ..kernels.tick import FAULT
        from ..stability.open_loop import PROBE, probe

        n, count = poses.shape[1], len(self.actuators)
        source = probe(n, "m")
        to_strokes = self.to_strokes("strokes", names(source.outputs), "stroke")
        to_pose = self.to_pose("pose", names(to_strokes.outputs), channels("back", "m", n))
        loop = Loop([source, to_strokes, to_pose], dt=1.0)
        at = [loop.index[name] for name in (*names(to_strokes.outputs), *names(to_pose.outputs))]
        rest, found = loop.vector.copy(), np.zeros((len(poses), count + n))
        for row, pose in zip(found, poses, strict=True):
            loop.vector[:] = rest
            loop.state(PROBE)["value"] = pose
            loop.run(1)
            row[:] = loop.vector[at] if loop.vector[FAULT] == rest[FAULT] else np.nan
        return found[:, :count], found[:, count:]

    def singular_at(self, poses: np.ndarray) -> np.ndarray | None:
        """A pose near which actuators do not move all axes; with one for each axis also between two of ``poses``."""
        small, n = 1e-6, poses.shape[1]
        about = [pose + sign * small * one for pose in poses for one in np.eye(n) for sign in (1.0, -1.0)]
        strokes = self.there_and_back(np.array(about))[0].reshape(len(poses), n, 2, -1)
        slopes = ((strokes[:, :, 0] - strokes[:, :, 1]) / (2.0 * small)).transpose(0, 2, 1)
        for pose, slope in zip(poses, slopes, strict=True):
            if not _regular(slope):
                return np.asarray(pose)
        signs = np.sign(np.linalg.det(slopes)) if len(self.actuators) == n else np.ones(len(poses))
        other = int(np.argmax(signs != signs[0]))
        return None if signs[other] == signs[0] else np.asarray(0.5 * (poses[0] + poses[other]))

    @staticmethod
    def _block(
        name: str,
        function: UserFunction | None,
        matrix: np.ndarray | None,
        inputs: tuple[str, ...],
        outputs: tuple[Channel, ...],
    ) -> Block:
        from ..kernels.user import try_out

        if function is None:
            assert matrix is not None
            kept: dict[str, Value] = {"matrix": np.ascontiguousarray(matrix)}
            return Block(name, matrix_step, inputs, outputs, kept)
        block = Block(name, function.load(), inputs, outputs, function.parameters, function.state, function.frozen)
        try_out(block)
        return block


def _regular(slopes: np.ndarray) -> bool:
    """Whether strokes for small motions, (actuators, axes), determine all axes, each scaled by its size."""
    if not np.all(np.isfinite(slopes)):
        return False
    sizes = np.linalg.svd(slopes / np.maximum(np.abs(slopes).max(axis=0), 1e-300), compute_uv=False)
    return bool(len(slopes) >= slopes.shape[1] and sizes[-1] > SINGULAR * sizes[0])
