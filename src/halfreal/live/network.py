"""The network card on the way to a rig: which one it is, and whether it holds datagrams back."""

from __future__ import annotations

import ctypes
import fcntl
import ipaddress
import socket
from collections.abc import Iterator
from pathlib import Path

from .machine import Remark

SIOCETHTOOL, ETHTOOL_GCOALESCE = 0x8946, 0x0E
COALESCE_WORDS = 23
"""Of struct ethtool_coalesce; the second is rx_coalesce_usecs."""
HELD_BACK = 0.05
"""Of a step, that a card may hold datagrams back."""


class _Request(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char * 16), ("data", ctypes.c_void_p), ("rest", ctypes.c_char * 16))


def examine(address: str, step: float, root: Path = Path("/")) -> Iterator[Remark]:
    """Of the card through which ``address`` is reached."""
    try:
        host = socket.getaddrinfo(address, None, socket.AF_INET, socket.SOCK_DGRAM)[0][4][0]
    except OSError:
        yield Remark("network", f"the rig's address {address} cannot be resolved", "check link.rig")
        return
    if ipaddress.ip_address(host).is_loopback:
        yield Remark("network", f"{address} is this computer")
        return
    card = interface(str(host), root)
    if card is None:
        yield Remark(
            "network", f"no route to {address}", "connect the network, and give this computer an address in it"
        )
        return
    if (root / "sys/class/net" / card / "wireless").exists():
        yield Remark("network", f"{address} is reached by wireless ({card})", "use a dedicated cable to the rig")
        return
    held = coalescing(card)
    if held is None:
        yield Remark("network", f"{address} is reached through {card}")
        return
    slow = 1e-6 * held > HELD_BACK * step
    yield Remark(
        "network",
        f"{address} is reached through {card}, which delays datagrams by up to {held} µs (interrupt coalescing)",
        f"ethtool -C {card} rx-usecs 0" if slow else "",
    )


def interface(address: str, root: Path) -> str | None:
    """The card through which an IPv4 address is reached, by the kernel's table of routes."""
    wanted = int(ipaddress.IPv4Address(address))
    found: tuple[int, str] | None = None
    table = root / "proc/net/route"
    for line in table.read_text().strip().splitlines()[1:] if table.is_file() else ():
        name, destination, *rest = line.split()
        network, mask = (socket.ntohl(int(word, 16)) for word in (destination, rest[5]))
        if wanted & mask == network and (found is None or mask > found[0]):
            found = (mask, name)
    return None if found is None else found[1]


def coalescing(card: str) -> int | None:
    """How long the card gathers datagrams [µs]; None where it does not say."""
    words = (ctypes.c_uint32 * COALESCE_WORDS)(ETHTOOL_GCOALESCE)
    request = _Request(card.encode(), ctypes.cast(words, ctypes.c_void_p).value)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as open_socket:
        try:
            fcntl.ioctl(open_socket, SIOCETHTOOL, request)
        except OSError:
            return None
    return int(words[1])
