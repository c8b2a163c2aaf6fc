"""The rig of a definition as a process of its own: actuator, specimen and sensors, simulated, behind its link.

The blocks are those of the rehearsal, in a loop of their own that follows the commands of whoever opens a session
(``docs/link.md``): on a clock of its own, or in step with the test's loop, one step for each command.  It makes itself
safe when commands stop coming.  Between sessions it is at rest where it was left, in a slow test under the force it
was left with; one that is commanded in force in real time is let go, and comes to rest where it began.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import __version__
from ..contracts.axes import Axes
from ..contracts.context import Context, numbered
from ..contracts.quantities import UNLIMITED
from ..contracts.rig import RigBlocks
from ..definition.definition import Definition
from ..definition.sections import MOST_TICKS
from ..errors import HalfrealError
from ..kernels.control import EMERGENCY_STOP, REQUEST, TICKS, WORDS
from ..kernels.datagram import OWN_FAULT
from ..kernels.loop import Loop
from ..kernels.tick import LOST, compiled_run
from ..links.identity import Identity
from ..links.pace import pace
from ..links.rig_command import OwnLimits
from ..links.rig_end import RigEnd, RigSession
from ..links.wires import NoWire
from ..rigs.auxiliary import with_auxiliary
from ..runs.build import watch
from ..safety.watched import COMMAND, COMMAND_RATE
from .preparation import where_it_stands
from .privileges import prioritise
from .resumption import take_over
from .rig_record import RigRecord
from .signals import SENDERS

FIRST = 1e-3
"""A session's first command may be so far [m or rad] from where the rig stands: some may have been lost before it."""
FURTHEST = 5e-3
"""Its longest step [m or rad] where its definition has no rate limit."""
ELSEWHERE = 1e-6
"""A displacement [m] that is not where the rig stands."""
PRIORITY = 70
STATES = {1.0: "idle", 2.0: "armed", 3.0: "safe"}
REASONS = {
    0.0: "",
    1.0: "no valid command within the lease",
    2.0: "a rig-side limit",
    3.0: "its emergency stop",
    4.0: "an internal fault of the rig",
}


@dataclass(frozen=True)
class Served:
    """What became of one session."""

    ticks: int
    state: str
    reason: str
    displacement: np.ndarray
    """Where the rig stands now."""
    axes: Axes
    counts: dict[str, int]
    """Datagrams by what was done with them."""
    slowed: int
    """Steps in which its rate limit kept it from following the command at once."""

    def summary(self) -> str:
        bad = ", ".join(f"{count} {name}" for name, count in self.counts.items() if count)
        where = self.axes.text(self.displacement, "m")
        why = f" ({self.reason})" if self.reason else ""
        slowed = f"; the rig-side rate limit acted in {self.slowed} steps" if self.slowed else ""
        return f"{self.state}{why} after {self.ticks} steps, at {where}; datagrams: {bad or 'all valid'}{slowed}"


