"""A specimen, or a whole rig, written by the user: a function ``step(p, s, t, u, y)`` in a file of theirs."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..kernels.block import Block, channels
from ..kernels.user import try_out
from ..models.structures.user import UserFunction
from .specimen import specimen_inputs


class UserSpecimen(UserFunction):
    """u = (displacements…, velocities…, accelerations…, excitation), y = resisting forces…, on the rig's step."""

    kind: Literal["user"]

    def block(self, n: int, x0: np.ndarray, dt: float) -> Block:
        """The block "specimen", tried out."""
        block = Block(
            name="specimen",
            step=self.load(),
            inputs=specimen_inputs(n),
            outputs=channels("rig.force", "N", n),
            parameters={"dt": dt, **self.parameters},
            state=self.state,
            frozen=self.frozen,
        )
        try_out(block)
        return block


class UserRig(UserFunction):
    """u = commands… of this tick, y = (measured displacements…, measured forces…) of the next, at time t."""

    kind: Literal["user"]

    def block(self, commands: tuple[str, ...], dt: float) -> Block:
        """The block "rig", tried out."""
        n = len(commands)
        block = Block(
            name="rig",
            step=self.load(),
            inputs=commands,
            outputs=(*channels("measured.displacement", "m", n), *channels("measured.force", "N", n)),
            parameters={"dt": dt, **self.parameters},
            state=self.state,
            frozen=self.frozen,
        )
        try_out(block)
        return block
