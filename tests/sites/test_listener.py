"""Who may come to a site's port: programs on this machine, or one machine that the definition names with a reason."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from halfreal.contracts.client_port import ClientPort
from halfreal.sites import server
from halfreal.sites.conversation import Matrices
from halfreal.sites.listener import PortError, guarded, listener_of, may_come
from sites.by_hand import HandClient, header

ANYWHERE, HERE, OTHER = "0.0.0.0", "127.0.0.1", "127.0.0.2"
REASON = "a cable between two machines"
MATRICES = Matrices(*[np.eye(1)] * 3)


def port(host: str = HERE, protocol: str = "tcp", peer: str = "", reason: str = "") -> ClientPort:
    return ClientPort(host, 0, protocol, None, np.eye(1), np.eye(1), peer, reason)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (port(ANYWHERE), "missing: virtual.peer and virtual.unauthenticated"),
        (port(ANYWHERE, peer="192.0.2.7"), "missing: virtual.unauthenticated"),
        (port(ANYWHERE, reason=REASON), "missing: virtual.peer"),
        (port(ANYWHERE, "udp", "192.0.2.7", REASON), 'set virtual.protocol = "tcp"'),
        (port("::"), "missing: virtual.peer and virtual.unauthenticated"),
    ],
)
def test_a_port_that_other_machines_can_reach_is_refused(wanted: ClientPort, why: str) -> None:
    with pytest.raises(PortError, match=r"can be reached from other machines") as refused:
        listener_of(wanted).close()
    assert why in str(refused.value)


def test_with_peer_and_reason_and_tcp_it_is_opened() -> None:
    wanted = port(ANYWHERE, peer="192.0.2.7", reason=REASON)
    with listener_of(wanted) as listener:
        assert listener.getsockname()[0] == ANYWHERE
    assert guarded(wanted) == f"open to 192.0.2.7, not authenticated: {REASON}"
    for protocol in ("tcp", "udp"):
        listener_of(port(protocol=protocol)).close()


@pytest.mark.parametrize(
    ("peer", "address", "may"),
    [
        ("", HERE, True),
        ("", "::1", True),
        ("", "192.0.2.7", False),
        ("192.0.2.7", "192.0.2.7", True),
        ("192.0.2.7", "::ffff:192.0.2.7", True),
        ("192.0.2.7", "192.0.2.8", False),
        ("192.0.2.7", HERE, False),
        ("fe80::1", "fe80::1%eth0", True),
    ],
)
def test_who_may_come(peer: str, address: str, may: bool) -> None:
    assert may_come(peer, address) is may


class Site:
    axes, over = 1, False

    def __init__(self) -> None:
        self.entered = 0

    def enter(self) -> bool:
        self.entered += 1
        return self.entered == 1

    def heard(self) -> None: ...
    def ends(self, how: int) -> None: ...


@contextmanager
def serving(protocol: str, site: Site) -> Iterator[int]:
    """A server that serves only clients of OTHER."""
    with listener_of(port(protocol=protocol)) as listener:
        served, ended = server.server_of(listener, site, MATRICES, OTHER), threading.Event()  # type: ignore[arg-type]

        def serve() -> None:
            while not ended.is_set():
                served.look(0.01)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            ended.set()
            thread.join()


def test_tcp_clients_of_other_machines_get_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    said, site = list[str](), Site()
    monkeypatch.setattr(server, "say", said.append)
    with serving("tcp", site) as number:
        for _ in range(2):
            with socket.create_connection((HERE, number), 60.0) as stranger:
                assert stranger.recv(1) == b""  # closed at once
        assert said == [f"client {HERE} was refused: only {OTHER} is served (virtual.peer)"] and site.entered == 0
        with socket.create_connection((HERE, number), 60.0, (OTHER, 0)) as client:
            client.sendall(header(1))
            values = np.zeros(256)
            values[0] = 12.0
            client.sendall(values.tobytes())
            assert np.frombuffer(client.recv(8 * 256, socket.MSG_WAITALL))[0] == 1.0
    assert site.entered == 1


def test_udp_datagrams_of_other_machines_are_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    said, site = list[str](), Site()
    monkeypatch.setattr(server, "say", said.append)
    with serving("udp", site) as number, socket.socket(type=socket.SOCK_DGRAM) as stranger:
        stranger.connect((HERE, number))
        for data in (b"a", header(1), bytes(8 * 256)):
            stranger.send(data)
        with socket.socket(type=socket.SOCK_DGRAM) as client:
            client.bind((OTHER, 0))
            client.settimeout(60.0)
            client.connect((HERE, number))
            client.send(b"a")
            assert client.recv(16) == b"b"  # so what came before was taken
        stranger.setblocking(False)
        with pytest.raises(BlockingIOError):
            stranger.recv(1)
    assert len(said) == 1 and site.entered == 0


def test_a_client_on_this_machine_needs_no_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "say", lambda line: None)
    site = Site()
    with listener_of(port()) as listener:
        served = server.server_of(listener, site, MATRICES)  # type: ignore[arg-type]
        thread = threading.Thread(target=served.look, args=(60.0,))
        thread.start()
        with HandClient(listener.getsockname()[1]) as hand:
            assert hand.matrix(12) == [[1.0]]
        thread.join()
    assert site.entered == 1
