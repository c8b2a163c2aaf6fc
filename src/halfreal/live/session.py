"""A test on a rig behind a link: checked, armed, run in real time, recorded.

    idle → checked → armed → ramping → running → ramp-down → stopped          and from each after armed: tripped

The first two are this object's; the others are the guard's modes, in the loop.  The loop runs in a thread of its own,
in compiled code that holds no lock of the interpreter; a recorder process empties its ring into the run file.  This
object only watches: it starts the recorder again if it dies, and passes the operator's requests on as words that the
loop reads at every tick.
"""

from __future__ import annotations

import dataclasses
import datetime
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..contracts.axes import Axes
from ..definition.definition import Definition
from ..definition.load import to_toml
from ..definition.sections import MOST_TICKS, also_said
from ..definition.user_code import changed, files_run, user_code
from ..errors import HalfrealError
from ..identification.specimen_met import specimen_met
from ..kernels.control import EMERGENCY_STOP, ENDED, EVENTS, EVENTS_LOST, NONE, RELEASES, REQUEST, STOP, WAIT
from ..kernels.loop import GUARD_MODE, Loop
from ..kernels.modes import RUNNING
from ..kernels.tick import compiled_run
from ..links.controller_end import ControllerEnd, Offer
from ..links.driver import DriverEnd
from ..records import last_words, live_file, recorder
from ..records.kept_file import HAPPENED, KeptFile
from ..records.ring import Ring
from ..runs.checked_plant import as_checked
from ..runs.events import OF_LOOP, STATES, describe, how_it_ended, limits_used, texts
from ..runs.reference import EmulationError, as_released
from ..runs.rehearse import host, reference_signals, versions, wanted_channels
from ..runs.run import Event, Outcome, Run, Signal
from ..runs.scored import with_scores
from ..safety.guard import BY_OPERATOR as GUARD_BY_OPERATOR
from ..safety.guard import BY_RECORDER
from ..studies.check.check import Check, check
from .accepted import accepted
from .comparison import compare
from .preparation import check_own_limits, prepare
from .privileges import lock_memory, prioritise, unlock_memory
from .recording import Recording
from .remarks import Remarks
from .resumption import BEFORE, RESUMED, WITHIN_TICKS, resume
from .signals import OPERATOR
from .slow_operator import SLOW_STATES, RefusedError, SlowOperator
from .time_kept import account_kept, stall_events, time_kept

BY_OPERATOR = f"by {OPERATOR}"
PATIENCE = 3.0
"""Seconds to wait for a rig's answer."""
RESTARTS = 3
"""So often a recorder that died is started again."""
SILENCE = 3.0
"""Seconds without a sign of life after which a recorder counts as dead."""
MOST_EVENTS = 65536
"""Changes within ticks that are kept: of a slow test, that it was paused or waited for, and its warnings."""
COMES = {BEFORE: 0, RESUMED: 0, "rig.state": 1, "link.stale": 1, "motion.state": 2, "guard.warning": 2}
LAST = 3
"""Order of events of one tick by their channels: what was before, the rig, what happens on the way, how it ends."""


class NoGoError(RefusedError):
    """The check did not say GO."""

    def __init__(self, answer: Check) -> None:
        super().__init__(
            f"{answer.verdict}: {'; '.join(answer.reasons)}. The rig is not armed; 'halfreal check' shows remedies"
        )
        self.answer = answer


