"""Both ends of the link in one process, each in a loop with the smallest blocks that make one."""

from __future__ import annotations

import itertools
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from halfreal.contracts.link import Link
from halfreal.kernels.block import Block, Channel, channels
from halfreal.kernels.loop import Loop
from halfreal.kernels.modes import TRIPPED
from halfreal.links.controller_end import ControllerEnd, Offer
from halfreal.links.pace import pace
from halfreal.links.rig_command import OwnLimits
from halfreal.links.rig_end import RigEnd, RigSession
from halfreal.links.serial import Serial
from halfreal.links.shared_memory import MailboxWire, SharedMemory
from halfreal.links.udp import Udp, UdpWire
from halfreal.links.wires import Wire

STEP = 1e-3
KEY = 0xFEDC_BA98_7654_3210
STIFFNESS = 1000.0
LONG = 1000.0
"""A lease or an age [s] that no test sees the end of."""
LEASE = 5.0
"""What rigs of sessions grant [s]."""
SOON = 1e-6
_numbers = itertools.count()


def ramp_step(p, s, t, u, y):
    y[0] = p.slope * t
    y[1] = p.mode
    return 0


def spring_step(p, s, t, u, y):
    y[0] = u[0]
    y[1] = p.stiffness * u[0]
    return 0


def ramp(mode: float = 0.0) -> Block:
    """A guard whose command is a millionth of the time."""
    outputs = (Channel("command", "m"), Channel("guard.mode", "1"))
    return Block("guard", ramp_step, (), outputs, {"slope": 1e-6, "mode": mode})


def spring() -> Block:
    measured = (*channels("measured.displacement", "m", 1), *channels("measured.force", "N", 1))
    return Block("sensors", spring_step, ("command",), measured, {"stiffness": STIFFNESS})


@contextmanager
def sockets() -> Iterator[tuple[UdpWire, socket.socket]]:
    """A wire, and the far end of it as a plain socket."""
    near, far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    with near, far:
        for end in (near, far):
            end.bind(("127.0.0.1", 0))
            end.setblocking(False)
        near.connect(far.getsockname())
        far.connect(near.getsockname())
        yield UdpWire(near, "the far end"), far


@contextmanager
def mailboxes() -> Iterator[tuple[MailboxWire, MailboxWire]]:
    """The rig's end and the controller's."""
    where = link("shared memory")
    assert isinstance(where, SharedMemory)
    with closing(MailboxWire(where.name, rig=True)) as rig, closing(MailboxWire(where.name, rig=False)) as controller:
        yield rig, controller


def controller_loop(
    end: ControllerEnd, offer: Offer, *, waits: bool, trip: float = LONG, mode: float = 0.0, step: float = STEP
) -> Loop:
    send, receive = end.blocks(("command",), step, waits=waits, stale_warn=trip / 2, stale_trip=trip, offer=offer)
    return Loop([ramp(mode)], outer=[send, receive], dt=step)


def rig_loop(
    end: RigEnd, session: RigSession, *, waits: bool, returns: bool = False, return_time: float = 0.01
) -> Loop:
    command = end.command_block(session, np.zeros(1), waits=waits, returns=returns, return_time=return_time)
    return Loop([command], outer=[spring(), end.answer_block(session)], dt=STEP)


def rig_end(wire: Wire, step: float = STEP, limits: OwnLimits | None = None) -> RigEnd:
    """A rig's end of one axis, without limits of its own if left out."""
    return RigEnd(1, step, wire, "", LONG, limits)


def offer_of(displacement: float | np.ndarray = 0.0, force: float | np.ndarray = 0.0) -> Offer:
    """What a rig without limits of its own offers."""
    where, holds = np.atleast_1d(displacement), np.atleast_1d(force)
    return Offer(KEY, where, holds, *(np.full(where.size, np.inf) for _ in range(3)))


def value(loop: Loop, name: str) -> float:
    return float(loop.vector[loop.index[name]])


def link(medium: str) -> Link:
    """A link of its own for a rig in this process: any free port, a pseudo-terminal, or a name of its own."""
    if medium == "udp":
        return Udp(kind="udp", rig="127.0.0.1:0", lease=LEASE)
    if medium == "serial":
        port = Path(tempfile.gettempdir()) / f"halfreal-test-{os.getpid()}-{next(_numbers)}"
        return Serial(kind="serial", port=str(port), rig="pty", lease=LEASE)
    return SharedMemory(kind="shared memory", name=f"test-{os.getpid()}-{next(_numbers)}", lease=LEASE)


def reach(link: Link, rig: RigEnd) -> ControllerEnd:
    """The controller's end of a link that a rig serves."""
    return ControllerEnd.connect(Udp(kind="udp", rig=rig.address) if isinstance(link, Udp) else link)


@contextmanager
def loops_of_both_ends() -> Iterator[dict[str, Loop]]:
    """For counting allocations: what one end sends the other hears, and those that wait do so for a microsecond."""
    with sockets() as (near, far):
        far_wire = UdpWire(far, "the near end")
        controller, offer = ControllerEnd(near), offer_of()
        rig, session = rig_end(far_wire, SOON), RigSession(KEY, LONG, far_wire)
        commands, limits = ("command",), {"stale_warn": None, "stale_trip": None}
        send, receive = controller.blocks(commands, SOON, waits=False, offer=offer, **limits)
        waiting = controller.blocks(commands, SOON, waits=True, offer=offer, **limits)
        in_step = rig.command_block(
            replace(session, lease=SOON), np.zeros(1), waits=True, returns=True, return_time=LONG
        )
        yield {
            "controller": Loop([ramp()], outer=[send, pace(SOON, 0.0, "hold", waits=True), receive], dt=SOON),
            "rig": rig_loop(rig, session, waits=False),
            "controller paced by its rig": Loop(
                [ramp(TRIPPED)], outer=[*waiting, pace(SOON, 0.0, "hold", waits=False, idle=("link.idle",))], dt=SOON
            ),
            "rig in step": Loop([in_step], outer=[spring(), rig.answer_block(session)], dt=SOON),
        }
