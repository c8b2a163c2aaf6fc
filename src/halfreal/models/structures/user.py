"""A virtual substructure written by the user: a function ``step(p, s, t, u, y)`` in a file of theirs.

Its inputs are u = (excitation, its rate, measured forces…), its outputs y = (interface displacements…, responses…),
all of time t (contract in ``halfreal.kernels.block``).  ``p`` and ``s`` have the fields of ``parameters`` and
``state``; ``p.dt`` is the step [s] without being named.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ...contracts.quantities import ActsAs
from ...contracts.system import Method
from ...contracts.user_code import UserFunction
from ...kernels.block import Block
from ...kernels.user import try_out
from . import virtual_block as virtual
from .virtual_block import OneBlock


class UserModel(OneBlock, UserFunction):
    """A virtual substructure written by the user."""

    kind: Literal["user"]
    interface: Annotated[int, Field(ge=1)] = 1
    """Number of interface axes."""
    responses: dict[Annotated[str, Field(min_length=1)], str] = Field(default_factory=dict)
    """Names and units of the outputs that follow the interface displacements."""

    @property
    def axes(self) -> int:
        """Number of interface axes."""
        return self.interface

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        return ("virtual: a function of the user",)

    def check_slow(self) -> None:
        """The function may take a force for the answer to the target before; only its author knows."""

    def block(self, dt: float, excitation: ActsAs, feedback: tuple[str, ...]) -> Block:
        """The block "virtual", tried out."""
        block = virtual.virtual_block(
            Method(self.load(), {"dt": dt, **self.parameters}, self.state, self.frozen),
            axes=self.axes,
            excitation=virtual.EXCITATION,
            feedback=feedback,
            responses=self.responses,
        )
        try_out(block)
        return block
