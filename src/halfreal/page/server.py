"""The page's web server: one page, its web socket, and the operator's words.

Every request must name this server as its host (else a foreign name could be made to point here), come with the cookie
of a browser that had a token, and, if it is more than a look, with the origin of this very page.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from .guests import Guests, View
from .shown import Reader, Shown

FRAMES = 25
"""A second, to each browser."""
MOST_SOCKETS = 32
LONGEST_BODY = 8192
COOKIE_LASTS = 12 * 3600
STATIC = Path(__file__).with_name("static")
FILES = {
    name: ((STATIC / name).read_text(encoding="utf-8"), kind)
    for name, kind in (
        ("page.html", "text/html"),
        ("page.css", "text/css"),
        ("page.js", "text/javascript"),
        ("plots.js", "text/javascript"),
    )
}
"""Content and kind of all that is served in addition to the test itself."""
EMERGENCY_STOP = "emergency stop"
TWICE = ("arm", "start")
"""Words that are obeyed when they are said a second time, with the ticket that the first time gave."""
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
POLICY += "frame-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'; base-uri 'none'"
NO_ENTRY = (
    "Open this page with the address that halfreal printed. It works once, in one browser; ask the operator "
    "for an invitation, or use the first browser."
)

Say = Callable[[str, str, str], Awaitable[str]]
"""Says a word, with a text, to the session, and who says it, if not the operator; gives why it was refused, or
nothing."""
Report = Callable[[str], Awaitable[str | None]]
"""The HTML of the "report" or the "rehearsal"; None if there is none yet."""
Scope = MutableMapping[str, Any]


class Server:
    """The page as an ASGI application.

    Parameters
    ----------
    url
        Where browsers find it: scheme, host and port.
    say
        None: no one can operate; the page is for looking.
    viewers_stop
        Viewers who may use EMERGENCY STOP: "same computer", "all" or "none".
    """

    def __init__(
        self,
        shown: Shown,
        guests: Guests,
        url: str,
        *,
        say: Say | None,
        report: Report,
        viewers_stop: str = "same computer",
    ) -> None:
        self._viewers_stop = viewers_stop
        self.shown, self.guests, self._say, self._report = shown, guests, say, report
        parts = urlsplit(url)
        self._port, self._secure = parts.port, parts.scheme == "https"
        names = {parts.hostname or ""} | ({"localhost", "127.0.0.1", "::1"} if not self._secure else set())
        self._hosts = {f"[{name}]:{self._port}" if ":" in name else f"{name}:{self._port}" for name in names}
        self._origins = {f"{parts.scheme}://{host}" for host in self._hosts}
        self._cookie = f"halfreal-{self._port}"
        self.sockets: dict[WebSocket, View] = {}
        self.last_socket = float("-inf")
        """When the last browser was there [s of the monotonic clock]."""
        self.making = 0
        """Reports that are being made."""
        self._app = Starlette(
            routes=[
                Route("/", self._page),
                Route("/static/{name}", self._static),
                Route("/report", self._html),
                Route("/rehearsal", self._html),
                Route("/word", self._word, methods=["POST"]),
                Route("/invite", self._invite, methods=["POST"]),
                Route("/ask", self._ask, methods=["POST"]),
                Route("/hand-over", self._hand_over, methods=["POST"]),
                WebSocketRoute("/live", self._live),
            ]
        )

    @property
    def operators(self) -> int:
        """Open views of the browser that operates."""
        return sum(self.guests.role(view) == "operate" for view in self.sockets.values())

    # --- every request ----------------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        asks_more = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if headers.get("host", "") not in self._hosts:
            refused = "this server has another name"
        elif asks_more and headers.get("origin") not in self._origins:
            refused = "only the page itself may request this"
        else:
            await self._app(scope, receive, send if scope["type"] == "websocket" else self._guarded(send))
            return
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 4403})
        else:
            await PlainTextResponse(refused, 403)(scope, receive, self._guarded(send))

    @staticmethod
    def _guarded(send: Any) -> Any:
        """The answer with the headers that keep a browser from doing more than it should with it."""

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                for name, value in (
                    (b"content-security-policy", POLICY.encode()),
                    (b"x-content-type-options", b"nosniff"),
                    (b"referrer-policy", b"no-referrer"),
                    (b"cache-control", b"no-store"),
                    (b"cross-origin-opener-policy", b"same-origin"),
                    (b"cross-origin-resource-policy", b"same-origin"),
                ):
                    if name not in given or name == b"cache-control":
                        message["headers"].append((name, value))
            await send(message)

        return sending

    def _view(self, of: Request | WebSocket) -> View | None:
        return self.guests.view(of.cookies.get(self._cookie))

    # --- looking ----------------------------------------------------------------------------------------------------

    async def _page(self, request: Request) -> Response:
        token = request.query_params.get("token")
        if token is not None:
            cookie = self.guests.enter(token)
            if cookie is not None:
                answer = RedirectResponse("/", 303)
                answer.set_cookie(
                    self._cookie,
                    cookie,
                    max_age=COOKIE_LASTS,
                    httponly=True,
                    samesite="strict",
                    secure=self._secure,
                )
                return answer
            return PlainTextResponse(f"This address was already used, or is wrong. {NO_ENTRY}", 403)
        if self._view(request) is None:
            return PlainTextResponse(NO_ENTRY, 403)
        return file("page.html")

    async def _static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if self._view(request) is None:
            return PlainTextResponse(NO_ENTRY, 403)
        if name not in FILES:
            return PlainTextResponse("no such file", 404)
        return file(name)

    async def _html(self, request: Request) -> Response:
        if self._view(request) is None:
            return PlainTextResponse(NO_ENTRY, 403)
        self.making += 1
        try:
            html = await self._report(request.url.path.removeprefix("/"))
        finally:
            self.making -= 1
            self.last_socket = time.monotonic()
        if html is None:
            return PlainTextResponse("not available yet", 404)
        return HTMLResponse(html, headers={"content-security-policy": REPORT_POLICY})

    async def _live(self, socket: WebSocket) -> None:
        view = self._view(socket)
        if view is None or len(self.sockets) >= MOST_SOCKETS:
            await socket.close(4401 if view is None else 4429)
            return
        await socket.accept()
        self.sockets[socket] = view
        reader = Reader(self.shown)
        listening = asyncio.create_task(self._listen(socket, reader))
        try:
            while not listening.done():
                for text in reader.texts(self._guest(view, socket)):
                    await socket.send_text(text)
                for packet in reader.packets():
                    await socket.send_bytes(packet)
                await asyncio.wait([listening], timeout=1.0 / FRAMES)
        except (WebSocketDisconnect, RuntimeError, OSError):
            pass  # the browser has gone
        finally:
            listening.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await listening
            del self.sockets[socket]
            self.last_socket = time.monotonic()

    async def _listen(self, socket: WebSocket, reader: Reader) -> None:
        with contextlib.suppress(WebSocketDisconnect, ValueError, KeyError, RuntimeError):
            while True:
                reader.choose(await socket.receive_json())

    def _guest(self, view: View, of: WebSocket) -> dict[str, Any]:
        """What this browser is and may do, and whether another one asks to operate."""
        role = self.guests.role(view) if self._say is not None else "watch"
        return {
            "role": role,
            "view": view.name,
            "operable": self._say is not None,
            "may_stop": role == "operate" or self._may_stop(of),
            "operated": self.operators > 0,
            "asking": self.guests.asking,
        }

    # --- the operator -----------------------------------------------------------------------------------------------

    async def _body(self, request: Request) -> dict[str, Any] | None:
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return None
        data = b""
        async for part in request.stream():
            data += part
            if len(data) > LONGEST_BODY:
                return None
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(data or b"{}")
            return found if isinstance(found, dict) else None
        return None

    async def _operator(self, request: Request) -> tuple[View, dict[str, Any]] | Response:
        """Who asks and what, if it is the operator."""
        view = self._view(request)
        if view is None:
            return JSONResponse({"refused": NO_ENTRY}, 403)
        if self._say is None or self.guests.role(view) != "operate":
            return JSONResponse({"refused": "this browser is view-only; another one operates the test"}, 403)
        body = await self._body(request)
        return (view, body) if body is not None else JSONResponse({"refused": "not understood"}, 400)

    def _may_stop(self, of: Request | WebSocket) -> bool:
        """Whether a viewer may use EMERGENCY STOP."""
        if self._say is None or self._viewers_stop == "none":
            return False
        return self._viewers_stop == "all" or on_this_computer(of.scope)

    async def _word(self, request: Request) -> Response:
        viewer = self._view(request)
        if viewer is not None and self.guests.role(viewer) == "watch" and self._may_stop(request):
            body = await self._body(request)
            if body is not None and body.get("word") == EMERGENCY_STOP:
                return await self._obeyed(EMERGENCY_STOP, "", f"a viewer of the page ({viewer.name})")
        found = await self._operator(request)
        if isinstance(found, Response):
            return found
        view, body = found
        word, text = str(body.get("word", "")), str(body.get("text", ""))
        if word in TWICE and not self.guests.redeem(view, word, str(body.get("ticket", ""))):
            return JSONResponse({"ticket": self.guests.ticket(view, word)})
        return await self._obeyed(word, text, "")

    async def _obeyed(self, word: str, text: str, by: str) -> Response:
        assert self._say is not None
        refused = await self._say(word, text, by)
        return JSONResponse({"refused": refused}, 409 if refused else 200)

    async def _invite(self, request: Request) -> Response:
        found = await self._operator(request)
        if isinstance(found, Response):
            return found
        return JSONResponse({"path": f"/?token={self.guests.invite('watch')}"})

    async def _ask(self, request: Request) -> Response:
        view = self._view(request)
        if view is None or self._say is None or await self._body(request) is None:
            return JSONResponse({"refused": NO_ENTRY}, 403)
        self.guests.ask(view)
        return JSONResponse({"refused": ""})

    async def _hand_over(self, request: Request) -> Response:
        found = await self._operator(request)
        if isinstance(found, Response):
            return found
        view, body = found
        done = self.guests.hand_over(view, str(body.get("to", "")))
        return JSONResponse({"refused": "" if done else "that view has not requested control"}, 200 if done else 409)


def on_this_computer(scope: Scope) -> bool:
    """Whether a request comes from this computer: by the loopback, or from the address that it is sent to."""
    client, server = (str((scope.get(end) or [""])[0]) for end in ("client", "server"))
    try:
        return ipaddress.ip_address(client).is_loopback or client == server
    except ValueError:
        return False


def file(name: str) -> Response:
    content, kind = FILES[name]
    return Response(content, media_type=kind)
