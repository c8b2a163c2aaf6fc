"""The session's side of the page: it starts the page's process, gives it how the test goes, and obeys its operator.

Nothing here is waited for by the test.  A thread writes to the page's process, and only that thread waits for one that
is held up; another listens to its words and hands them to the same ``Operator`` as the keys.  A process that dies is
started again, some times, at the same address and with the same browsers.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..kernels.modes import OVER
from ..live.console import Operator, Say, stopped_by_signals
from ..live.session import NoGoError, Session
from ..live.signals import OPERATOR
from ..live.slow_operator import RefusedError
from ..records.run_file import save
from ..runs.events import STATES
from ..runs.rehearse import Progress
from ..runs.run import Accepted
from ..studies.check.check import Check
from . import guests, told, wire
from .address import Address

RESTARTS = 3
ALONE = 5.0
"""Seconds without an operator's view after which a test is unattended."""
BEAT = 0.5
"""Seconds between two signs of life of the page's process."""
STATUS_WAITS = 4
"""Messages that may wait to be sent before a status is left out."""
AT_AN_END = tuple(STATES[mode] for mode in OVER)


class PageDesk:
    """The page of a session, for as long as this is entered.

    Parameters
    ----------
    terminal
        Whether there is a terminal too: the test is then never unattended.
    say
        Called with lines for people; must return at once.
    """

    def __init__(self, session: Session, operator: Operator, address: Address, *, terminal: bool, say: Say) -> None:
        self._session, self._operator, self._address, self.say = session, operator, address, say
        self._terminal = terminal
        self._teller = told.StatusTeller(session, operator)
        self._kept: list[dict[str, Any]] = []
        self._ring_sent = self._stopped = False
        self._attended = time.monotonic()
        self._ended = self._attended
        self._restarts = 0
        self._folder = tempfile.TemporaryDirectory(prefix="halfreal-page-")
        self._listening = address.listen()
        self._guests = os.memfd_create("halfreal guests")
        self.process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def __enter__(self) -> Self:
        first = guests.Guests({}, lambda state: guests.write_state(self._guests, state), time.monotonic)
        url = self._address.url(self._listening)
        self.say(f"page, to operate: {url}/?token={first.invite('operate')}")
        self.say(f"page, to watch:   {url}/?token={first.invite('watch')}")
        self._tell(told.session_told(self._session))
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, self.process = self.process, None
        if self._connection is not None:
            self._connection.close()
        if process is not None:
            process.terminate()
            try:
                process.wait(2.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._listening.close()
        os.close(self._guests)
        self._folder.cleanup()

    # --- what is told -----------------------------------------------------------------------------------------------

    def _tell(self, message: dict[str, Any]) -> None:
        """Show something that stays: a process that is started again receives it too."""
        self._kept.append(message)
        if self._connection is not None:
            self._connection.put(message)

    def ask_for_check(self, start: bool) -> None:
        """Wait until the operator wants the test to be checked, unless it is to ``start`` by itself."""
        if not start:
            with stopped_by_signals(self._session):
                self._operator.ask("check", self.show, self.say if self._terminal else None)

    def check(self, on_progress: Progress | None) -> Check:
        """Check the test, with progress at the page and at the terminal, and show the verdict."""

        def both(done: int, total: int) -> None:
            if on_progress is not None:
                on_progress(done, total)
            self._teller.progress(done, total)
            self._tell_status()

        both(0, 1)
        try:
            answer = self._session.check(both)
        except NoGoError as error:
            self._checked(error.answer)
            raise
        self._checked(answer)
        return answer

    def _checked(self, answer: Check) -> None:
        """Show the verdict, and where the rehearsal is."""
        rehearsal = Path(self._folder.name) / "rehearsal.h5"
        save(answer.rehearsal, rehearsal)
        self._tell(told.judgement_told(answer.rehearsal) | {"rehearsal": str(rehearsal)})
        inside = told.inside_shown(self._session)
        if inside is not None:
            self._tell(told.structure_told(inside))
            self._teller.inside = inside
        self._tell_status()

    def show(self) -> None:
        """Show the status, see that the page is served, and that someone operates; returns at once."""
        self._tend()
        if self._session.loop is not None and not self._ring_sent:
            self._send_ring()
        self._tell_status()
        self._see_to_operators()

    def _tell_status(self) -> None:
        if self._connection is not None and self._connection.waiting < STATUS_WAITS:
            self._connection.put(self._teller.now())

    def over(self, text: str, *, record: bool, accepted: Accepted | None = None) -> None:
        """Show how it ended and was judged, and with a ``record`` where that is; from now on no one can do anything."""
        with contextlib.suppress(RefusedError):
            self._tell_status()
        self._ended = time.monotonic()
        run = str(self._session.output.absolute()) if record else ""
        self._tell({"kind": "over", "text": text, "run": run} | told.accepted_told(accepted))

    @property
    def looked_at(self) -> bool:
        """Whether a browser has the page open."""
        return self._connection is not None and self._connection.views > 0

    def linger(self) -> None:
        """After the end, until the last browser has closed, the user ends it, or the page's process is held up."""
        with contextlib.suppress(KeyboardInterrupt):
            while self.process is not None and self._connection is not None and self.process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(BEAT)
                if time.monotonic() - max(self._connection.heard, self._ended) > ALONE:
                    return

    # --- the process ------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        here, there = wire.pair()
        command = [sys.executable, "-P", "-m", "halfreal.page.process", "--parent", str(os.getpid())]
        command += ["--door", str(there.fileno()), "--listen", str(self._listening.fileno())]
        command += ["--guests", str(self._guests), "--url", self._address.url(self._listening)]
        command += ["--viewers-stop", self._session.definition.real_time.viewers_stop]
        if self._address.certificate is not None:
            command += ["--certificate", str(self._address.certificate), "--key", str(self._address.key)]
        cpu = self._session.definition.real_time.cpu
        command += [] if cpu is None else ["--not-on", str(cpu)]
        package = str(Path(__file__).resolve().parents[2])
        search = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            command,
            pass_fds=[there.fileno(), self._listening.fileno(), self._guests],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C in the terminal is not for it
            env={**os.environ, "PYTHONPATH": search, "OPENBLAS_NUM_THREADS": "1"},
        )
        there.close()
        self._connection = Connection(here, self._operator)
        self._ring_sent = False
        for message in self._kept:
            self._connection.put(message)

    def _tend(self) -> None:
        if self.process is None or (code := self.process.poll()) is None:
            return
        assert self._connection is not None
        self._connection.close()
        self.process = self._connection = None
        if self._restarts < RESTARTS:
            self._restarts += 1
            self._start()
            self.say(f"the page's process ended (exit code {code}) and was restarted; the test continues")
        else:
            self.say(f"the page's process ended (exit code {code}) again and is not restarted; the test continues")

    def _send_ring(self) -> None:
        if self._connection is None:
            return
        ring, _ = self._session.watched()
        self._connection.put(told.rows_told(self._session), ring.for_readers())
        self._ring_sent = True

    def _see_to_operators(self) -> None:
        """Of a test that no one can operate any more: what the definition says; one not yet started is ended."""
        now = time.monotonic()
        if self._terminal:
            self._attended = now
        elif self._connection is not None:
            self._attended = max(self._attended, self._connection.operated)
        session = self._session
        if self._stopped or now - self._attended < ALONE or session.loop is None or session.state in AT_AN_END:
            if session.loop is None and self.process is None and not self._terminal:
                raise RefusedError("the page's process has ended and there is no terminal; the rig is not armed")
            return
        waits = self._operator.asked == "start" and self.process is None
        if waits or (session.definition.real_time.unattended == "stop" and self._operator.asked != "start"):
            self._stopped = True
            alone = f"no operator's view has been connected for {now - self._attended:.1f} s"
            session.remark("page", f"{alone}; the test is stopped smoothly")
            session.stop(f"because {alone} (real_time.unattended)")