class VirtualRig:
    """The simulated rig of a definition, serving sessions one after another."""

    def __init__(self, definition: Definition, *, in_step: bool = False, at: np.ndarray | None = None) -> None:
        if definition.link is None:
            raise HalfrealError("the definition has no [link] for the rig to serve; add one")
        if not definition.rig.can_be_served:
            raise HalfrealError(f"a rig of kind '{definition.rig.kind}' cannot be served; only a simulated rig can")
        self.definition, self.in_step = definition, in_step
        self._last: Loop | None = None
        self.axes = definition.virtual.axes
        begins = definition.virtual.initial_target()
        self.displacement = begins if at is None else np.broadcast_to(np.asarray(at, dtype=float), self.axes)
        self.force = np.zeros(self.axes)
        who = Identity("simulated", f"halfreal {__version__}: {definition.title}")
        self._auxiliary = [channel.name for channel in definition.auxiliary_channels]
        self.end = RigEnd.listen(
            definition.link, self.axes, definition.period, own_limits(definition), who, self._auxiliary
        )
        prepared = self._loop(RigSession(1, 1.0, NoWire()))  # compiled before anyone waits for it
        compiled_run.ready()
        if in_step:  # what its loop takes is part of every tick of the test
            prepared.fuse()
        self._channels = prepared.channels
        # so are the laws of its elements, which are first requested a force when it stands elsewhere
        self._rig_blocks(self.displacement + ELSEWHERE)
        self.force, self.auxiliary = (
            np.array([prepared.vector[prepared.index[name]] for name in names])
            for names in (self.definition.interface.channels("measured.force"), self._auxiliary)
        )
        self._rest = self.displacement, self.force

    @property
    def stands(self) -> np.ndarray:
        """The command under which it stands."""
        return where_it_stands(self.definition, self.displacement, self.force)

    def _rig_blocks(self, start: np.ndarray) -> RigBlocks:
        """The blocks of its rig, which begin with the interface at ``start``."""
        context = Context(self.definition, self.definition.virtual, start)
        return with_auxiliary(context, self.definition.rig.blocks(context, numbered("command", self.axes)))

    def _loop(self, session: RigSession) -> Loop:
        definition, n = self.definition, self.axes
        rig, step = definition.rig, definition.period
        by_force = definition.commands == "force"
        command = self.end.command_block(
            session,
            self.stands,
            waits=self.in_step,
            returns=by_force or definition.limits.on_trip == "return",  # a force that is held is not safe
            return_time=definition.limits.return_time,
            unit="N" if by_force else "m",
            home=np.zeros(n) if by_force else None,
        )
        inner, sensors = self._rig_blocks(self.displacement)
        answer = self.end.answer_block(session)
        paced = [] if self.in_step else [pace(step, definition.real_time.spin, "hold", waits=True)]
        return Loop(
            *definition.interface.named([*paced, command], inner, [*sensors, answer]),
            dt=step,
            substeps=rig.steps_per_tick,
            follow="link.tick",
        )

    def serve(
        self,
        stop: Callable[[], bool] = lambda: False,
        told: Callable[[str], None] = print,
        output: Path | None = None,
    ) -> Served | None:
        """Wait for a session and serve it until it ends or the rig has made itself safe; None if it is to stop.

        ``output`` is where the rig's own record of the session goes.
        """
        who, link = self.end.identity, self.definition.link
        assert link is not None
        known = {"nature": who.nature, "name": who.name, "address": self.end.address, "link": link.guarded}
        record = None if output is None else RigRecord(self.definition, self._channels, output, known)
        session = self.end.await_session(self.measured, stop, told)
        if session is None:
            return None
        loop = self._loop(session)
        if self._last is not None and self.definition.slow is not None:
            self._stay(self._last, loop)
        if self.in_step:
            loop.fuse(make=False)  # made when the rig began: nothing is compiled while a controller waits
        self._last = loop
        names = [channel.name for channel in loop.channels]
        rows = np.zeros((0, len(names) + 1)) if record is None else record.ring.rows
        words = np.zeros(WORDS, dtype=np.int64) if record is None else record.words

        endings: list[int] = []

        def drive() -> None:
            if not self.in_step:  # which has no clock to keep, and would only take the processor from its controller
                prioritise(PRIORITY, None)
            endings.append(loop.drive(int(MOST_TICKS), rows, names, words))

        # in a thread, so that this one still hears signals: whoever ends the rig wants it safe first
        thread = threading.Thread(target=drive, name="halfreal rig")
        self.take_hold(session, output)
        self.end.ready(session, (self.displacement, self.force, self.auxiliary))
        thread.start()
        try:
            if record is not None:
                record.begin()
            told("armed")
            while thread.is_alive():
                thread.join(0.02)
                self.look_after(loop, record)
                self.end.turn_away()
                if stop():
                    words[REQUEST] = EMERGENCY_STOP
        finally:  # of what else may happen here, none may leave it moving
            words[REQUEST] = EMERGENCY_STOP
            thread.join()
        at, axes = {name: float(loop.vector[loop.index[name]]) for name in names}, self.definition.interface
        self.let_go(at)
        self.end.close_session(at["rig.state"], at["rig.code"])
        served = Served(
            ticks=int(words[TICKS]),
            state=STATES[at["rig.state"]],
            reason=self.reason(loop, at["rig.code"]),
            displacement=self.displacement,
            axes=axes,
            counts={name.removeprefix("link."): int(at[name]) for name in self.end.counters},
            slowed=int(at["rig.slowed"]),
        )
        told(loop.ran_away() if LOST in endings else served.summary())
        if record is not None:
            for line in record.finish("tripped" if served.state == "safe" else "completed", served.reason):
                told(line)
        return served

    def measured(self) -> tuple[np.ndarray, ...]:
        """Displacements, forces and auxiliary channels as they are now."""
        return self.displacement, self.force, self.auxiliary

    def take_hold(self, session: RigSession, output: Path | None) -> None:
        """A session begins, with its record in ``output``."""

    def look_after(self, loop: Loop, record: RigRecord | None) -> None:
        """Some ten times a second during a session."""

    def reason(self, loop: Loop, code: float) -> str:
        """Why it has made itself safe."""
        fault = loop.describe(float(loop.vector[loop.index["loop.fault"]]))
        return f"{REASONS[code]}: {fault}" if code == OWN_FAULT and fault else REASONS[code]

    def let_go(self, at: Mapping[str, float]) -> None:
        """A session is over, in which channels had these values last."""
        axes = self.definition.interface
        self.displacement, self.force = (
            np.array([at.get(f"rig.{name}", at[f"measured.{name}"]) for name in axes.channels(quantity)])
            for quantity in ("displacement", "force")
        )
        if self.definition.commands == "force" and self.definition.slow is None:  # nothing holds it: it comes to rest
            self.displacement, self.force = self._rest

    @staticmethod
    def _stay(last: Loop, loop: Loop) -> None:
        """Let actuator, specimen and sensors be as they were: a slow test continues with the specimen it began with."""
        kept = {block.name for block in last.blocks} - {"link.command", "link.answer", "pace"}
        for block in loop.blocks:
            if block.name in kept:
                take_over(block, last, loop)

    def close(self) -> None:
        self.end.close()


