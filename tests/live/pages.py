"""A browser without a screen: what it says to a page, and what it is told."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from live.processes import PATIENCE, Process, wait_for


class Browser:
    """One that comes in with an address that ``halfreal`` has printed."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        assert parts.hostname and parts.port
        self.host, self.port, self.url = parts.hostname, parts.port, f"{parts.scheme}://{parts.netloc}"
        self.cookie = ""
        status, headers, _ = self.ask("GET", f"/?{parts.query}")
        self.entered = status == 303
        self.cookie = headers.get("set-cookie", "").partition(";")[0]
        self._open = ExitStack()
        self.socket: ClientConnection | None = None
        self.told: dict[str, dict[str, Any]] = {}

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, str], str]:
        """Status, headers and text of an answer; a server that is just starting is waited for."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        try:
            headers = {"cookie": self.cookie, "origin": self.url, "content-type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read().decode()
        finally:
            connection.close()

    def say(self, word: str, **more: Any) -> dict[str, Any]:
        found = json.loads(self.ask("POST", "/word", {"word": word, **more})[2])
        assert isinstance(found, dict)
        return found

    def say_twice(self, word: str) -> dict[str, Any]:
        return self.say(word, ticket=self.say(word)["ticket"])

    def look(self) -> Self:
        """Open the page, or open it again."""
        self.close()
        self.told = {}
        self.socket = self._open.enter_context(
            connect(
                f"ws://{self.host}:{self.port}/live",
                origin=self.url,  # type: ignore[arg-type]
                additional_headers={"cookie": self.cookie},
                max_size=None,
                open_timeout=PATIENCE,
                close_timeout=0.1,  # a browser that takes nothing more does not see the answer to its farewell
            )
        )
        return self

    def until(self, condition: Callable[[dict[str, dict[str, Any]]], Any], what: str) -> Any:
        """Read until what was told, the last of each kind, is as wished."""

        def found() -> Any:
            assert self.socket is not None
            data = self.socket.recv(timeout=PATIENCE)
            if isinstance(data, str):
                message = json.loads(data)
                self.told[message["kind"]] = message
            return condition(self.told)

        return wait_for(found, what)

    def asked(self, what: str) -> None:
        self.until(lambda told: told.get("status", {}).get("asked") == what, f"the operator to be asked to {what}")

    def ran_for(self, seconds: float) -> None:
        self.until(lambda told: (told.get("status", {}).get("time") or 0.0) > seconds, f"{seconds} s of the test")

    def gone(self) -> bool:
        """Read until the server closes."""
        try:
            self.until(lambda told: False, "the server to close")
        except (ConnectionClosed, OSError):
            return True
        return False

    def close(self) -> None:
        self._open.close()
        self.socket = None


def address(process: Process, role: str) -> str:
    return process.until(rf"to {role}:\s+(http\S+)")[1]
