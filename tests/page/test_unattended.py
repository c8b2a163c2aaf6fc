"""A test without an operator: when it counts as such, and what the record says, on a clock of the test's own."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra 'page'")

from halfreal.live.console import Operator
from halfreal.live.signals import OPERATOR
from halfreal.page import desk, wire
from halfreal.page.desk import ALONE, Connection, PageDesk


class Session:
    """What a desk needs of a session that runs."""

    state, checked, loop, remarks = "running", None, object(), ()
    definition = SimpleNamespace(real_time=SimpleNamespace(unattended="stop"))

    def __init__(self) -> None:
        self.said: list[str] = []
        self.stopped: list[str] = []
        self.emergencies: list[str] = []

    def remark(self, channel: str, text: str) -> None:
        self.said.append(text)

    def stop(self, because: str) -> None:
        self.stopped.append(because)

    def emergency_stop(self, by: str) -> None:
        self.emergencies.append(by)


class Page:
    """A desk with a page's process that speaks when the test wants it to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time = 100.0
        monkeypatch.setattr(desk.time, "monotonic", lambda: self.time)
        self.session: Any = Session()
        operator = Operator(self.session)
        address: Any = SimpleNamespace(listen=socket.socket)
        self.desk = PageDesk(self.session, operator, address, terminal=False, say=lambda line: None)
        here, self.door = wire.pair()
        self.connection = self.desk._connection = Connection(here, operator)
        self.desk.process = SimpleNamespace(terminate=lambda: None, wait=lambda seconds: 0)  # type: ignore[assignment]

    def exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send something to the session, and a word whose answer shows that all was taken in."""
        wire.send(self.door, message)
        wire.send(self.door, {"id": 7, "word": "no such word", "by": ""})
        while True:
            received = wire.receive(self.door)
            assert received is not None
            if received[0]["id"] == 7:
                return received[0]

    def at(self, time: float) -> list[str]:
        """Why the desk has stopped the test by then."""
        self.time = 100.0 + time
        self.desk._see_to_operators()
        return list(self.session.stopped)


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    made = Page(monkeypatch)
    yield made
    made.desk.__exit__(None, None, None)
    made.door.close()


def test_a_page_that_hangs_counts_from_its_last_sign_of_life(page: Page) -> None:
    for time in (0.5, 1.0, 1.5, 2.0):
        page.time = 100.0 + time
        page.exchange({"operators": 1, "views": 1})
    assert page.at(2.0 + ALONE - 0.1) == []
    because = "because no operator's view has been connected for 5.1 s (real_time.unattended)"
    assert page.at(2.0 + ALONE + 0.1) == [because]
    assert page.session.said == ["no operator's view has been connected for 5.1 s; the test is stopped smoothly"]


def test_the_time_stated_is_the_time_that_passed(page: Page) -> None:
    page.exchange({"operators": 1, "views": 1})
    assert page.at(9.5) == ["because no operator's view has been connected for 9.5 s (real_time.unattended)"]


def test_a_page_without_an_operators_browser_counts_from_when_it_left(page: Page) -> None:
    page.exchange({"operators": 1, "views": 2})
    for time in (1.0, 3.0):
        page.time = 100.0 + time
        page.exchange({"operators": 0, "views": 1})
    assert page.at(ALONE - 0.1) == [] and len(page.at(ALONE + 0.1)) == 1


def test_while_an_operator_is_there_nothing_is_stopped(page: Page) -> None:
    for time in range(30):
        page.time = 100.0 + time
        page.exchange({"operators": 1, "views": 1})
        assert page.at(float(time)) == []


def test_words_of_viewers_are_refused_here_too_but_for_the_emergency_stop(page: Page) -> None:
    for word in ("stop", "arm", "start", "note", "release"):
        wire.send(page.door, {"id": 1, "word": word, "by": "a viewer"})
        received = wire.receive(page.door)
        assert received is not None and "a viewer may only use EMERGENCY STOP" in received[0]["refused"]
    page.exchange({"id": 2, "word": "emergency stop", "by": "a viewer"})
    page.exchange({"id": 3, "word": "emergency stop", "by": ""})
    assert page.session.emergencies == ["a viewer", OPERATOR] and page.session.stopped == []
