"""A rig that is held where it stands, through its driver: the loop of a trial and of a calibration.

    pace → hold → driver.write → driver.read → channels

Every channel is watched as in a test, by the same blocks.  A fault of any makes the driver safe and ends the loop.
"""

from __future__ import annotations

import threading

import numpy as np

from ..contracts.context import numbered
from ..definition.definition import Definition
from ..drivers.blocks import channels_block, read_block, write_block
from ..drivers.host import Host
from ..drivers.table import Wired
from ..kernels.block import Block, Channel, channels
from ..kernels.control import WORDS
from ..kernels.datagram import IDLE, OWN_FAULT, SAFE
from ..kernels.loop import Loop
from ..kernels.modes import ARMED, FINISHED, RUNNING
from ..links.driver import measured_channels
from ..links.pace import pace
from .preparation import where_it_stands
from .privileges import prioritise

PRIORITY = 70


def hold_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    """Represents guard and rig end: holds, with digital outputs as when idle, until a block has a fault."""
    for i in range(p.command.size):
        y[i] = p.command[i]
    n = p.command.size
    y[n], y[n + 1], y[n + 2], y[n + 3] = RUNNING, ARMED, IDLE, 0.0
    if u[0] != 0.0:
        y[n], y[n + 2], y[n + 3] = FINISHED, SAFE, OWN_FAULT
    return 0


def holding_loop(definition: Definition, host: Host, table: Wired, raw: np.ndarray, *, writes: bool = True) -> Loop:
    """The loop of ``halfreal serve`` without its link: it holds the rig where it stands, or only ``writes`` nothing."""
    n, step = definition.virtual.axes, definition.period
    displacement, force, _ = np.split(table.values(raw), [n, 2 * n])
    stands = where_it_stands(definition, displacement, force)
    commands = numbered("command", n)
    names = (*commands, "guard.mode", "test.mode", "rig.state", "rig.code")
    outputs = (*channels("command", "m", n, of="actuator"), *(Channel(name, "1") for name in names[n:]))
    hold = Block("hold", hold_step, ("loop.fault",), outputs, {"command": np.array(stands)})
    write = write_block(host, table, commands, "test.mode", "rig.state", "rig.code", stands, period=definition.period)
    blocks = [read_block(host, table, raw), channels_block(table, step, raw, measured_channels(definition))]
    blocks = [write, *blocks] if writes else blocks
    paced = pace(step, definition.real_time.spin, "hold", waits=True)
    return Loop(*definition.interface.named([paced, hold], [], blocks), dt=step)


def driven(loop: Loop, ticks: int, log: np.ndarray | None = None, record: tuple[str, ...] = ()) -> None:
    """Run a loop in a thread with a test's rights."""
    rows = np.empty((0, 1)) if log is None else log

    def work() -> None:
        prioritise(PRIORITY, None)
        loop.drive(ticks, rows, record, np.zeros(WORDS, dtype=np.int64))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join()
