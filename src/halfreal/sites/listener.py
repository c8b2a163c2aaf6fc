"""The port at which a client is waited for, and who may come there.

The client's protocol has no authentication: whoever is let in moves the rig.  So the port is on this machine, unless
the definition names the one machine that may connect and gives a reason, which is recorded.  Off this machine it is TCP
alone: the sender of a UDP datagram can be forged, and one of them in the middle of a client's test moves the rig.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket

from ..contracts.client_port import ClientPort
from ..errors import HalfrealError


class PortError(HalfrealError):
    """A port at which no client may be waited for."""


def listener_of(wanted: ClientPort) -> socket.socket:
    """A socket at which a client is waited for."""
    tcp = wanted.protocol == "tcp"
    kind = socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM
    with contextlib.ExitStack() as stack:
        try:
            family, kind, number, _, address = socket.getaddrinfo(wanted.host, wanted.port, type=kind)[0]
            permit(wanted, str(address[0]))
            listener = stack.enter_context(socket.socket(family, kind, number))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(tcp))
            listener.bind(address)
            if tcp:
                listener.listen()
        except OSError as error:
            raise PortError(
                f"cannot listen on {wanted.host}:{wanted.port}: {error.strerror or error}; choose another "
                "virtual.listen, or stop the program that uses it"
            ) from None
        stack.pop_all()
    return listener


def permit(wanted: ClientPort, address: str) -> None:
    """Refuse a port that other machines can reach without a peer, without a reason, or over UDP."""
    if is_local(address):
        return
    where = f"virtual.listen = '{wanted.host}:{wanted.port}' ({address}) can be reached from other machines"
    if wanted.protocol == "udp":
        raise PortError(
            f'{where}, and the sender of a UDP datagram can be forged; set virtual.protocol = "tcp", or listen on '
            "127.0.0.1"
        )
    if not (wanted.peer and wanted.unauthenticated):
        missing = [
            name
            for name, value in (("virtual.peer", wanted.peer), ("virtual.unauthenticated", wanted.unauthenticated))
            if not value
        ]
        raise PortError(
            f"{where}, and a client cannot authenticate: anyone who connects first moves the rig; listen on 127.0.0.1 "
            "and let the client come through a tunnel (ssh -R), or give the client's address in virtual.peer and the "
            f"reason in virtual.unauthenticated, which is recorded (missing: {' and '.join(missing)})"
        )


def guarded(wanted: ClientPort) -> str:
    """Who may come, for the record."""
    if not wanted.unauthenticated:
        return "open to programs on this machine"
    return f"open to {wanted.peer or 'this machine'}, not authenticated: {wanted.unauthenticated}"


def may_come(peer: str, address: str) -> bool:
    """Whether a client may come from an address; an empty ``peer`` is this machine."""
    return is_local(address) if not peer else plain(address) == plain(peer)


def is_local(address: str) -> bool:
    return plain(address).is_loopback


def plain(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address without its zone; one of version 4 that is written as one of version 6, as of version 4."""
    found = ipaddress.ip_address(address.partition("%")[0])
    return getattr(found, "ipv4_mapped", None) or found