def own_limits(definition: Definition) -> OwnLimits:
    """What the rig of a definition allows a command, regardless of its controller: the limits given there.

    The longest step is what the command can have changed by while as many commands were lost as its lease allows; of a
    rig commanded in displacement without a rate limit it is FURTHEST.
    """
    assert definition.link is not None
    watched, moves = watch(definition), definition.commands == "displacement"
    largest, fastest = watched[COMMAND].trip, watched[COMMAND_RATE].trip
    anywhere = FURTHEST if moves else UNLIMITED
    furthest = np.where(fastest < UNLIMITED, np.minimum(fastest, UNLIMITED) * min(definition.link.lease, 1.0), anywhere)
    first = FIRST if moves else UNLIMITED
    braking = definition.limits.braking_of(definition.interface, definition.commands)
    return OwnLimits(largest, fastest, furthest, np.full(largest.size, first), braking)


def serve(
    definition: Definition,
    *,
    in_step: bool = False,
    at: np.ndarray | None = None,
    once: bool = False,
    output: Path | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Serve sessions of the simulated rig until it is ended; ``say`` must return at once (``Terminal``)."""
    serve_sessions(VirtualRig(definition, in_step=in_step, at=at), once=once, output=output, say=say)


def serve_sessions(
    rig: VirtualRig, *, once: bool = False, output: Path | None = None, say: Callable[[str], None] = print
) -> None:
    """Serve sessions until one of the signals that end a rig, or only one."""
    definition = rig.definition
    ended = threading.Event()
    for number in SENDERS:  # none of them may kill or suspend a rig: it goes to its safe state first
        signal.signal(number, lambda *_: ended.set())
    try:
        clock = "in step with the loop" if rig.in_step else "with its own clock"
        assert definition.link is not None
        say(f"listening on {rig.end.address}, {clock}; {definition.link.guarded}")
        while not ended.is_set():
            served = rig.serve(ended.is_set, say, output)
            if once and served is not None:
                break
    finally:
        rig.close()
