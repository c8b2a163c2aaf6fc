"""A specimen, or a whole rig, written by the user: a function ``step(p, s, t, u, y)`` in a file of theirs."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ..contracts.axes import Axes
from ..contracts.context import Context
from ..contracts.rig import Rig, RigBlocks
from ..contracts.specimen import RigSpecimen
from ..contracts.user_code import UserFunction
from ..kernels.block import Block, channels
from ..kernels.user import try_out
from .specimen import specimen_inputs


class UserSpecimen(RigSpecimen, UserFunction):
    """u = (displacements…, velocities…, accelerations…, excitation), y = resisting forces…, on the rig's step."""

    kind: Literal["user"]

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        return ("a user's function",)

    def block(self, n: int, x0: np.ndarray, dt: float) -> Block:
        """The block "specimen", tried out."""
        block = Block(
            name="specimen",
            step=self.load(),
            inputs=specimen_inputs(n),
            outputs=channels("rig.force", "N", n, of="axis"),
            parameters={"dt": dt, **self.parameters},
            state=self.state,
            frozen=self.frozen,
        )
        try_out(block)
        return block


class UserRig(Rig, UserFunction):
    """u = commands… of this tick, y = (measured displacements…, measured forces…) of the next, at time t."""

    kind: Literal["user"]
    can_be_served: ClassVar[bool] = False

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        return ("rig: a user's function",)

    def blocks(self, context: Context, command: tuple[str, ...]) -> RigBlocks:
        """The user's function, once a tick."""
        return RigBlocks([], [self.block(command, context.period, len(context.axes))])

    def check_served(self, axes: Axes) -> None:
        """It is commanded and measured as its author says."""

    def block(self, commands: tuple[str, ...], dt: float, axes: int | None = None) -> Block:
        """The block "rig", tried out; it measures as many axes as it has commands if left out."""
        n = len(commands) if axes is None else axes
        block = Block(
            name="rig",
            step=self.load(),
            inputs=commands,
            outputs=(
                *channels("measured.displacement", "m", n, of="axis"),
                *channels("measured.force", "N", n, of="axis"),
            ),
            parameters={"dt": dt, **self.parameters},
            state=self.state,
            frozen=self.frozen,
        )
        try_out(block)
        return block
