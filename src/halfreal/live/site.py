"""A site: a test on a rig whose displacements come from a client outside, such as OpenSees.

All of it but the client is a session like others: check, guard, link, record.  A process of its own speaks with the
client (``sites/server.py``); the loop reads a mailbox.  When the client ends the test, it is complete, and the rig is
stopped smoothly; when the client goes without a word, falls silent or makes no sense, the loop trips.
"""

from __future__ import annotations

import socket
import subprocess
from typing import Any

import numpy as np

from ..definition.definition import Definition
from ..kernels.loop import Loop
from ..kernels.modes import ARMED, RAMPING, RUNNING
from ..links.controller_end import Offer
from ..runs.run import Outcome
from ..sites.conversation import Matrices
from ..sites.listener import guarded, listener_of
from ..sites.mailbox import CLIENT, GOODBYE, NO_SERVER, OVER, Mailbox
from ..sites.server import PATIENCE, start
from .session import Session
from .slow_operator import RefusedError


class SiteSession(Session):
    """One test on one rig, driven by a client."""

    serves = True

    def __init__(self, definition: Definition, *arguments: Any, **options: Any) -> None:
        super().__init__(definition, *arguments, **options)
        port = definition.virtual.client_port
        if port is None:
            raise RefusedError(
                f"a virtual substructure of kind '{definition.virtual.kind}' is computed by "
                "halfreal, but a site serves a "
                'client; use virtual.kind = "client", or halfreal run'
            )
        self._port = port
        self._listener: socket.socket | None = None
        self._mailbox: Mailbox | None = None
        self._server: subprocess.Popen[str] | None = None

    def listen(self) -> str:
        """Be there for a client; return where."""
        if self._listener is None:
            self._listener = listener_of(self._port)
            self._mailbox = Mailbox.create(self.definition.virtual.axes)
            self._server = start(self._listener, self._mailbox, self._matrices(), self._port.peer)
            self.remark("site", f"the site's port is {guarded(self._port)}")
        host, port = self._listener.getsockname()[:2]
        return f"{host}:{port} ({self._port.protocol}), {guarded(self._port)}"

    def _matrices(self) -> Matrices:
        """What a client receives about the specimen."""
        stiffness, known = self._port.stiffness, self.definition.rig.known_specimen
        if stiffness is None and known is not None:
            stiffness = known.stiffness_at_rest(self.definition.virtual.axes)
        if stiffness is None:
            raise RefusedError(
                "the rig's specimen has no matrices to send to a client; give virtual.stiffness, its initial stiffness"
            )
        return Matrices(stiffness, self._port.damping, self._port.mass)

    def connect(self) -> Offer:
        self.listen()
        return super().connect()

    def _wire(self, loop: Loop, words: np.ndarray) -> None:
        super()._wire(loop, words)
        assert self._mailbox is not None
        virtual = loop.parameter("virtual")
        virtual["mailbox"] = float(self._mailbox.address)
        if self.definition.slow is None:
            virtual["rate"][:] = loop.parameter("guard")["rate"] * loop.dt

    def tend(self) -> None:
        super().tend()
        mailbox, server = self._mailbox, self._server
        if mailbox is None or server is None:
            return
        self._listen_to_server()
        if server.poll() is not None and mailbox.words[CLIENT] < GOODBYE:
            mailbox.words[CLIENT] = NO_SERVER
        if self.running and mailbox.words[CLIENT] == GOODBYE:
            self.stop("because the client had ended the test")
        if self.loop is not None and self.loop.vector[self.loop.index["guard.mode"]] not in (ARMED, RAMPING, RUNNING):
            mailbox.words[OVER] = 1  # what the client still requests is not answered

    def _listen_to_server(self) -> None:
        assert self._server is not None and self._server.stdout is not None
        for line in self._server.stdout:
            text = line.strip()
            self.remark("client", text)
            self.say(text)

    def _how_it_ended(self, loop: Loop, ended: int) -> tuple[Outcome, str]:
        outcome, reason = super()._how_it_ended(loop, ended)
        if outcome == "stopped" and self._mailbox is not None and self._mailbox.words[CLIENT] == GOODBYE:
            return "completed", ""
        if outcome == "completed":
            return "stopped", "timing.duration has elapsed, and the client had not ended the test"
        return outcome, reason

    def _let_go(self) -> None:
        super()._let_go()
        if self._server is not None and self._mailbox is not None:
            self._mailbox.words[OVER] = 1
            try:
                self._server.wait(2.0 * PATIENCE)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
            self._listen_to_server()
            assert self._server.stdout is not None
            self._server.stdout.close()
            self._server = None
        if self._mailbox is not None:
            self._mailbox.close()
            self._mailbox = None
        if self._listener is not None:
            self._listener.close()
            self._listener = None
