"""A virtual substructure in state space:

    x˙ = A x + B u,    u = (excitation, measured forces…)
    y = C x + D u,     y = (interface displacements…, responses…)

in SI units.  A measured force is positive when it resists a positive displacement: B and D carry its minus sign.  The
model is integrated exactly, with inputs linear between their samples or held (``halfreal.models.schemes.exact``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from ...contracts.quantities import ActsAs, Hold
from ...contracts.state_space import StateSpace
from ...kernels.block import Block
from ...settings import Matrix, Vector, fault
from ..schemes.any_scheme import answered_next_tick
from ..schemes.exact import exact_method
from . import virtual_block as virtual
from .virtual_block import OneBlock

if TYPE_CHECKING:
    from ...contracts.rig import Rig


class StateSpaceModel(OneBlock):
    """A linear model by its matrices A, B, C, D."""

    kind: Literal["state space"] = "state space"
    interface: Annotated[int, Field(ge=1)] = 1
    """Number of interface axes."""
    responses: dict[Annotated[str, Field(min_length=1)], str] = Field(default_factory=dict)
    """Names and units of the outputs that follow the interface displacements."""
    A: Annotated[np.ndarray, Matrix("1")]
    B: Annotated[np.ndarray, Matrix("1")]
    C: Annotated[np.ndarray, Matrix("1")]
    D: Annotated[np.ndarray, Matrix("1")] | None = None
    initial_state: Annotated[np.ndarray, Vector("1")] | None = None
    hold: Hold = "first"

    @field_validator("A")
    @classmethod
    def _square(cls, a: np.ndarray) -> np.ndarray:
        if a.shape[0] != a.shape[1]:
            raise fault(f"A is {a.shape[0]} × {a.shape[1]}; it must be square, with one row for each state")
        return a

    @field_validator("B", "C", "D", "initial_state")
    @classmethod
    def _fits(cls, array: np.ndarray | None, info: ValidationInfo) -> np.ndarray | None:
        a, axes, responses = (info.data.get(key) for key in ("A", "interface", "responses"))
        if array is None or a is None or axes is None or responses is None:
            return array
        n, inputs, outputs = len(a), 1 + axes, axes + len(responses)
        shapes = {"B": (n, inputs), "C": (outputs, n), "D": (outputs, inputs), "initial_state": (n,)}
        expected = shapes[str(info.field_name)]
        if array.shape != expected:
            raise fault(
                f"the shape is {' × '.join(map(str, array.shape))} where {' × '.join(map(str, expected))} is expected: "
                f"{n} state(s), {inputs} inputs (excitation and {axes} force(s)), {outputs} output(s) ({axes} "
                f"displacement(s) and {len(responses)} response(s))"
            )
        return array

    @property
    def axes(self) -> int:
        """Number of interface axes."""
        return self.interface

    def initial_target(self) -> np.ndarray:
        """Interface displacements at the start [m], without inputs."""
        return np.asarray(self.C[: self.axes] @ self._initial())

    def at_rest(self, rig: Rig | None = None) -> Self:
        return self.unchecked_copy({"initial_state": None})

    @property
    def force_hold(self) -> Hold:
        return self.hold

    def check_slow(self) -> None:
        raise fault(
            "a state space uses the measured force as that of the same tick, but in a slow test it is the "
            "response to the previous target; give the virtual substructure by its matrices, with virtual.scheme = "
            f"{' or '.join(map(repr, answered_next_tick()))}"
        )

    def linear_model(self) -> StateSpace:
        n = self.axes
        direct = np.zeros((n, n)) if self.D is None else self.D[:n, 1:]
        return StateSpace(self.A, self.B[:, 1:], self.C[:n], direct)

    def block(self, dt: float, excitation: ActsAs, feedback: tuple[str, ...]) -> Block:
        """The block "virtual", which reads the named feedback channels and writes the target."""
        direct = np.zeros((len(self.C), self.B.shape[1])) if self.D is None else self.D
        return virtual.virtual_block(
            exact_method((self.A, self.B, self.C, direct), self._initial(), dt, self.hold),
            axes=self.axes,
            excitation=virtual.EXCITATION[:1],
            feedback=feedback,
            responses=self.responses,
        )

    def _initial(self) -> np.ndarray:
        return np.zeros(len(self.A)) if self.initial_state is None else self.initial_state
