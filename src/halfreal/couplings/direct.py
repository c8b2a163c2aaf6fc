"""No coupling: the command is the target.  The loop then runs with the whole delay of its rig."""

from __future__ import annotations

from typing import Literal

from ..kernels.block import Block, channels
from ..settings import Settings


def direct_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    for i in range(y.size):
        y[i] = u[i]
    return 0


class Direct(Settings):
    kind: Literal["none"] = "none"

    def block(self, dt: float, unit: str, target: tuple[str, ...], measured: tuple[str, ...]) -> Block:
        return Block(
            name="coupling",
            step=direct_step,
            inputs=(*target, *measured),
            outputs=channels("command.asked", unit, len(target)),
        )
