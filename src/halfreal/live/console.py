"""A test on a rig from the terminal: the operator's questions, keys and view."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..runs.run import Run
from .keyboard import Keyboard
from .session import Session, stands_at
from .slow_operator import FASTEST, SLOWEST, WAITING, RefusedError
from .view import status, table

Say = Callable[[str], None]
Show = Callable[[Any], None]
REFRESH = 10
"""Times a second that the view is drawn anew."""
FASTER = 1.25
"""What one key press does to the speed of a slow test."""


@contextlib.contextmanager
def stopped_by_signals(session: Session) -> Iterator[None]:
    """Let SIGINT (Ctrl-C), SIGTERM and SIGHUP be emergency stops as long as the test goes on."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return

    def trip(number: int, frame: Any) -> None:
        session.emergency_stop()

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, trip) for number in numbers}
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


def check_operator(start: bool) -> bool:
    """Whether there is a terminal; if not, the test must be told to start."""
    terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    if not start and not terminal:
        raise RefusedError("nobody is there to start the test: no terminal; start it at once with --start")
    return terminal


def run_test(session: Session, *, start: bool, say: Say, show: Show = lambda view: None) -> Run:
    """Arm the rig of a checked session, run the test and give its record.

    On a terminal the operator is asked to start it, unless ``start`` says so already; elsewhere ``start`` must.
    ``say`` and ``show`` are called while the rig is armed, and must return at once (``Terminal``).
    """
    terminal = check_operator(start)
    session.say = say
    offer = session.connect()
    who = offer.identity
    says = "does not say whether it is simulated or real" if who.nature == "unknown" else f"is {who.nature}"
    say(f"the rig {says}{f': {who.name}' if who.name else ''}")
    say(f"the rig stands at {stands_at(offer, session.definition.interface)}")
    operator = Operator(session)
    with stopped_by_signals(session), Keyboard(operator.press, session.emergency_stop):
        session.arm(wait=not start)
        operator.asked = not start
        for key, text in session.privileges.items():
            say(f"{key.removeprefix('realtime ')}: {text}")
        try:
            if terminal:
                session.wait(lambda: show(operator.view()), every=1.0 / REFRESH)
            else:
                _tell_waiting(session, say)
        finally:
            show(None)
        session.conclude()  # still here: no signal can take the outcome from the record
    return session.finish()


def _tell_waiting(session: Session, say: Say) -> None:
    """Where nobody is at a terminal, say at least that the operator is asked."""
    last = session.state

    def look() -> None:
        nonlocal last
        if session.state != last and session.state in WAITING:
            say(f"{session.state}; the command is held, and nobody is at a terminal: a signal (SIGINT) ends the test")
        last = session.state

    session.wait(look)


def slow_key(session: Session, key: str) -> None:
    """What a key means in a slow test, beside those of all tests."""
    if key in "pP":
        session.pause()
    elif key in "rR":
        session.resume()
    elif key in "nN":
        session.step()
    elif key in "+-":
        factor = session.speed * (FASTER if key == "+" else 1.0 / FASTER)
        session.set_speed(min(max(factor, SLOWEST), FASTEST))


class Operator:
    """Whoever sits at the terminal: what the keys do, and what there is to see."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.asked = False
        """Whether Enter starts the test: before the operator was asked, it does not."""

    def press(self, key: str) -> None:
        """Do what a key means; called by the thread that listens to the keyboard."""
        if key in " \x1b":
            self.session.emergency_stop()
            return
        with contextlib.suppress(RefusedError):  # not yet armed, or over already
            if key in "\r\n" and self.asked:
                self.session.start()
                self.asked = False
            elif key in "sS":
                self.session.stop()
            elif key in "eE":
                self.session.release()
            elif self.session.definition.slow is not None:
                slow_key(self.session, key)

    def view(self) -> Any:
        question = "armed, and holding: Enter starts the test" if self.asked else ""
        return table(status(self.session), self.session.definition.title, question)
