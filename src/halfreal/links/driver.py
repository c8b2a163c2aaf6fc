"""A rig on this computer, moved by a driver inside the loop of ``halfreal run``: no datagrams, no other process.

    guard → link.send (counts) → driver.write (waits for its turn) → [next tick] → driver.read → channels → link.receive

The guard of the test is the rig's guard too.  The driver's watchdog and warden (``halfreal.drivers``) make it safe when
the loop stops, for any reason.  A driver in Python is called under the interpreter's lock; one in C is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..contracts.driver import DriverError, Opening
from ..contracts.link import Link
from ..drivers.blocks import channels_block, read_block, write_block
from ..drivers.host import TOO_SILENT, Host
from ..drivers.table import Wired
from ..kernels.block import Block, Channel, channels
from ..kernels.datagram import ARMED_RIG
from ..kernels.loop import Loop
from ..safety.limits import UNLIMITED
from .controller_end import Offer
from .identity import Identity
from .wires import LinkError, Listener, NoWire, Wire

if TYPE_CHECKING:
    from ..definition.definition import Definition

READS = 5
"""Of a driver before a rig is taken for ready."""


class DriverLink(Link):
    """A rig on this computer, behind the definition's [driver], in the loop itself."""

    kind: Literal["driver"] = "driver"
    clocked: bool = False
    """Whether the driver's read waits for the next hardware sample, for real_time.pacing = "rig"."""

    @property
    def paces(self) -> bool:
        return self.clocked

    @property
    def needs_driver(self) -> bool:
        return True

    @property
    def guarded(self) -> str:
        return "in the loop's process"

    def end(self, test: Definition) -> DriverEnd:
        return DriverEnd(test, self.lease)

    def to_rig(self) -> Wire:
        raise LinkError('link.kind = "driver" has no wire: halfreal run opens the driver itself')

    def listen(self) -> Listener:
        raise LinkError(
            'link.kind = "driver" has no other end to serve: halfreal run opens the driver itself; for a separate rig '
            'end use link.kind = "udp" or "shared memory"'
        )


def wired(test: Definition) -> Wired:
    """The channel table of a definition in the order of its interface; a ``DriverError`` if there is none."""
    if not test.channels.inputs or not test.channels.outputs:
        raise DriverError(
            "the definition has no channel table; define the raw channels in [channels.inputs.NAME] and "
            "[channels.outputs.NAME] (docs/drivers.md)"
        )
    units = {name: one.unit for name, one in test.auxiliary.items()}
    return Wired.of(test.channels, test.interface, units, test.commands)


def opened(test: Definition, lease: float, use: str = "", **how: Any) -> Host:
    """The driver of a definition, or another one, opened for its channel table; ``how`` as ``Host`` takes it."""
    if test.driver is None and not use:
        raise DriverError("the definition has no [driver]; add one, or name it with --driver")
    inputs, outputs = wired(test).terminals
    # what another driver wants to know is not for this one
    settings = {} if test.driver is None or use not in ("", test.driver.use) else test.driver.settings
    opening = Opening(inputs, outputs, test.period, dict(settings))
    return Host(use or test.driver.use, opening, lease, **how)  # type: ignore[union-attr]


def measured_channels(test: Definition) -> tuple[Channel, ...]:
    """What a rig measures, numbered."""
    n = test.virtual.axes
    return (
        *channels("measured.displacement", "m", n, of="axis"),
        *channels("measured.force", "N", n, of="axis"),
        *test.auxiliary_channels,
    )


def looked_at(host: Host, table: Wired) -> np.ndarray:
    """Raw values of a rig at rest, if all its channels are well; else an error that says which is not."""
    for _ in range(READS):
        raw = host.read()
    for (name, one), value in zip(table.inputs.items(), raw, strict=True):
        what = f"channel {name} ({one.terminal}) reads {value:g} {one.raw}"
        low, high = one.bounds
        if not np.isfinite(value):
            raise LinkError(f"channel {name} ({one.terminal}) does not read a finite number; check its wiring")
        if one.healthy is not None and (value >= 0.5) != (one.healthy >= 0.5):
            said = "the emergency stop is pressed" if one.emergency else "the interlock is open"
            raise LinkError(f"{what}: {said}; release it first")
        if one.healthy is None and not low < value < high:
            raise LinkError(f"{what}, at or beyond its range of {low:g} to {high:g} {one.raw}; check its wiring")
    return raw


