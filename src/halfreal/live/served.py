"""A real rig behind our own rig end: ``halfreal serve``, around a driver.

    pace → link.command → driver.write → driver.read → channels → link.answer

Session, lease, limits of its own, emergency stop, safe state and counters are those of the simulated rig
(``live/rig.py``); in the place of actuator, specimen and sensors are the blocks of a driver (``halfreal.drivers``).  A
driver is sampled at the beginning of a tick, right after the command was written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from .. import __version__
from ..contracts.context import numbered
from ..contracts.driver import DriverError
from ..definition.definition import Definition
from ..drivers.blocks import channels_block, read_block, write_block
from ..drivers.host import TOO_SILENT
from ..errors import HalfrealError
from ..kernels.datagram import SAFE
from ..kernels.loop import Loop
from ..kernels.tick import compiled_run
from ..links.driver import looked_at, measured_channels, opened, wired
from ..links.identity import Identity
from ..links.pace import pace
from ..links.rig_end import RigEnd, RigSession
from ..links.wires import LinkError, NoWire
from ..records import last_words
from .preparation import where_it_stands
from .rig import Served, VirtualRig, own_limits, serve_sessions
from .rig_record import RigRecord

EXIT_BLOCKED = 1


class DriverRig(VirtualRig):
    """The rig behind a driver, serving sessions one after another."""

    def __init__(self, definition: Definition, use: str = "", say: Callable[[str], None] = print) -> None:
        if definition.link is None:
            raise HalfrealError('the definition has no [link] to serve; add one, such as kind = "udp"')
        if definition.link.needs_driver:
            definition.link.listen()  # says that it has no other end, before any hardware is opened
        self.definition, self.in_step, self._say = definition, False, say
        self._last = None
        self.axes = definition.virtual.axes
        self.table = wired(definition)
        self._auxiliary = [channel.name for channel in definition.auxiliary_channels]
        self.host = opened(definition, definition.link.lease, use)
        try:
            self.end = RigEnd.listen(
                definition.link,
                self.axes,
                definition.period,
                own_limits(definition),
                Identity(self.host.nature, f"{self.host.name}, halfreal {__version__}: {definition.title}"),
                self._auxiliary,
            )
            self._raw = looked_at(self.host, self.table)
            self._take(self._raw)
            self._channels = self._loop(RigSession(1, 1.0, NoWire())).channels  # compiled before anyone waits for it
            compiled_run.ready()
        except BaseException:
            self.host.close()
            raise
        self._complained = ""

    def _take(self, raw: np.ndarray) -> None:
        self._raw = raw
        parts = np.split(self.table.values(raw), [self.axes, 2 * self.axes])
        self.displacement, self.force, self.auxiliary = parts

    def measured(self) -> tuple[np.ndarray, ...]:
        """As they are now; NaN, with which no controller arms a rig, where a channel is not well."""
        try:
            if self.host.made_safe:
                self.host.reopen()
            self._take(looked_at(self.host, self.table))
            self._complained = ""
        except LinkError as error:
            if str(error) != self._complained:
                self._say(f"not ready: {error}")
                self._complained = str(error)
            return np.full(self.axes, np.nan), self.force, self.auxiliary
        return super().measured()

    def _loop(self, session: RigSession) -> Loop:
        definition, n = self.definition, self.axes
        by_force, step = definition.commands == "force", definition.period
        stands = where_it_stands(definition, self.displacement, self.force)
        command = self.end.command_block(
            session,
            stands,
            waits=False,
            returns=by_force or definition.limits.on_trip == "return",
            return_time=definition.limits.return_time,
            unit="N" if by_force else "m",
            home=np.zeros(n) if by_force else None,
        )
        names, spin = ("link.mode", "rig.state", "rig.code"), definition.real_time.spin
        rate = own_limits(definition).fastest
        commands = numbered("command", n)
        write = write_block(self.host, self.table, commands, *names, stands, period=step, rate=rate, spin=spin)
        read = read_block(self.host, self.table, self._raw)
        measured = channels_block(self.table, step, self._raw, measured_channels(definition))
        answer = self.end.answer_block(session)
        paced = pace(step, spin, "hold", waits=True)
        groups = definition.interface.named([paced, command], [write], [read, measured, answer])
        return Loop(*groups, dt=step, follow="link.tick")

    def take_hold(self, session: RigSession, output: Path | None) -> None:
        self.host.if_lost([] if output is None else last_words.command(output))
        self.host.arm(session.lease)

    def look_after(self, loop: Loop, record: RigRecord | None) -> None:
        """A driver that does not return keeps the loop from ending: this process then ends, and says why."""
        if self.host.blocked:
            why = f"{TOO_SILENT}: {self.host.why()}, and it has not returned since"
            self._say(f"safe ({why}); this rig end stops, restart it when the driver works again")
            if record is not None:
                for line in record.finish("tripped", why):
                    self._say(line)
            self.end.close()
            self.host.close()
            os._exit(EXIT_BLOCKED)

    def let_go(self, at: Mapping[str, float]) -> None:
        self.host.disarm()
        self.host.if_lost()
        if at["rig.state"] == SAFE and not self.host.made_safe:
            self.host.safe()
        elif not self.host.made_safe:  # idle: held, with the digital outputs of that state
            commands = self.definition.interface.actuators.channels("command")
            self.host.write(self.table.resting([at[name] for name in commands]))

    def serve(
        self,
        stop: Callable[[], bool] = lambda: False,
        told: Callable[[str], None] = print,
        output: Path | None = None,
    ) -> Served | None:
        """As any rig; one whose driver has failed serves no further session."""
        served = super().serve(stop, told, output)
        if self.host.failed:
            raise DriverError(
                f"the driver failed: {self.host.why()}; it was brought to a safe state, and this rig end stops"
            )
        return served

    def close(self) -> None:
        try:
            super().close()
        finally:
            self.host.close()


def serve_driver(
    definition: Definition,
    use: str = "",
    *,
    once: bool = False,
    output: Path | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Serve sessions of the rig behind a driver until it is ended."""
    rig = DriverRig(definition, use, say)
    say(f"driver: {rig.host.name} ({rig.host.nature}), {'Python' if rig.host.driver.interpreted else 'compiled'}")
    serve_sessions(rig, once=once, output=output, say=say)