class Session(SlowOperator, Remarks):
    """One test on one rig.

    Parameters
    ----------
    output
        The run file, created when the session is armed.
    text
        The definition as its file has it.
    without_go
        Reason for running in spite of NO-GO or MARGINAL; it is recorded.
    after
        The record of an interrupted slow test that is to be resumed.
    rig_has_moved
        Reason for resuming on a rig that is not where the record ends; it is recorded.
    about
        Circumstances of this run in addition to the definition's [record]: operator, specimen, calibration, notes.
    """

    serves: ClassVar[bool] = False
    """Whether a client outside gives the displacements."""
    say: Callable[[str], None] = staticmethod(lambda line: None)
    """Callback with messages for the operator; it must return at once."""

    def __init__(
        self,
        definition: Definition,
        output: Path | str,
        *,
        text: str | None = None,
        without_go: str = "",
        overwrite: bool = False,
        after: Run | None = None,
        rig_has_moved: str = "",
        about: Mapping[str, str] | None = None,
    ) -> None:
        if definition.virtual.client_port is not None and not self.serves:
            remedy = (
                "serve it with halfreal site" if after is None else "its client cannot be resumed: start a new test"
            )
            raise RefusedError(f"the displacements of this test come from a client (virtual.kind); {remedy}")
        if definition.link is None:
            raise RefusedError(
                'the definition has no [link] to a rig; add one, such as kind = "udp", rig = "127.0.0.1:7411", or '
                "rehearse it instead"
            )
        self.output, self.overwrite = Path(output), overwrite
        if not self.output.absolute().parent.is_dir():
            raise RefusedError(f"the folder '{self.output.parent}' does not exist; create it first")
        if self.output.exists() and not overwrite:
            raise RefusedError(f"'{self.output}' exists; choose another name, or allow overwriting")
        self._definition, self._without_go, self._after = definition, without_go.strip(), after
        self.resumption = None if after is None else resume(definition, after)
        self._rig_has_moved = rig_has_moved.strip()
        self._about = also_said(definition.record.about() if after is None else after.about, about or {})
        self._moved: tuple[Event, ...] = ()
        self._text = to_toml(definition) if text is None else text
        self.checked: Check | None = None
        self._code: dict[str, str] = {}
        self.offer: Offer | None = None
        self.loop: Loop | None = None
        self.privileges: dict[str, str] = {}
        self._end: ControllerEnd | DriverEnd | None = None
        self._recording: Recording | None = None
        self._thread: threading.Thread | None = None
        self._ended: int | None = None
        self._stop_at_once = self._declined = self._given_up = False
        self._emergency_by = self._stopped_because = ""
        self._outcome: tuple[Outcome, str] | None = None
        self._failure: BaseException | None = None
        Remarks.__init__(self)
        self._happened = np.empty((MOST_EVENTS, 3))

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
        if self.definition.slow is not None and self.loop.vector[self.loop.index[GUARD_MODE]] == RUNNING:
            return SLOW_STATES[float(self.loop.vector[self.loop.index["motion.state"]])]
        return STATES[float(self.loop.vector[self.loop.index[GUARD_MODE]])]

    @property
    def running(self) -> bool:
        """Whether the loop is running, in any state."""
        return self._thread is not None and self._thread.is_alive() and not self._given_up

    def check(self, on_progress: Callable[[int, int], None] | None = None) -> Check:
        """Check the test; without a GO it is not armed, unless the session was given a reason (``without_go``).

        Parameters
        ----------
        on_progress
            Callback with (ticks done, total).

        Returns
        -------
        Check
            The verdict and its reasons.
        """

        def look(done: int, total: int) -> None:
            self.check_not_stopped()  # an operator who stops does not wait for the end of the check
            if on_progress is not None:
                on_progress(done, total)

        self._code = user_code(self.definition)
        answer = check(self.definition, text=self._text, on_progress=look)
        if answer.verdict != "GO" and not self._without_go:
            raise NoGoError(answer)
        self.checked = answer
        return answer

    def _see_that_code_is_checked(self) -> None:
        what = changed(self._code, user_code(self.definition))
        if what:
            raise RefusedError(
                f"{what} since the check; check again: a rig is armed only with the code that was checked"
            )

    def connect(self) -> Offer:
        """Find the rig and see where it stands; it does not move."""
        if self._end is None:
            assert self.definition.link is not None
            self._end = self.definition.link.end(self.definition) or ControllerEnd.connect(self.definition.link)
        link = self.definition.link
        assert link is not None
        test = self.definition
        self.offer = self._end.hello(test.virtual.axes, test.period, link.lease, PATIENCE, len(test.auxiliary))
        check_own_limits(self.definition, self.offer)
        return self.offer

    def arm(self, *, wait: bool = False) -> None:
        """Arm the rig: it holds its position, then moves to the start of the test.

        Parameters
        ----------
        wait
            Whether it holds its position until ``start`` is called.
        """
        if self.checked is None:
            raise RefusedError("the test has not been checked; call check() first: a rig is armed only after a GO")
        if self.running or self._ended is not None:
            raise RefusedError(f"this test is {self.state}; start a new session for another test")
        self.check_not_stopped()
        self._see_that_code_is_checked()
        offer = self.connect()
        assert self._end is not None
        if self.resumption is not None:
            self._moved = compare(self.definition, self.resumption, offer, self._rig_has_moved)
        loop = prepare(self.definition, self._end, offer, self.resumption)
        self._see_that_code_is_checked()  # that of this loop
        if self.definition.real_time.pacing == "rig":  # no clock leaves time over: the loop's is part of every tick
            loop.fuse()  # before the rig is armed: the first time it takes half a second or so
        self.loop = loop
        step = self.definition.timing.step
        self._recording = recording = Recording(
            self.output,
            len(loop.channels),
            step,
            restarts=RESTARTS,
            silence=SILENCE,
            on_message=partial(self.remark, "recorder"),
        )
        words = recording.words
        words[WAIT] = int(wait)
        self._wire(loop, words)
        recording.start(self._make_file(loop))
        self._end.if_lost(last_words.command(self.output))
        if self.resumption is not None:
            recording.put(self.resumption.lines(loop))
        self.privileges["realtime memory"] = lock_memory()
        compiled_run.ready()  # before the rig is armed, not while it waits
        ready = threading.Event()
        # a daemon: what does not return, such as a driver, must not keep the process from ending
        self._thread = threading.Thread(
            target=self._drive, args=(loop, recording, ready, offer), name="halfreal loop", daemon=True
        )
        self._thread.start()
        ready.wait()
        if self._failure is not None:
            self.wait()
            recording.conclude(outcome="failed", reason=str(self._failure))
            raise self._failure

    def _wire(self, loop: Loop, words: np.ndarray) -> None:
        """Give the blocks of a loop the addresses of their shared values."""
        loop.parameter("link.receive")["request"] = float(words.ctypes.data + 8 * REQUEST)
        if self.definition.slow is not None:
            loop.parameter("motion")["words"] = float(words.ctypes.data)
        if self.definition.excitation.waits:
            loop.parameter("release")["words"] = float(words.ctypes.data)

    def start(self) -> None:
        """Start an armed test that waits."""
        self._words()[WAIT] = 0

    def stop(self, because: str = BY_OPERATOR) -> None:
        """Controlled stop: the rig is brought smoothly to the safe position, or held where it is.

        Before the rig is armed, it prevents arming.

        Parameters
        ----------
        because
            Cause of the stop for the record.
        """
        self._declined = True  # first: arming looks at it after it has made its record
        if self._recording is None and not self._finished:
            return
        if self._words()[REQUEST] == NONE:
            self._stopped_because = because
            self._words()[REQUEST] = STOP

    def release(self) -> None:
        """Release the excitation of the virtual substructure in the next tick, at which its time starts."""
        if not self.definition.excitation.waits:
            raise RefusedError(
                "the excitation starts with the test; only one with excitation.release_at can be released"
            )
        words = self._words()
        if self.state != STATES[RUNNING]:
            raise RefusedError(f"the test is {self.state}; the excitation can be released only while it is running")
        words[RELEASES] += 1

    def emergency_stop(self, by: str = OPERATOR) -> None:
        """Trip within one tick; before the rig is armed, prevent arming.

        Parameters
        ----------
        by
            Origin of the stop for the record.
        """
        self._emergency_by = self._emergency_by or by
        self._stop_at_once = True
        if self._recording is not None:
            self._recording.words[REQUEST] = EMERGENCY_STOP

    def watched(self) -> tuple[Ring, dict[str, Any]]:
        """Of an armed test, for those who look on: the ring, and what its rows are."""
        if self.loop is None or self._recording is None:
            raise RefusedError(f"the session is {self.state}; arm it first")
        return self._recording.ring, self._layout(self.loop)

    def check_not_stopped(self) -> None:
        """Refuse to continue if the operator has stopped the test before the rig was armed."""
        if self._stop_at_once:
            raise RefusedError(f"emergency stop by {self._emergency_by} before the rig was armed; it was not armed")
        if self._declined:
            raise RefusedError("ended by the operator before the rig was armed; it was not armed")

    @property
    def waiting_rows(self) -> int:
        """Rows that are not yet in the file."""
        return 0 if self._recording is None else self._recording.waiting_rows

    def _words(self) -> np.ndarray:
        if self._recording is None:
            remedy = "start a new session for another test" if self._finished else "arm it first"
            raise RefusedError(f"the session is {self.state}; {remedy}")
        return self._recording.words

    # --- before the test --------------------------------------------------------------------------------------------

    def _make_file(self, loop: Loop) -> KeptFile:
        """The run file with all that is known before the test."""
        assert self.checked is not None
        definition, timing = self.definition, self.definition.timing
        # names that no loop has were refused by the check; those of the simulated rig have no meaning here
        wanted = wanted_channels(definition)
        keep = [channel.name for channel in loop.channels if wanted is None or channel.name in wanted]
        seconds = loop.end * timing.step if loop.end is not None else 0.0
        size = 8.0 * (len(keep) + 1) * (seconds + timing.soft_start + timing.soft_stop) / timing.step
        short = recorder.room_for(self.output, int(size / definition.record.every))
        if short:
            raise RefusedError(short)
        units_of = {channel.name: channel.unit for channel in loop.channels}
        rehearsal = self.checked.rehearsal
        self._header = header = dataclasses.replace(
            rehearsal,
            kind="run",
            time=np.zeros(0),
            signals={name: Signal(units_of[name], np.zeros(0)) for name in keep},
            events=() if self.resumption is None else (*self.resumption.events, *self._moved),
            outcome="failed",
            reason="",
            started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            reasons=self._reasons(),
            limits_used={},
            references=tuple(dict.fromkeys(key for block in loop.blocks for key in block.references)),
            versions=versions(),
            code=files_run(self.definition),
            host=host(),
            rig=self._rig(),
            about=self._about,
        )
        return live_file.create(header, self.output, **self._layout(loop), overwrite=self.overwrite)

    def _rig(self) -> dict[str, str]:
        """Which rig it is, as it said itself, and how its link was guarded."""
        assert self.offer is not None and self._end is not None and self.definition.link is not None
        who, link = self.offer.identity, self.definition.link
        return {"nature": who.nature, "name": who.name, "address": self._end.wire.address, "link": link.guarded}

    def _layout(self, loop: Loop) -> dict[str, Any]:
        """What the rows of the ring are, for the record."""
        return {
            "columns": [channel.name for channel in loop.channels],
            "watched": loop.watched,
            "texts": texts(self.definition, loop),
            "every": self.definition.record.every,
        }

    def _reasons(self) -> tuple[str, ...]:
        assert self.checked is not None
        if self.checked.verdict == "GO":
            return self.checked.reasons
        return (f"run without a GO: {self._without_go}", *self.checked.reasons)

    # --- the test ---------------------------------------------------------------------------------------------------

    def _drive(self, loop: Loop, recording: Recording, ready: threading.Event, offer: Offer) -> None:
        """The real-time thread: no Python is executed between arming and the end of the test."""
        assert self._end is not None
        real_time = self.definition.real_time
        try:
            self.privileges.update(prioritise(real_time.priority, real_time.cpu))
            names = [channel.name for channel in loop.channels]
            self.check_not_stopped()
            self._end.begin(loop, self._end.arm(PATIENCE))
            ready.set()
            rows, words = recording.ring.rows, recording.words
            with account_kept(loop) as missing:
                self.privileges.update(missing)
                self._ended = loop.drive(int(MOST_TICKS), rows, names, words, events=self._happened)
        except BaseException as error:
            self._failure = error
        finally:
            if not self._given_up:  # else the session has let go of all this before the loop came back
                recording.words[ENDED] = 1
                ready.set()
                self._end.stop(float(loop.vector[loop.index["link.sent"]]))

    def tend(self) -> None:
        """Look after the recorder; to be called some ten times a second."""
        if self._recording is not None:
            self._recording.tend()

    def wait(self, look: Callable[[], None] | None = None, every: float = 0.05) -> None:
        """Wait until the test has ended and its record is written.

        Parameters
        ----------
        look
            Callback that is called meanwhile.
        every
            Time between two calls [s].
        """
        if self._thread is None:
            raise RefusedError(f"the session is {self.state}; arm it first")
        while self._thread.is_alive():
            self._thread.join(every)
            self.tend()
            if self._end is not None and (why := self._end.stuck()):
                self._give_up(why)
            if look is not None:
                look()
        self._thread.join()
        if self._recording is not None:
            self._recording.empty(every)

    def _give_up(self, why: str) -> None:
        """The loop does not come back from a call, and the rig was made safe without it: say so in the record."""
        assert self._recording is not None
        self._given_up = True
        self._recording.words[ENDED] = 1
        self._recording.empty(0.05)
        self._recording.conclude(outcome="tripped", reason=why)
        raise HalfrealError(f"{why}, and has not returned since; the record ends there. Check the driver")

    # --- after the test ---------------------------------------------------------------------------------------------

    def conclude(self) -> None:
        """Write into the run file how the test ended, before anything else can fail."""
        loop, recording = self.loop, self._recording
        if self._outcome is not None:
            return
        if loop is None or recording is None or self._ended is None or self.running:
            raise RefusedError(f"the test is {self.state}; wait for its end first")
        outcome, reason = self._how_it_ended(loop, self._ended)
        if reason == OF_LOOP[BY_RECORDER] and recording.happened():
            reason += f": '{self.output.name}' {HAPPENED[recording.happened()]}"
        self._outcome = outcome, reason
        recording.conclude(outcome=outcome, reason=reason, limits_used=self._limits_used(loop))

    def _how_it_ended(self, loop: Loop, ended: int) -> tuple[Outcome, str]:
        outcome, reason = how_it_ended(self.definition, loop, ended)
        return outcome, self.with_origin(reason)

    def with_origin(self, text: str) -> str:
        """The text of a stop with what has stopped the test in the place of the operator."""
        if self._emergency_by and text.endswith(OF_LOOP[GUARD_BY_OPERATOR]):
            return text.removesuffix(OPERATOR) + self._emergency_by
        if self._stopped_because and text.startswith(BY_OPERATOR):
            return self._stopped_because + text.removeprefix(BY_OPERATOR)
        return text

    def _limits_used(self, loop: Loop) -> dict[str, float]:
        used = limits_used(self.definition, loop)
        return used if self.resumption is None else self.resumption.limits_used(used)

    def finish(self) -> Run:
        """Complete the record with the results after the test, and replace the run file by its compressed form.

        If the file was removed or replaced, the record is saved under another name: ``output``.

        Returns
        -------
        Run
            The complete record.
        """
        loop, definition, recording = self.loop, self.definition, self._recording
        if self._finished:
            raise RefusedError("the test is already finished; load its record, or start a new session")
        self.conclude()
        assert loop is not None and recording is not None and self._outcome is not None
        self._finished = True
        run = recording.load_all(self._header, self._layout(loop))
        outcome, reason = self._outcome
        events = [*self.remarks, *self._events(run, loop)]
        events += () if definition.slow is not None else stall_events(loop.state("pace"))
        signals = dict(run.signals)
        try:
            signals.update(reference_signals(as_released(definition, events), run.time, signals))
        except EmulationError as error:
            events.append(Event(0.0, "reference", f"no reference: {error}"))
        assert self.checked is not None
        run = dataclasses.replace(
            run,
            outcome=outcome,
            reason=reason,
            events=tuple(sorted(events, key=lambda event: (event.time, COMES.get(event.channel, LAST)))),
            signals=signals,
            limits_used=self._limits_used(loop),
            host={**run.host, **self.privileges},
        )
        run = with_scores(definition, dataclasses.replace(run, specimen_met=specimen_met(run, self.checked.rehearsal)))
        late = float(loop.vector[loop.index["link.late"]]), float(loop.state("pace")["ticks"])
        kept = None if definition.slow is not None else time_kept(definition, loop)
        judged = accepted(run, definition.acceptance, kept, late, as_checked(definition, run))
        run = dataclasses.replace(run, accepted=judged)
        said = recording.pack(run)
        self.output = recording.output
        self._let_go()
        return dataclasses.replace(run, events=(*run.events, *self._at_the_end(said)))

    def _at_the_end(self, text: str) -> tuple[Event, ...]:
        assert self.loop is not None
        return (Event(float(self.loop.vector[0]) * self.loop.dt, "recorder", text),) if text else ()

    def _events(self, run: Run, loop: Loop) -> list[Event]:
        """The recorded events, that of the trip with its value, which the loop still knows, and those within ticks."""
        cause = float(loop.state("guard")["cause"])
        within = () if self.definition.slow is None else WITHIN_TICKS
        found = []
        for event in (one for one in run.events if one.channel not in within):
            if event.channel == "guard.cause" and cause != 0.0:
                tick = round(event.time / loop.dt)
                event = describe(self.definition, loop, tick, event.channel, cause) or event
                event = dataclasses.replace(event, text=self.with_origin(event.text))
            found.append(event)
        # a row is written when a tick is done: how a slow test stood in between is in no row
        words = self._words()
        for tick, which, value in self._happened[: words[EVENTS]]:
            if loop.watched[int(which)] in within:
                happened = describe(self.definition, loop, int(tick), loop.watched[int(which)], float(value))
                found += [] if happened is None else [happened]
        if within and words[EVENTS_LOST]:
            found.append(
                Event(float(loop.vector[0]) * loop.dt, "loop", f"{words[EVENTS_LOST]} further events were not recorded")
            )
        return found

    def close(self) -> None:
        """Let go of rig, ring and memory; of a test that is going, after an emergency stop and with its record."""
        if self.running:
            self.emergency_stop("the end of the session")
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
        if self._recording is not None:
            self._recording.close()
            self._recording = None


def stands_at(offer: Offer, axes: Axes) -> str:
    """Where the rig stands, for people."""
    return f"{axes.text(offer.displacement, 'm')}, with {axes.text(offer.force, 'N')} on the specimen"
