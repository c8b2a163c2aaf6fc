"""Both ends of a link without the least time between two commands, which would else be most of a tick.

In this way, ``python benchmarks/unpaced.py rig TEST.toml`` is ``halfreal rig TEST.toml --in-step --once``, and
``python benchmarks/unpaced.py controller TEST.toml TIMES.npy`` a run of the test that keeps the time of each tick [s].
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import halfreal
from halfreal.definition.definition import Definition
from halfreal.kernels.block import Block
from halfreal.links import controller_end, rig_end
from halfreal.live.session import Session

PR_SET_PDEATHSIG = 1
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


def ticks(definition: Definition, output: Path) -> np.ndarray:
    """Times of the ticks of a run in step with its rig [s]: waiting for the rig, and all the rest.

    "armed" is printed when the loop begins, "done" when it has ended.
    """
    session = Session(definition, output, overwrite=True)
    try:
        session.check()
        session.arm()
        print("armed", flush=True)
        session.wait()
        print("done", flush=True)
        found = session.finish()
    finally:
        session.close()
    if found.outcome != "completed":
        raise RuntimeError(f"the run in step with its rig has {found.outcome}: {found.reason}")
    return np.asarray(found.signals["link.idle"].values + found.signals["pace.execution"].values)


if __name__ == "__main__":
    # it may have been stopped by whom it now would wait for
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    file = Path(sys.argv[2])
    if sys.argv[1] == "rig":
        from halfreal.cli import app

        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the controller has the first one
        unpaced_rig()
        app(["rig", str(file), "--in-step", "--once"])
    else:
        with unpaced_controller():
            np.save(sys.argv[3], ticks(halfreal.load(file), file.with_suffix(".h5")))
