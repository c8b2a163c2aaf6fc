"""How the actuators move the interface: from its pose to their strokes, and back.

Where the axes of an interface are moved by actuators that are not one to an axis, or not along them, commands are the
actuators' strokes [m].  With a ``matrix`` they are

    strokes = matrix · pose             pose = matrix⁻¹ · strokes, by least squares if there are more strokes

with the pose of the commanded axes in m and rad.  Any other geometry is a pair of functions in a user's file, each a
block ``step(p, s, t, u, y)`` without state (``halfreal.kernels.block``): ``strokes`` is given the pose and writes the
strokes, ``pose`` the other way round.

A coupling works in the pose, and its command is turned into strokes behind it; with ``coupling_in = "actuators"`` the
target and the measured pose are turned into strokes before it.  A rig measures the pose itself, or the strokes
(``measured.stroke``), out of which the pose is then found here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from ..contracts.axes import Axes
from ..contracts.user_code import UserFunction
from ..kernels.block import Block, Channel, Value, channels, names
from ..kernels.loop import Loop
from ..kernels.user import try_out
from ..settings import Matrix, Settings, fault
from ..stability.open_loop import PROBE, probe

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


class Kinematics(Settings):
    """The actuators, and how their strokes go with the pose of the interface."""

    actuators: Annotated[tuple[Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9_]*$")], ...], Field(min_length=1)]
    """What they are called."""
    matrix: Annotated[np.ndarray, Matrix("1")] | None = None
    """A row for each actuator, a column for each axis that is commanded, for strokes in m and poses in m and rad."""
    strokes: MapFunction | None = None
    pose: MapFunction | None = None
    coupling_in: Literal["pose", "actuators"] = "pose"
    """In which coordinates the coupling works."""

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
        if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
            raise fault(
                f"its actuators move {np.linalg.matrix_rank(matrix)} of {matrix.shape[1]} axes independently; give "
                "each axis an actuator that moves it, or make it passive"
            )
        return matrix

    @model_validator(mode="after")
    def _one_way(self) -> Kinematics:
        functions = [one for one in (self.strokes, self.pose) if one is not None]
        if (self.matrix is None) == (not functions) or len(functions) == 1:
            raise fault("give either a matrix, or both functions strokes and pose")
        return self

    def check_axes(self, axes: int) -> None:
        """Raise a fault unless it is for so many axes that are commanded."""
        if self.matrix is not None and self.matrix.shape[1] != axes:
            raise fault(f"{self.matrix.shape[1]} column(s) for {axes} commanded axis(es); give one for each", "matrix")
        if len(self.actuators) < axes:
            raise fault(f"{len(self.actuators)} actuator(s) cannot move {axes} axes; make some passive", "actuators")

    def to_strokes(self, name: str, pose: tuple[str, ...], signal: str) -> Block:
        """The block ``name``, from channels of a pose to the strokes ``signal``."""
        outputs = channels(signal, "m", len(self.actuators), of="actuator")
        return self._block(name, self.strokes, self.matrix, pose, outputs)

    def to_pose(self, name: str, strokes: tuple[str, ...], pose: tuple[Channel, ...]) -> Block:
        """The block ``name``, from channels of strokes to those of a pose."""
        inverse = None
        if self.matrix is not None:
            square = len(self.matrix) == self.matrix.shape[1]
            inverse = np.linalg.inv(self.matrix) if square else np.linalg.pinv(self.matrix)
        return self._block(name, self.pose, inverse, strokes, pose)

    def strokes_at(self, pose: np.ndarray) -> np.ndarray:
        """The strokes in a pose of the commanded axes, out of the code that runs."""
        source = probe(len(pose), "m")
        loop = Loop([source, self.to_strokes("strokes", names(source.outputs), "stroke")], dt=1.0)
        loop.state(PROBE)["value"] = pose
        loop.run(1)
        at = Axes.numbered(len(self.actuators)).channels("stroke")
        return np.array([loop.vector[loop.index[name]] for name in at])

    @staticmethod
    def _block(
        name: str,
        function: UserFunction | None,
        matrix: np.ndarray | None,
        inputs: tuple[str, ...],
        outputs: tuple[Channel, ...],
    ) -> Block:
        if function is None:
            assert matrix is not None
            kept: dict[str, Value] = {"matrix": np.ascontiguousarray(matrix)}
            return Block(name, matrix_step, inputs, outputs, kept)
        block = Block(name, function.load(), inputs, outputs, function.parameters, function.state, function.frozen)
        try_out(block)
        return block
