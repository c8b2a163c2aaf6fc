"""The process that speaks with a client, over TCP or UDP, so that neither the loop nor its operator waits for one.

It is handed a socket that listens, the mailbox to the loop, and the data of the specimen; it prints what happens line
by line.  It ends when its test is over and the client has ended, or after PATIENCE.

OpenSees leaves Nagle's algorithm on: unless each of its messages is acknowledged at once (TCP_QUICKACK, which Linux
forgets after every reception), a step takes 44 ms more.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from .conversation import Conversation, MailboxSite, Matrices, Site
from .generic_client import HEADER_BYTES
from .listener import may_come
from .mailbox import Mailbox

PATIENCE = 10.0
"""Seconds that a client may still take to end after its test."""
LOOK = 0.2
"""Seconds between two looks whether the test is over."""
DATAGRAM = 9126
"""Largest that OpenSees sends or takes, in bytes; longer messages are cut."""
LONGEST = 65535
AT_ONCE = 64
"""Datagrams between two looks whether the test is over."""
MOST_REFUSED = 20
"""Machines that are reported when their clients are refused."""


def start(listener: socket.socket, mailbox: Mailbox, matrices: Matrices, peer: str) -> subprocess.Popen[str]:
    """Start the server of a socket that listens; it says what happens on its standard output.

    ``peer`` is the address of the machine whose client is served; empty: this one.
    """
    told = {
        "socket": listener.fileno(),
        "mailbox": mailbox.fd,
        "peer": peer,
        "matrices": [one.tolist() for one in (matrices.stiffness, matrices.damping, matrices.mass)],
    }
    package = str(Path(__file__).resolve().parents[2])
    search = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", __name__, json.dumps(told)],
        pass_fds=[listener.fileno(), mailbox.fd],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C in the operator's terminal is not for the server
        env={**os.environ, "PYTHONPATH": search, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    return process


def converse(connection: socket.socket, talk: Conversation) -> None:
    """Serve one TCP connection until it ends."""

    def still_there() -> bool:
        try:
            return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    with connection:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            first = connection.recv(HEADER_BYTES, socket.MSG_WAITALL)
            if len(first) < HEADER_BYTES:
                return
            talk.begin(first)
            if talk.header is None:
                return
            size = talk.header.size
            data = bytearray(size)
            while not talk.over:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)  # Linux forgets it
                if connection.recv_into(data, size, socket.MSG_WAITALL) < size:
                    talk.gone()
                    return
                reply = talk.answer(data, still_there)
                if reply is not None:
                    connection.sendall(reply)
        except OSError:
            talk.gone()


def say(line: str) -> None:
    with contextlib.suppress(BrokenPipeError):  # the session has gone: its client is still to be sent home
        print(line, flush=True)


class Door:
    """Which machines' clients come in; of each other one the first attempt is reported."""

    def __init__(self, peer: str) -> None:
        self._peer = peer
        self._refused: set[str] = set()

    def admits(self, address: str) -> bool:
        if may_come(self._peer, address):
            return True
        if address not in self._refused and len(self._refused) < MOST_REFUSED:
            self._refused.add(address)
            say(f"client {address} was refused: only {self._peer or 'this machine'} is served (virtual.peer)")
        return False


class TcpServer:
    """Serves whoever connects, each in a thread of its own; the site lets one of them in."""

    def __init__(self, listener: socket.socket, site: Site, matrices: Matrices, peer: str = "") -> None:
        self._listener, self._site, self._matrices, self._door = listener, site, matrices, Door(peer)
        self._threads: list[threading.Thread] = []

    def look(self, seconds: float) -> None:
        """Wait so long for a client."""
        if not select.select([self._listener], [], [], seconds)[0]:
            return
        connection, peer = self._listener.accept()
        if not self._door.admits(peer[0]):
            connection.close()
            return
        talk = Conversation(self._site, self._matrices, say, f"client {peer[0]}:{peer[1]}")
        thread = threading.Thread(target=converse, args=(connection, talk), daemon=True)
        self._threads.append(thread)
        thread.start()

    @property
    def busy(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)


def always() -> bool:
    """Whether a client of UDP is still there: no one knows."""
    return True


class UdpServer:
    """Serves whoever sends datagrams; the site lets one of them in."""

    def __init__(self, listener: socket.socket, site: Site, matrices: Matrices, peer: str = "") -> None:
        self._listener, self._site, self._matrices, self._door = listener, site, matrices, Door(peer)
        self._talks: dict[tuple[str, int], tuple[Conversation, int, memoryview, bytearray]] = {}
        """With each, the size of a message that is one datagram, where it is found, and what has come of one that is
        several."""
        self._data = bytearray(LONGEST)
        self._waits = 0.0

    def look(self, seconds: float) -> None:
        """Answer datagrams, until none comes for so long."""
        if seconds != self._waits:  # the system keeps the time: asking first whether one has come would take as long
            self._waits = seconds
            whole, rest = divmod(round(1e6 * seconds), 1_000_000)
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", whole, rest))
        listener, data, talks = self._listener, self._data, self._talks
        for _ in range(AT_ONCE):
            try:
                length, peer = listener.recvfrom_into(data)
            except OSError:  # no one, or a client that is gone has closed its port
                return
            known = talks.get(peer)
            if known is None or length != known[1]:
                self._hear(data[:length], peer)
                continue
            reply = known[0].answer(known[2], always)
            if reply is not None:
                listener.sendto(reply, peer)

    def _hear(self, data: bytearray, peer: tuple[str, int]) -> None:
        """Take a datagram that is no whole message: hello, a header, or a piece."""
        nothing = memoryview(b"")
        talk, _, _, gathered = self._talks.get(peer, (None, -1, nothing, bytearray()))
        if data == b"a":  # hello
            if not self._door.admits(peer[0]):
                return
            if talk is not None and not talk.over:
                talk.gone()
            fresh = Conversation(self._site, self._matrices, say, f"client {peer[0]}:{peer[1]}")
            self._talks[peer] = fresh, -1, nothing, bytearray()
            self._listener.sendto(b"b", peer)
            return
        if talk is None or talk.over:
            return
        if talk.header is None:
            talk.begin(bytes(data))
            whole = -1 if talk.header is None or talk.header.size > DATAGRAM else talk.header.size
            self._talks[peer] = talk, whole, memoryview(self._data)[: max(whole, 0)], gathered
            return
        gathered += data
        if len(gathered) < talk.header.size:
            return
        reply = talk.answer(bytes(gathered), always) or b""
        gathered.clear()
        for first in range(0, len(reply), DATAGRAM):
            self._listener.sendto(reply[first : first + DATAGRAM], peer)

    @property
    def busy(self) -> bool:
        return any(not talk.over for talk, *_ in self._talks.values())


def server_of(listener: socket.socket, site: Site, matrices: Matrices, peer: str = "") -> TcpServer | UdpServer:
    kind = TcpServer if listener.type == socket.SOCK_STREAM else UdpServer
    return kind(listener, site, matrices, peer)


def main() -> None:
    told = json.loads(sys.argv[1])
    site = MailboxSite(Mailbox.attach(told["mailbox"]))
    matrices = Matrices(*map(np.array, told["matrices"]))
    server = server_of(socket.socket(fileno=told["socket"]), site, matrices, told["peer"])
    over: float | None = None
    while over is None or (server.busy and time.monotonic() < over + PATIENCE):
        server.look(LOOK)
        if over is None and site.over:
            over = time.monotonic()


if __name__ == "__main__":
    main()