class Connection:
    """One door with its two threads."""

    def __init__(self, door: socket.socket, operator: Operator) -> None:
        self._door, self._operator = door, operator
        self._queue: deque[tuple[dict[str, Any], int]] = deque()
        self._changed, self._closing = threading.Condition(), False
        self.heard = self.operated = 0.0
        """When the page's process last gave a sign of life, and when it last reported an operator's browser."""
        self.views = 0
        for work in (self._write, self._listen):
            threading.Thread(target=work, name="halfreal page", daemon=True).start()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def put(self, message: dict[str, Any], descriptor: int = -1) -> None:
        """Have a message sent, with a descriptor that is then closed; returns at once."""
        with self._changed:
            self._queue.append((message, descriptor))
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify()
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)  # wakes both threads
        self._door.close()

    def _write(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closing)
                if self._closing:
                    return
                message, descriptor = self._queue.popleft()
            try:
                wire.send(self._door, message, [] if descriptor < 0 else [descriptor])
            except OSError:  # the process is gone: whoever tends it sees that
                return
            finally:
                if descriptor >= 0:
                    os.close(descriptor)

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while (received := wire.receive(self._door)) is not None:
                message, _ = received
                if "operators" in message:
                    self.heard = time.monotonic()
                    if int(message["operators"]) > 0:
                        self.operated = self.heard
                    self.views = int(message["views"])
                    continue
                refused = ""
                try:
                    by = str(message["by"])
                    self._operator.obey(str(message["word"]), str(message.get("text", "")), by or OPERATOR)
                except RefusedError as error:
                    refused = str(error)
                self.put({"kind": "answer", "id": message["id"], "refused": refused})
