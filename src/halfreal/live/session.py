"""A test on a rig behind a link: checked, armed, run in real time, recorded.

    idle → checked → armed → ramping → running → ramp-down → stopped          and from each after armed: tripped

The first two are this object's; the others are the guard's modes, in the loop.  The loop runs in a thread of its own,
in compiled code that holds no lock of the interpreter; a recorder process empties its ring into the run file.  This
object only watches: it starts the recorder again if it dies, and passes the operator's requests on as words that the
loop reads at every tick.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import math
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .. import units
from ..definition.definition import MOST_TICKS, Definition, SimulatedRig
from ..definition.load import to_toml
from ..errors import HalfrealError
from ..kernels.control import (
    EMERGENCY_STOP,
    ENDED,
    NONE,
    RECORD_FAILS,
    RECORDER_BEAT,
    RECORDER_ERROR,
    REQUEST,
    ROWS,
    ROWS_READ,
    STOP,
    WAIT,
)
from ..kernels.loop import GUARD_MODE, Loop
from ..kernels.tick import compiled_run
from ..links.controller_end import ControllerEnd, Offer, begin
from ..links.pace import pace
from ..records import live_file, recorder, run_file
from ..records.ring import Ring
from ..runs.build import build, interface
from ..runs.events import STATES, describe, how_it_ended, texts
from ..runs.reference import EmulationError
from ..runs.rehearse import host, reference_signals, versions
from ..runs.run import Event, Run, Signal
from ..studies.check import Check, check
from .privileges import lock_memory, prioritise, unlock_memory

PATIENCE = 3.0
"""Seconds to wait for a rig's answer."""
RING_SECONDS = 6.0
"""A recorder may be away for so long before a row finds no room."""
RESTARTS = 3
"""So often a recorder that died is started again."""
SILENCE = 3.0
"""Seconds without a sign of life after which a recorder counts as dead."""
LAST_ROWS = 10.0
"""Seconds without a further row in the file, after a test, after which no more are waited for."""
STEADY = 6.0
"""A rig within so many times its sensors' noise of where the test begins stands there."""


class RefusedError(HalfrealError):
    """The session does not do what is asked of it, and says why."""


class NoGoError(RefusedError):
    """The check said NO-GO."""

    def __init__(self, answer: Check) -> None:
        super().__init__(
            f"NO-GO: {'; '.join(answer.reasons)}. The rig is not armed; see halfreal check for what would help"
        )
        self.answer = answer


