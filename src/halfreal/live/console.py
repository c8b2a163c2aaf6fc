"""A test on a rig from the terminal: the operator's questions, keys and view."""

from __future__ import annotations

import contextlib
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


@contextlib.contextmanager
def beside(path: Path, say: Say) -> Iterator[None]:
    """The simulated rig of a definition's file in a process of its own, for as long as this lasts."""
    command = [sys.executable, "-c", "from halfreal.cli import main; main()", "rig", str(path)]
    rig = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
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


def run_test(session: Session, *, start: bool, say: Say) -> Run:
    """Arm the rig of a checked session, run the test and give its record.

    On a terminal the operator is asked to start it, unless ``start`` says so already; elsewhere ``start`` must.
    """
    terminal = check_operator(start)
    offer = session.connect()
    say(f"the rig stands at {stands_at(offer, session.definition.interface)}")
    with stopped_by_signals(session), Keyboard() as keyboard:
        session.arm(wait=not start)
        for key, text in session.privileges.items():
            say(f"{key.removeprefix('realtime ')}: {text}")
        if terminal:
            _watch(session, keyboard, waits=not start)
        else:
            _tell_waiting(session, say)
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


def _watch(session: Session, keyboard: Keyboard, *, waits: bool) -> None:
    """Show the test until it has ended, and obey the operator's keys."""
    from rich.console import Console
    from rich.live import Live

    title = session.definition.title
    if waits:
        title += "\n[yellow]armed, and holding: Enter starts the test[/]"

    with Live(console=Console(stderr=True), refresh_per_second=REFRESH, transient=True) as live:

        def look() -> None:
            nonlocal title
            for key in keyboard.pressed():
                if key in "\r\n":
                    session.start()
                    title = session.definition.title
                elif key in " \x1b":
                    session.emergency_stop()
                elif key in "sS":
                    session.stop()
                elif session.definition.slow is not None:
                    slow_key(session, key)
            live.update(table(status(session), title))

        session.wait(look, every=1.0 / REFRESH)
