"""The process that serves the page of a session: it reads the door and the ring, and answers browsers."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import uvicorn

from ..orphans import end_with_parent
from . import wire
from .guests import Guests, read_state, write_state
from .rows import RingRows
from .server import FRAMES, Server
from .shown import Shown

PATIENCE = 5.0
"""Seconds that the session has for an answer."""
GRACE = 5.0
"""Seconds after the test's end in which a browser that has closed may come back, as when a page is loaded again."""
BEAT = 0.5
"""Seconds between two signs of life to the session."""


class Door:
    """The page's side of the door."""

    def __init__(self, door: socket.socket, shown: Shown) -> None:
        self._door, self._shown = door, shown
        self._numbers = itertools.count()
        self._answers: dict[int, asyncio.Future[str]] = {}
        self.closed = False
        door.setblocking(False)

    def read(self) -> None:
        """Take in what the session has sent; called when there is something."""
        with contextlib.suppress(BlockingIOError):
            while (received := wire.receive(self._door)) is not None:
                message, descriptors = received
                if message["kind"] == "answer":
                    waiting = self._answers.pop(message["id"], None)
                    if waiting is not None and not waiting.done():
                        waiting.set_result(message["refused"])
                elif message["kind"] == "rows":
                    self._shown.follow(message, RingRows(descriptors.pop()))
                else:
                    self._shown.tell(message)
            self.closed = True
            asyncio.get_running_loop().remove_reader(self._door)

    async def say(self, word: str, text: str, by: str) -> str:
        """Say a word to the session, ``by`` the operator or someone else, and give why it was refused, or nothing."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            wire.send(self._door, {"id": number, "word": word, "text": text, "by": by})
            return await asyncio.wait_for(answer, PATIENCE)
        except (OSError, TimeoutError):
            return "the session does not respond; use the terminal, or the rig's emergency stop"
        finally:
            self._answers.pop(number, None)

    def beat(self, operators: int, views: int) -> None:
        with contextlib.suppress(OSError):
            wire.send(self._door, {"operators": operators, "views": views})


class Reports:
    """Reports of the test and of its rehearsal, made when someone asks, once."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._made: dict[str, str] = {}
        self._lock = asyncio.Lock()

    async def __call__(self, which: str) -> str | None:
        told = self._shown.lasting.get("over" if which == "report" else "check", {})
        path = told.get("run" if which == "report" else "rehearsal")
        if not path:
            return None
        async with self._lock:
            if path not in self._made:
                self._made[path] = await asyncio.to_thread(made, Path(path))
            return self._made[path]


def made(path: Path) -> str:
    """The report of a run file."""
    from ..presentation.html import render
    from ..records.run_file import load_run

    return render(load_run(path))


def configured(server: Server, certificate: str | None = None, key: str | None = None) -> uvicorn.Server:
    """The web server, which says nothing and waits for no one."""
    log = logging.getLogger("uvicorn")
    log.addHandler(logging.NullHandler())
    log.propagate = False
    return uvicorn.Server(
        uvicorn.Config(
            server,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="websockets-sansio",
            ws_max_size=65_536,
            backlog=128,
            timeout_graceful_shutdown=1,
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )
    )


async def serve(given: Any) -> None:
    shown = Shown()
    door = Door(socket.socket(fileno=given.door), shown)
    guests = Guests(read_state(given.guests), lambda state: write_state(given.guests, state), time.monotonic)
    server = Server(shown, guests, given.url, say=door.say, report=Reports(shown), viewers_stop=given.viewers_stop)
    web = configured(server, given.certificate, given.key)
    asyncio.get_running_loop().add_reader(given.door, door.read)
    serving = asyncio.create_task(web.serve(sockets=[socket.socket(fileno=given.listen)]))
    beaten = 0.0
    while not serving.done():
        shown.pump()
        now = time.monotonic()
        if now - beaten > BEAT:
            beaten = now
            door.beat(server.operators, len(server.sockets))
        looked_at = server.sockets or server.making or now - server.last_socket < GRACE
        over = "over" in shown.lasting and not looked_at
        web.should_exit = web.should_exit or door.closed or over
        await asyncio.wait([serving], timeout=1.0 / FRAMES)
    await serving


def keep_away(cpu: int | None) -> None:
    """Leave the loop's processor, and its priority, alone."""
    if os.sched_getscheduler(0) != os.SCHED_OTHER:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.nice(5)
    others = os.sched_getaffinity(0) - {cpu}
    if others:
        os.sched_setaffinity(0, others)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="halfreal.page.process")
    parser.add_argument("--parent", required=True, type=int, help="process that ends this one with its own end")
    parser.add_argument("--door", required=True, type=int, help="descriptor of the door to the session")
    parser.add_argument("--listen", required=True, type=int, help="descriptor of the socket that browsers connect to")
    parser.add_argument("--guests", required=True, type=int, help="descriptor of the memory with tokens and browsers")
    parser.add_argument("--url", required=True)
    parser.add_argument("--viewers-stop", required=True, help="viewers who may use EMERGENCY STOP")
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    parser.add_argument("--not-on", type=int, help="processor of the loop")
    given = parser.parse_args(arguments)
    end_with_parent(given.parent, signal.SIGTERM)
    keep_away(given.not_on)
    asyncio.run(serve(given))


if __name__ == "__main__":
    main()
    sys.exit(0)