class Session:
    """One test on one rig.

    Parameters
    ----------
    output
        The run file; it is made when the session is armed.
    text
        The definition as its file has it.
    without_go
        The reason for running in spite of a NO-GO; it is recorded.
    """

    def __init__(
        self,
        definition: Definition,
        output: Path | str,
        *,
        text: str | None = None,
        without_go: str = "",
        overwrite: bool = False,
    ) -> None:
        if definition.link is None:
            raise RefusedError(
                'the definition has no [link] to a rig; add one, such as kind = "udp", rig = "127.0.0.1:7411", or '
                "rehearse it instead"
            )
        self.output, self.overwrite = Path(output), overwrite
        if not self.output.absolute().parent.is_dir():
            raise RefusedError(f"the folder '{self.output.parent}' does not exist; make it first")
        if self.output.exists() and not overwrite:
            raise RefusedError(f"'{self.output}' exists; choose another name, or let it be overwritten")
        self._definition, self._without_go = definition, without_go
        self._text = to_toml(definition) if text is None else text
        self.checked: Check | None = None
        self.offer: Offer | None = None
        self.loop: Loop | None = None
        self.privileges: dict[str, str] = {}
        self._end: ControllerEnd | None = None
        self._ring: Ring | None = None
        self._thread: threading.Thread | None = None
        self._recorder: subprocess.Popen[bytes] | None = None
        self._restarts = 0
        self._beat = (-1, 0.0)
        self._ended: int | None = None
        self._stop_at_once = self._finished = False
        self._failure: BaseException | None = None
        self._notes: list[Event] = []
        self._started = ""

    @property
    def definition(self) -> Definition:
        """The test; that which is checked is that which is armed."""
        return self._definition

    # --- states -----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """The state of the test for people."""
        if self.loop is None:
            return "idle" if self.checked is None else "checked"
        return STATES[float(self.loop.vector[self.loop.index[GUARD_MODE]])]

    @property
    def running(self) -> bool:
        """Whether the loop is going, in whatever state."""
        return self._thread is not None and self._thread.is_alive()

    def check(self, progress: Callable[[int, int], None] | None = None) -> Check:
        """Judge the test; without a GO it is not armed, unless a reason was given to do it all the same."""
        answer = check(self.definition, text=self._text, progress=progress)
        if answer.verdict != "GO" and not self._without_go:
            raise NoGoError(answer)
        self.checked = answer
        return answer

    def connect(self) -> Offer:
        """Find the rig and see where it stands; it does not move."""
        if self._end is None:
            assert self.definition.link is not None
            self._end = ControllerEnd.connect(self.definition.link)
        link = self.definition.link
        assert link is not None
        self.offer = self._end.hello(self.definition.virtual.axes, self.definition.timing.step, link.lease, PATIENCE)
        return self.offer

    def arm(self, *, wait: bool = False) -> None:
        """Take the rig over: it holds where it stands, and, unless it is to ``wait`` for ``start``, sets out."""
        if self.checked is None:
            raise RefusedError("the test has not been checked; call check() first: a rig is armed on a GO only")
        if self.running or self._ended is not None:
            raise RefusedError(f"this test is {self.state}; a new one is a new session")
        offer = self.connect()
        assert self._end is not None
        self.loop = loop = self._build(self._end, offer)
        self._ring = ring = self._make_ring(loop)
        ring.words[WAIT] = int(wait)
        loop.parameter("link.receive")["request"] = float(ring.words.ctypes.data + 8 * REQUEST)
        if self._stop_at_once:  # asked for since, when there was no loop yet to hear it
            ring.words[REQUEST] = EMERGENCY_STOP
        self._make_file(loop)
        self.privileges["realtime memory"] = lock_memory()
        compiled_run()  # before the rig is armed, not while it waits
        ready = threading.Event()
        self._thread = threading.Thread(target=self._drive, args=(loop, ring, ready, offer), name="halfreal loop")
        self._thread.start()
        ready.wait()
        if self._failure is not None:
            self.wait()
            live_file.finish(self.output, outcome="failed", reason=str(self._failure))
            raise self._failure

    def start(self) -> None:
        """Let an armed test that waits set out."""
        self._words()[WAIT] = 0

    def stop(self) -> None:
        """Controlled stop: the rig is brought smoothly to the safe position, or held where it is."""
        if self._words()[REQUEST] == NONE:
            self._words()[REQUEST] = STOP

    def emergency_stop(self) -> None:
        """Trip, within one tick; before there is a loop, in its first one."""
        self._stop_at_once = True
        if self._ring is not None:
            self._ring.words[REQUEST] = EMERGENCY_STOP

    @property
    def waiting_rows(self) -> int:
        """Rows in the ring that are not yet in the file."""
        return 0 if self._ring is None else int(self._ring.words[ROWS] - self._ring.words[ROWS_READ])

    def _words(self) -> np.ndarray:
        if self._ring is None:
            remedy = "a new test is a new session" if self._finished else "arm it first"
            raise RefusedError(f"the session is {self.state}; {remedy}")
        return self._ring.words

    # --- before the test --------------------------------------------------------------------------------------------

    def _build(self, end: ControllerEnd, offer: Offer) -> Loop:
        """The loop that was checked, with the rig behind its link, beginning where the rig stands."""
        definition, n = self.definition, self.definition.virtual.axes
        timing, limits, real_time = definition.timing, definition.limits, definition.real_time
        rig_paced = real_time.pacing == "rig"
        send, receive = end.blocks(
            interface("command", n),
            timing.step,
            waits=rig_paced,
            stale_warn=limits.stale.warn,
            stale_trip=limits.stale.trip,
            offer=offer,
        )
        paced = pace(
            timing.step,
            real_time.spin,
            real_time.overrun,
            waits=not rig_paced,
            lateness=limits.lateness.trip,
            idle=("link.idle",) if rig_paced else (),
        )
        blocks = [send, receive, paced] if rig_paced else [send, paced, receive]
        begins = np.asarray(definition.virtual.initial_target(), dtype=float)
        loop = build(definition, link=blocks, ticks_before=self._ticks_before(offer.displacement - begins))
        guard = loop.state("guard")
        for field in ("before",) if definition.commands == "force" else ("applied", "held", "before"):
            guard[field][:] = offer.displacement
        return loop

    def _ticks_before(self, distance: np.ndarray) -> int:
        """Ticks in which the rig can come smoothly to where the test begins."""
        timing, limits, rig = self.definition.timing, self.definition.limits, self.definition.rig
        if self.definition.commands == "force":  # it begins without force, wherever the rig stands
            return timing.ticks_before
        noise = 0.0
        if isinstance(rig, SimulatedRig):
            noise = STEADY * rig.sensors.displacement.noise + rig.sensors.displacement.resolution
        if np.all(np.abs(distance) <= noise):
            return timing.ticks_before
        rate = limits.command_rate.values("trip", distance.size)
        shortest = float((0.5 * math.pi * np.abs(distance) / rate).max()) * 1.01
        wished = timing.soft_start or limits.return_time
        return math.ceil(max(wished, shortest) / timing.step - 1e-9)

    def _make_ring(self, loop: Loop) -> Ring:
        # never small: a loop paced by a simulated rig in step is far faster than its step
        capacity = int(np.clip(RING_SECONDS / self.definition.timing.step, 65_536, 262_144))
        return Ring.create(capacity, len(loop.channels))

    def _make_file(self, loop: Loop) -> None:
        """The run file with all that is known before the test, and the recorder that fills it."""
        assert self.checked is not None and self._ring is not None
        definition, timing = self.definition, self.definition.timing
        self._started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        # names that no loop has were refused by the check; those of the simulated rig have no meaning here
        wanted = definition.record.channels
        keep = [channel.name for channel in loop.channels if wanted is None or channel.name in wanted]
        seconds = loop.end * timing.step if loop.end is not None else 0.0
        size = 8.0 * (len(keep) + 1) * (seconds + timing.soft_start + timing.soft_stop) / timing.step
        short = recorder.room_for(self.output, int(size / definition.record.every))
        if short:
            raise RefusedError(short)
        units_of = {channel.name: channel.unit for channel in loop.channels}
        rehearsal = self.checked.rehearsal
        header = dataclasses.replace(
            rehearsal,
            kind="run",
            time=np.zeros(0),
            signals={name: Signal(units_of[name], np.zeros(0)) for name in keep},
            events=(),
            outcome="failed",
            reason="",
            started=self._started,
            reasons=self._reasons(),
            limits_used={},
            references=tuple(dict.fromkeys(key for block in loop.blocks for key in block.references)),
            versions=versions(),
            host=host(),
        )
        live_file.create(
            header,
            self.output,
            columns=[channel.name for channel in loop.channels],
            watched=loop.watched,
            texts=texts(definition, loop),
            every=definition.record.every,
            overwrite=self.overwrite,
        )
        self._recorder = recorder.start(self._ring, self.output)
        recorder.wait_until_ready(self._recorder, self._ring)

    def _reasons(self) -> tuple[str, ...]:
        assert self.checked is not None
        if self.checked.verdict == "GO":
            return self.checked.reasons
        return (f"run without a GO: {self._without_go}", *self.checked.reasons)

    # --- the test ---------------------------------------------------------------------------------------------------

    def _drive(self, loop: Loop, ring: Ring, ready: threading.Event, offer: Offer) -> None:
        """The real-time thread: no Python is executed between arming and the end of the test."""
        assert self._end is not None
        real_time = self.definition.real_time
        try:
            self.privileges.update(prioritise(real_time.priority, real_time.cpu))
            names = [channel.name for channel in loop.channels]
            begin(loop, self._end.arm(offer.displacement, PATIENCE), self._end.wire)
            ready.set()
            self._ended = loop.drive(int(MOST_TICKS), ring.rows, names, ring.words)
        except BaseException as error:
            self._failure = error
        finally:
            ring.words[ENDED] = 1
            ready.set()
            self._end.stop(float(loop.vector[loop.index["link.sent"]]))

    def tend(self) -> None:
        """Look after the recorder; to be called some ten times a second."""
        if self._recorder is None or self._ring is None:
            return
        words, now = self._ring.words, time.monotonic()
        beat = int(words[RECORDER_BEAT])
        if beat != self._beat[0]:
            self._beat = (beat, now)
        code = self._recorder.poll()
        waiting = int(words[ROWS] - words[ROWS_READ])
        if code is None and beat > 0 and waiting > 0 and now - self._beat[1] > SILENCE:
            self._recorder.kill()
            code = self._recorder.wait()
        if code is None or (code == 0 and words[ENDED]):
            return
        if words[RECORDER_ERROR] == 0 and self._restarts < RESTARTS:
            self._restarts += 1
            self._note(f"the recorder died (exit code {code}) and was started again; nothing was lost")
            self._beat = (-1, now)
            self._recorder = recorder.start(self._ring, self.output)
        elif words[REQUEST] in (NONE, STOP):
            words[REQUEST] = RECORD_FAILS

    def _note(self, text: str) -> None:
        loop = self.loop
        at = 0.0 if loop is None else float(loop.vector[0]) * loop.dt
        self._notes.append(Event(at, "recorder", text))

    def wait(self, look: Callable[[], None] | None = None, every: float = 0.05) -> None:
        """Until the loop has ended and its rows are in the file, tending the recorder; ``look`` is called meanwhile."""
        if self._thread is None:
            raise RefusedError(f"the session is {self.state}; arm it first")
        while self._thread.is_alive():
            self._thread.join(every)
            self.tend()
            if look is not None:
                look()
        self._thread.join()
        self._restarts = min(self._restarts, RESTARTS - 1)  # once more, for what the ring still holds
        written, deadline = -1, 0.0
        while self._recording():
            assert self._recorder is not None
            if (rows := int(self._words()[ROWS_READ])) != written:  # a slow disk is waited for as long as it goes on
                written, deadline = rows, time.monotonic() + LAST_ROWS
            if time.monotonic() > deadline:
                break
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._recorder.wait(every)
            self.tend()

    def _recording(self) -> bool:
        """Whether a recorder is at work, or has died and is to be started again."""
        if self._recorder is None:
            return False
        code = self._recorder.poll()
        return code is None or (code != 0 and self._words()[RECORDER_ERROR] == 0 and self._restarts < RESTARTS)

    # --- after the test ---------------------------------------------------------------------------------------------

    def finish(self) -> Run:
        """The record with all that is known after the test; it replaces the run file in packed form."""
        loop, definition = self.loop, self.definition
        if self._finished:
            raise RefusedError("the test is finished already; load its record, or begin a new session")
        if loop is None or self.checked is None or self._ended is None or self.running:
            raise RefusedError(f"the test is {self.state}; wait for its end first")
        self._finished = True
        run = run_file.load(self.output)
        outcome, reason = how_it_ended(definition, loop, self._ended)
        events = [*self._notes, *self._events(run, loop)]
        signals = dict(run.signals)
        try:
            signals.update(reference_signals(definition, run.time))
        except EmulationError as error:
            events.append(Event(0.0, "reference", f"no reference: {error}"))
        run = dataclasses.replace(
            run,
            outcome=outcome,
            reason=reason,
            events=tuple(sorted(events, key=lambda event: event.time)),
            signals=signals,
            limits_used=definition.limits.used(loop.state("guard")["peaks"], definition.commands),
            host={**run.host, **self.privileges},
        )
        words = self._words()
        if words[RECORDER_ERROR] == 0:
            run_file.save(run, self.output, overwrite=True)
        else:  # the disk has no room for more: what is known is written in place
            live_file.finish(self.output, outcome=outcome, reason=reason, limits_used=run.limits_used)
        self._let_go()
        return run

    def _events(self, run: Run, loop: Loop) -> list[Event]:
        """The recorded events; that of the trip with its value, which the loop still knows."""
        cause = float(loop.state("guard")["cause"])
        found = []
        for event in run.events:
            if event.channel == "guard.cause" and cause != 0.0:
                tick = round(event.time / loop.dt)
                event = describe(self.definition, loop, tick, event.channel, cause) or event
            found.append(event)
        return found

    def close(self) -> None:
        """Let go of rig, ring and memory; of a test that is going, after an emergency stop and with its record."""
        if self.running:
            self.emergency_stop()
            self.wait()
        try:
            if self._ended is not None and not self._finished:
                self.finish()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        unlock_memory()
        if self._end is not None:
            self._end.close()
            self._end = None
        if self._ring is not None:
            self._ring.close()
            self._ring = None


def stands_at(offer: Offer) -> str:
    """Where the rig stands, for people."""
    where = ", ".join(units.text(float(x), "m", digits=4) for x in offer.displacement)
    return f"{where}, with {', '.join(units.text(float(f), 'N', digits=4) for f in offer.force)} on the specimen"


def run(
    definition: Definition,
    output: Path | str,
    *,
    text: str | None = None,
    without_go: str = "",
    overwrite: bool = False,
) -> Run:
    """Check the test, run it at once on the rig behind the definition's link, and give its record."""
    session = Session(definition, output, text=text, without_go=without_go, overwrite=overwrite)
    try:
        session.check()
        session.arm()
        session.wait()
        return session.finish()
    finally:
        session.close()
