"""A coupling written by the user: a function ``step(p, s, t, u, y)`` in a file of theirs.

Its inputs are u = (targets…, measured displacements…, measured forces…), its outputs the asked commands…, all of time
t.
"""

from __future__ import annotations

from typing import Literal

from ..kernels.block import Block, channels
from ..kernels.user import try_out
from ..models.structures.user import UserFunction


class UserCoupling(UserFunction):
    """A coupling written by the user."""

    kind: Literal["user"]

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        """The block "coupling", tried out."""
        block = Block(
            name="coupling",
            step=self.load(),
            inputs=(*target, *measured),
            outputs=channels("command.asked", unit, len(target)),
            parameters={"dt": dt, **self.parameters},
            state=self.state,
            frozen=self.frozen,
        )
        try_out(block)
        return block
