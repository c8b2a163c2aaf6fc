"""The page's web server: who is let in, what is refused, and that text stays text."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette", reason="needs the extra 'page'")

from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from halfreal.page.guests import Guests
from halfreal.page.history import BIN
from halfreal.page.server import LONGEST_BODY, STATIC, Server
from halfreal.page.shown import Shown

URL = "http://127.0.0.1:8123"
LIVE = "ws://127.0.0.1:8123/live"
ORIGIN = {"origin": URL}
SCRIPT = "<script>alert(1)</script>"


class Given:
    """Rows that tests give."""

    def __init__(self) -> None:
        self.columns = np.zeros((3, 0))

    def take(self) -> np.ndarray:
        taken, self.columns = self.columns, np.zeros((3, 0))
        return taken


class Page:
    """A server with browsers of its own."""

    def __init__(self, operable: bool = True, viewers_stop: str = "same computer") -> None:
        self.shown, self.said, self.refusal = Shown(), list[tuple[str, ...]](), ""
        self.guests = Guests({}, lambda state: None, lambda: 0.0)
        self.html: str | None = None
        self.server = Server(
            self.shown,
            self.guests,
            URL,
            say=self._say if operable else None,
            report=self._report,
            viewers_stop=viewers_stop,
        )

    async def _say(self, word: str, text: str, by: str) -> str:
        self.said.append((word, text, by) if by else (word, text))
        return self.refusal

    async def _report(self, which: str) -> str | None:
        return self.html

    def browser(self, role: str | None = None, at: str = "192.0.2.7") -> TestClient:
        """A browser at an address that has come in with a token for a role, or without one."""
        client = TestClient(self.server, base_url=URL, follow_redirects=False, client=(at, 50000))
        if role is not None:
            assert client.get("/", params={"token": self.guests.invite(role)}).status_code == 303
        return client


@pytest.fixture
def page() -> Iterator[Page]:
    yield Page()


def word(browser: TestClient, what: str, **more: Any) -> Any:
    return browser.post("/word", json={"word": what, **more}, headers=ORIGIN)


def until(socket: Any, kind: str) -> dict[str, Any]:
    """The next text of a kind."""
    while True:
        received = socket.receive()
        if received.get("text") and (found := json.loads(received["text"]))["kind"] == kind:
            return found


def packet(socket: Any, kind: str) -> tuple[dict[str, Any], bytes]:
    while True:
        data = socket.receive().get("bytes")
        if data:
            (length,) = struct.unpack("<I", data[:4])
            head = json.loads(data[4 : 4 + length])
            if head["kind"] == kind:
                return head, data[4 + length :]


def test_without_a_token_nothing_is_shown(page: Page) -> None:
    stranger = page.browser()
    for path in ("/", "/static/page.js", "/report", "/rehearsal", "/?token=wrong"):
        answer = stranger.get(path)
        assert answer.status_code == 403 and "set-cookie" not in answer.headers
    assert word(stranger, "stop").status_code == 403
    with pytest.raises(WebSocketDisconnect) as closed, stranger.websocket_connect(LIVE, headers=ORIGIN):
        pass
    assert closed.value.code == 4401 and page.said == []


def test_a_token_works_once_and_gives_a_cookie_that_scripts_and_other_sites_cannot_use(page: Page) -> None:
    token = page.guests.invite("operate")
    first, second = page.browser(), page.browser()
    answer = first.get("/", params={"token": token})
    cookie = answer.headers["set-cookie"].lower()
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "httponly" in cookie and "samesite=strict" in cookie and "path=/" in cookie
    assert first.get("/").status_code == 200
    assert second.get("/", params={"token": token}).status_code == 403


def test_with_tls_the_cookie_goes_only_through_tls() -> None:
    page = Page()
    server = Server(page.shown, page.guests, "https://lab.example:8443", say=page._say, report=page._report)
    client = TestClient(server, base_url="https://lab.example:8443", follow_redirects=False)
    answer = client.get("/", params={"token": page.guests.invite()})
    assert "secure" in answer.headers["set-cookie"].lower()


def test_answers_carry_a_policy_that_lets_no_foreign_script_run(page: Page) -> None:
    headers = page.browser("watch").get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"


@pytest.mark.parametrize("host", ["evil.example:8123", "127.0.0.1:9", "127.0.0.1", ""])
def test_a_foreign_name_for_this_server_is_refused(page: Page, host: str) -> None:
    assert page.browser("operate").get("/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    "origin", [None, "http://evil.example", "http://127.0.0.1:9", "https://127.0.0.1:8123", "null"]
)
def test_only_the_page_itself_may_say_words_or_open_the_socket(page: Page, origin: str | None) -> None:
    browser = page.browser("operate")
    headers = {} if origin is None else {"origin": origin}
    assert browser.post("/word", json={"word": "emergency stop"}, headers=headers).status_code == 403
    with pytest.raises(WebSocketDisconnect) as closed, browser.websocket_connect(LIVE, headers=headers):
        pass
    assert closed.value.code == 4403 and page.said == []


def test_a_form_of_another_site_could_not_be_a_word(page: Page) -> None:
    browser = page.browser("operate")
    answer = browser.post("/word", content='{"word": "stop"}', headers={**ORIGIN, "content-type": "text/plain"})
    assert answer.status_code == 400
    for content in (b"[]", b"{", b"\xff", b'{"word": "note", "text": "' + b"x" * LONGEST_BODY + b'"}'):
        answer = browser.post("/word", content=content, headers={**ORIGIN, "content-type": "application/json"})
        assert answer.status_code == 400
    assert page.said == []


def test_who_watches_does_not_operate_until_the_operator_hands_over(page: Page) -> None:
    operator, watcher = page.browser("operate"), page.browser("watch")
    for what in ("emergency stop", "stop", "arm", "note"):
        assert word(watcher, what).status_code == 403
    assert watcher.post("/invite", json={}, headers=ORIGIN).status_code == 403
    assert operator.post("/hand-over", json={"to": "view 2"}, headers=ORIGIN).status_code == 409
    assert watcher.post("/hand-over", json={"to": "view 2"}, headers=ORIGIN).status_code == 403
    assert watcher.post("/ask", json={}, headers=ORIGIN).status_code == 200
    assert operator.post("/hand-over", json={"to": "view 2"}, headers=ORIGIN).status_code == 200
    assert word(operator, "stop").status_code == 403
    assert page.said == []
    assert word(watcher, "stop").status_code == 200
    assert page.said == [("stop", "")]


@pytest.mark.parametrize(
    ("viewers_stop", "at", "may"),
    [
        ("same computer", "127.0.0.1", True),
        ("same computer", "::1", True),
        ("same computer", "192.0.2.7", False),
        ("same computer", "not an address", False),
        ("all", "192.0.2.7", True),
        ("none", "127.0.0.1", False),
    ],
)
def test_a_viewer_may_stop_in_an_emergency_where_the_definition_allows_it_and_nothing_else(
    viewers_stop: str, at: str, may: bool
) -> None:
    page = Page(viewers_stop=viewers_stop)
    page.browser("operate")
    watcher, stranger = page.browser("watch", at), page.browser(None, at)
    for what in ("stop", "check", "arm", "start", "release", "note", "pause", ""):
        assert word(watcher, what).status_code == 403
    assert word(stranger, "emergency stop").status_code == 403 and page.said == []
    with watcher.websocket_connect(LIVE, headers=ORIGIN) as socket:
        assert until(socket, "status")["may_stop"] is may
    assert word(watcher, "emergency stop", text="ignored").status_code == (200 if may else 403)
    assert page.said == ([("emergency stop", "", "a viewer of the page (view 2)")] if may else [])


def test_a_page_for_looking_stops_nothing() -> None:
    page = Page(operable=False, viewers_stop="all")
    assert word(page.browser("watch", "127.0.0.1"), "emergency stop").status_code == 403


def test_an_invitation_lets_one_further_browser_watch(page: Page) -> None:
    path = page.browser("operate").post("/invite", json={}, headers=ORIGIN).json()["path"]
    guest = page.browser()
    assert guest.get(path).status_code == 303 and guest.get("/").status_code == 200
    assert word(guest, "stop").status_code == 403 and page.browser().get(path).status_code == 403


@pytest.mark.parametrize("what", ["arm", "start"])
def test_what_moves_the_rig_is_said_twice(page: Page, what: str) -> None:
    operator = page.browser("operate")
    ticket = word(operator, what).json()["ticket"]
    assert "ticket" in word(operator, what, ticket="wrong").json()
    assert page.said == []
    ticket = word(operator, what).json()["ticket"]
    assert word(operator, what, ticket=ticket).json() == {"refused": ""}
    assert page.said == [(what, "")]
    assert "ticket" in word(operator, what, ticket=ticket).json() and len(page.said) == 1


@pytest.mark.parametrize("what", ["emergency stop", "stop", "release", "check"])
def test_other_words_are_said_at_once_and_refusals_are_told(page: Page, what: str) -> None:
    operator = page.browser("operate")
    assert word(operator, what).json() == {"refused": ""}
    page.refusal = "not now"
    answer = word(operator, what)
    assert (answer.status_code, answer.json()) == (409, {"refused": "not now"})
    assert page.said == [(what, ""), (what, "")]


def test_a_page_for_looking_has_no_operator() -> None:
    page = Page(operable=False)
    browser = page.browser("operate")
    assert word(browser, "stop").status_code == 403
    with browser.websocket_connect(LIVE, headers=ORIGIN) as socket:
        status = until(socket, "status")
        assert (status["role"], status["operable"]) == ("watch", False)


def test_the_socket_tells_the_state_and_sends_chosen_channels_with_their_peaks(page: Page) -> None:
    rows = Given()
    about = {"kind": "rows", "step": BIN, "channels": [["a", "m"], ["guard.mode", "1"]], "watched": ["guard.mode"]}
    about |= {"watched_columns": [2], "texts": {"guard.mode": {"4.0": "ramping"}}}
    page.shown.tell({"kind": "test", "title": SCRIPT})
    page.shown.follow(about, rows)
    rows.columns = np.array([[0.0, BIN, 2 * BIN], [1.0, -9.0, 2.0], [0.0, 4.0, 4.0]])
    page.shown.pump()
    with page.browser("operate").websocket_connect(LIVE, headers=ORIGIN) as socket:
        assert until(socket, "test")["title"] == SCRIPT
        assert until(socket, "rows")["channels"][0] == ["a", "m"]
        assert until(socket, "events")["events"] == [[BIN, "ramping"]]
        assert until(socket, "status")["role"] == "operate"
        socket.send_json(
            {"channels": ["a", "no such", 7, None], "pairs": [["a"], 3, ["a", "guard.mode"]], "spectrum": []}
        )
        head, data = packet(socket, "bins")
        assert (head["channels"], head["count"]) == (["a"], 3)
        np.testing.assert_array_equal(np.frombuffer(data[:24], "<f8"), [0.0, BIN, 2 * BIN])
        np.testing.assert_array_equal(np.frombuffer(data[24:], "<f4"), [1, -9, 2, 1, -9, 2])
        head, data = packet(socket, "pairs")
        np.testing.assert_array_equal(np.frombuffer(data, "<f4"), [1, -9, 2, 0, 4, 4])
        socket.send_text("no JSON")
    assert page.server.sockets == {}


def test_a_report_is_shown_when_there_is_one_and_may_not_run_scripts(page: Page) -> None:
    browser = page.browser("watch")
    assert browser.get("/report").status_code == 404
    page.html = "<h1>report</h1>"
    answer = browser.get("/report")
    assert answer.text == page.html and "script-src" not in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_front_end_puts_nothing_into_the_page_as_html_and_fetches_nothing_from_elsewhere() -> None:
    for path in STATIC.iterdir():
        text = path.read_text()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "https://", "//cdn"):
            assert word not in text, (path.name, word)
        assert text.replace("http://www.w3.org/2000/svg", "").count("http://") == 0
