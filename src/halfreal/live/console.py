"""A test on a rig from the terminal: the operator's questions, keys and view."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from ..runs.run import Run
from .keyboard import Keyboard
from .session import Session, stands_at
from .signals import LOST_TERMINAL, OPERATOR, SENDERS
from .slow_operator import FASTEST, SLOWEST, WAITING, RefusedError
from .view import status, table

Say = Callable[[str], None]
Show = Callable[[Any], None]
REFRESH = 10
"""Times a second that the view is drawn again."""
FASTER = 1.25
"""What one key press does to the speed of a slow test."""
EMERGENCY_STOP = "emergency stop"
QUESTIONS = {"check": "checks the test", "arm": "arms the rig"}
MEANING = {
    " ": EMERGENCY_STOP,
    "\x1b": EMERGENCY_STOP,
    "s": "stop",
    "e": "release",
    "p": "pause",
    "r": "resume",
    "n": "step",
    "+": "faster",
    "-": "slower",
}
"""Keys, and the words of the operator that they stand for; Enter confirms what is requested."""
WORDS = (*dict.fromkeys(MEANING.values()), "check", "arm", "start", "note")


class Desk(Protocol):
    """A further place from which a test is operated, in a process of its own."""

    def show(self) -> None:
        """Called some ten times a second; returns at once."""


@contextlib.contextmanager
def stopped_by_signals(session: Session) -> Iterator[None]:
    """Let signals (``signals.py``: those of Ctrl-C, Ctrl-\\ and Ctrl-Z too) be emergency stops during a test."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return

    def trip(number: int, frame: Any) -> None:
        session.emergency_stop(SENDERS[signal.Signals(number)])

    before = {number: signal.signal(number, trip) for number in SENDERS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def rig_command(path: Path) -> list[str]:
    """``halfreal rig`` for a process that ends with this one: it is then asked to end, and makes itself safe first."""
    follow = f"from halfreal.orphans import end_with_parent; end_with_parent({os.getpid()}, {int(signal.SIGTERM)})"
    return [sys.executable, "-c", f"{follow}; from halfreal.cli import main; main()", "rig", str(path)]


@contextlib.contextmanager
def rig_beside(path: Path, say: Say) -> Iterator[None]:
    """The simulated rig of a definition's file in a process of its own, for as long as this lasts."""
    rig = subprocess.Popen(rig_command(path), stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert rig.stdout is not None
    try:
        heard = rig.stdout.readline().strip()
        if not heard:
            raise RefusedError(f"the simulated rig did not start (exit code {rig.wait()}); its message is above")
        say(f"simulated rig: {heard}")
        yield
    finally:
        rig.terminate()
        rig.communicate()


def check_operator(start: bool, elsewhere: bool = False) -> bool:
    """Whether there is a terminal; if not, the test must be started by ``start``, or be operated from ``elsewhere``."""
    terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    if not (start or terminal or elsewhere):
        raise RefusedError("no terminal to start the test from; start it at once with --start")
    return terminal


def hearing(operator: Operator) -> Keyboard:
    """The keyboard of a test, to be entered once, before the first question, and kept until the test is over.

    One that is closed and opened again, or opened when the rig is armed, would lose the keys in between.
    """
    return Keyboard(operator.press, partial(operator.session.emergency_stop, LOST_TERMINAL))


def run_test(
    session: Session,
    *,
    start: bool,
    say: Say,
    show: Show = lambda view: None,
    operator: Operator,
    desk: Desk | None = None,
) -> Run:
    """Arm the rig of a checked session, run the test and give its record.

    On a terminal the operator is prompted to start it, unless ``start`` says so already; elsewhere ``start`` must, or
    the operator at the ``desk``, who is asked before the rig is armed too.  ``say`` and ``show`` are called while the
    rig is armed, and must return at once (``Terminal``).  Keys reach the ``operator`` by ``hearing``, which is entered
    before.
    """
    terminal = check_operator(start, desk is not None)
    session.say = say
    session.check_not_stopped()
    offer = session.connect()
    who = offer.identity
    says = "does not report whether it is simulated or real" if who.nature == "unknown" else f"is {who.nature}"
    say(f"the rig {says}{f': {who.name}' if who.name else ''}")
    say(f"the rig is at {stands_at(offer, session.definition.interface)}")
    with stopped_by_signals(session):
        if desk is not None and not start:
            operator.ask("arm", desk.show, say if terminal else None)
        session.arm(wait=not start)
        operator.asked = "" if start else "start"
        for key, text in session.privileges.items():
            say(f"{key.removeprefix('realtime ')}: {text}")
        try:
            _watch(session, operator, say, show if terminal else None, desk)
        finally:
            show(None)
        session.conclude()  # still here: no signal can take the outcome from the record
    return session.finish()


def _watch(session: Session, operator: Operator, say: Say, show: Show | None, desk: Desk | None) -> None:
    """Until the test has ended, show it: at the terminal, or at least the prompts, and at the desk."""
    tell = _tell_waiting(session, say)

    def look() -> None:
        if show is None:
            tell()
        else:
            show(operator.view())
        if desk is not None:
            desk.show()

    session.wait(look, every=1.0 / REFRESH)


def _tell_waiting(session: Session, say: Say) -> Callable[[], None]:
    """Where no one is at a terminal, print at least that the operator is prompted."""
    last = session.state

    def look() -> None:
        nonlocal last
        if session.state != last and session.state in WAITING:
            say(f"{session.state}; the command is held, and there is no terminal: SIGINT ends the test")
        last = session.state

    return look


class Operator:
    """Whoever operates the test, at the terminal or at a page: what keys and words do, and what there is to see."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.asked = ""
        """What Enter says yes to: "check", "arm", "start", or nothing, as long as the operator was not asked."""
        self._answered = threading.Event()

    def press(self, key: str) -> None:
        """Do what a key means; called by the thread that listens to the keyboard."""
        with contextlib.suppress(RefusedError):  # not yet armed, or over already
            self.obey(self.asked if key in "\r\n" else MEANING.get(key.lower(), ""))

    def obey(self, word: str, text: str = "", by: str = OPERATOR) -> None:
        """Do what a word of the operator says, or refuse it; ``text`` is that of a note.  It never waits.

        Anyone else, named by ``by``, may only stop in an emergency.
        """
        session = self.session
        if word == EMERGENCY_STOP:
            session.emergency_stop(by)
        elif by != OPERATOR:
            raise RefusedError(f"'{word}' is for {OPERATOR}; {by} may only use EMERGENCY STOP")
        elif word == "stop":
            session.stop()
        elif word in ("check", "arm", "start"):
            self._agree(word)
        elif word == "note":
            session.note(text)
        elif word in ("release", "pause", "resume", "step"):
            getattr(session, word)()
        elif word in ("faster", "slower"):
            factor = session.speed * (FASTER if word == "faster" else 1.0 / FASTER)
            session.set_speed(min(max(factor, SLOWEST), FASTEST))
        elif word:
            raise RefusedError(f"'{word}' is not an operator command; available: {', '.join(WORDS)}")

    def _agree(self, to: str) -> None:
        if to != self.asked:
            raise RefusedError(f"the test is {self.session.state}; it cannot be {to}ed now")
        self.asked = ""
        if to == "start":
            self.session.start()
        self._answered.set()

    def ask(self, what: str, look: Callable[[], None], say: Say | None) -> None:
        """Wait for the operator's yes before the rig is armed, or be refused; ``look`` is called meanwhile.

        The question is put (by ``say``, at a terminal) once the answer can be received: no key pressed after it is
        lost.
        """
        self._answered.clear()
        self.asked = what
        if say is not None:
            say(f"press Enter or use the page: {QUESTIONS[what]}; s ends")
        try:
            while not self._answered.wait(1.0 / REFRESH):
                look()
                self.session.check_not_stopped()
        finally:
            self.asked = ""

    def view(self) -> Any:
        question = "armed and holding: press Enter to start the test" if self.asked else ""
        return table(status(self.session), self.session.definition.title, question)
