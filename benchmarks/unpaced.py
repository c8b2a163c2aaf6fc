"""Both ends of a link without the least time between two commands, which would else be most of a tick.

``python benchmarks/unpaced.py TEST.toml`` is ``halfreal rig TEST.toml --in-step --once`` in this way.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from halfreal.kernels.block import Block
from halfreal.links import controller_end, rig_end

SHORT, FAST = 1e-9, 1e15
"""Instead of the period [s] and of the rig's own rate limit [m/s]."""


def changed(block: Block, **values: Any) -> Block:
    return replace(block, parameters={**block.parameters, **values})


@contextmanager
def unpaced_controller() -> Iterator[None]:
    """Within it a controller of this process sends a command as soon as it is there."""
    paced = controller_end.ControllerEnd.blocks

    def blocks(self: Any, *arguments: Any, **options: Any) -> tuple[Block, Block]:
        send, receive = paced(self, *arguments, **options)
        return changed(send, period=1e9 * SHORT), receive

    controller_end.ControllerEnd.blocks = blocks  # type: ignore[method-assign]
    try:
        yield
    finally:
        controller_end.ControllerEnd.blocks = paced  # type: ignore[method-assign]


def unpaced_rig() -> None:
    """Let the rigs of this process follow a command as soon as it has come."""
    paced = rig_end.command_block

    def command_block(*arguments: Any, **options: Any) -> Block:
        block = paced(*arguments, **options)
        # in so short a time its rate limit would let it go nowhere
        return changed(block, dt=SHORT, fastest=np.full(np.shape(block.parameters["fastest"]), FAST))

    rig_end.command_block = command_block


if __name__ == "__main__":
    from halfreal.cli import app

    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the controller has the first one
    unpaced_rig()
    app(["rig", sys.argv[1], "--in-step", "--once"])
