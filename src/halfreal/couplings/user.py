"""A coupling written by the user: a function ``step(p, s, t, u, y)`` in a file of theirs.

Its inputs are u = (targets…, measured displacements…, measured forces…), its outputs the asked commands…, all of time
t.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from ..contracts.quantities import Commands
from ..contracts.user_code import UserFunction
from ..kernels.block import Block, channels
from ..kernels.user import try_out
from .plain import PlainCoupling


class UserCoupling(UserFunction, PlainCoupling):
    """A coupling written by the user."""

    kind: Literal["user"]
    follows_forces: ClassVar[bool] = True
    serves_slow_tests: ClassVar[bool] = True

    def gives(self, targets: Commands) -> Commands | None:
        """The function says, and nobody asks it."""
        return None

    @property
    def nonlinearities(self) -> tuple[str, ...]:
        """A user's function may be anything."""
        return ("coupling: a user's function",)

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        """The block "coupling", tried out."""
        block = Block(
            name="coupling",
            step=self.load(),
            inputs=(*target, *measured),
            outputs=channels("command.asked", unit, len(target), of="actuator"),
            parameters={"dt": dt, **self.parameters},
            state=self.state,
            frozen=self.frozen,
        )
        try_out(block)
        return block