class DriverEnd:
    """What ``ControllerEnd`` is for datagrams: the rig is found, armed, exchanged with, and let go."""

    def __init__(self, test: Definition, lease: float) -> None:
        self._test, self._lease, self._table = test, lease, wired(test)
        self.host = opened(test, lease)
        self.wire = NoWire()
        assert test.driver is not None
        self.wire.address = f"driver {self.host.name}"
        self._raw = np.zeros(0)

    def hello(self, axes: int, step: float, lease: float, patience: float, auxiliary: int = 0) -> Offer:
        """See where the rig stands; it does not move."""
        if self.host.made_safe:
            self.host.reopen()
        self._raw = looked_at(self.host, self._table)
        displacement, force, others = np.split(self._table.values(self._raw), [axes, 2 * axes])
        largest = np.array(
            [out.reach(unit) for out, unit in zip(self._table.outputs.values(), self._table.command_units, strict=True)]
        )
        endless = np.full(axes, np.inf)
        who = Identity(self.host.nature, self.host.name)
        open_ended = np.where(largest < UNLIMITED, largest, np.inf)
        return Offer(1, displacement, force, open_ended, endless, endless, others, who)

    def arm(self, patience: float) -> int:
        self.host.arm(self._lease)
        return 1

    def if_lost(self, command: Sequence[str]) -> None:
        """What is run when this process is lost, once the rig is safe, with one argument more: why."""
        self.host.if_lost(command)

    def begin(self, loop: Loop, first: int) -> None:
        """The loop begins with its first tick."""

    def stop(self, sent: float) -> None:
        """Let the rig go: safe."""
        self.host.disarm()
        self.host.safe()

    def stuck(self) -> str:
        """Why the loop cannot come to its end, if it cannot: its driver does not return."""
        return f"{TOO_SILENT}: {self.host.why()}" if self.host.blocked else ""

    def close(self) -> None:
        self.host.close()

    def blocks(
        self,
        commands: tuple[str, ...],
        period: float,
        *,
        rate: np.ndarray | None = None,
        stands: np.ndarray | None = None,
        spin: float = 0.0,
        waits: bool,
        offer: Offer,
        **others: Any,
    ) -> tuple[Sequence[Block], Sequence[Block]]:
        """Blocks that send commands, and those that bring measurements."""
        n = len(commands)
        send = Block(
            name="link.send",
            step=send_step,
            inputs=(),
            outputs=(Channel("link.sent", "1"),),
            parameters={},
            state={"sequence": 1.0},
            frozen=("sequence",),
        )
        table = self._table
        at = np.zeros(n) if stands is None else stands
        names = ("guard.mode", "rig.state", "rig.code")
        write = write_block(self.host, table, commands, *names, at, period=period, rate=rate, spin=spin)
        read = read_block(self.host, table, self._raw)
        measured = channels_block(table, period, self._raw, measured_channels(self._test))
        receive = Block(
            name="link.receive",
            step=receive_step,
            inputs=("driver.read_time",),
            outputs=(
                *(Channel(f"link.{name}", "s") for name in ("age", "idle")),
                *(Channel(f"link.{name}", "1") for name in ("lag", "stale", "newest", "late", "lost")),
                Channel("rig.state", "1"),
                Channel("rig.code", "1"),
            ),
            parameters={"request": 0.0, "waits": float(waits)},
            state={"newest": 0.0},
            frozen=("newest",),
            watched=("rig.state",),
            initial=(*[0.0] * 7, ARMED_RIG),
        )
        return (send, write), (read, measured, receive)


def send_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    s.sequence += 1.0
    y[0] = s.sequence
    return 0


def receive_step(p, s, t, u, y):  # type: ignore[no-untyped-def]
    """The channels that people and programs know from a link: nothing is late or lost here."""
    s.newest += 1.0
    y[1] = u[0] if p.waits != 0.0 else 0.0
    y[4] = s.newest
    y[7] = ARMED_RIG
    return 0
