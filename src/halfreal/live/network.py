"""Network cards: which one leads to a rig, and whether a card delays datagrams (interrupt coalescing)."""

from __future__ import annotations

import ctypes
import fcntl
import ipaddress
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .machine import Remark

SIOCETHTOOL, ETHTOOL_GCOALESCE = 0x8946, 0x0E
COALESCE_WORDS, RX_MICROSECONDS, RX_ADAPTIVE = 23, 1, 10
"""Of struct ethtool_coalesce, and the places of rx_coalesce_usecs and use_adaptive_rx_coalesce in it."""
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
    yield delay_of(card, step, f"{address} is reached through {card}; ")


def cards(step: float, root: Path = Path("/")) -> Iterator[Remark]:
    """Of every card that is in use, where no rig is given."""
    for folder in sorted((root / "sys/class/net").glob("*")):
        state = folder / "operstate"
        if (folder / "device").exists() and state.is_file() and state.read_text().strip() == "up":
            yield delay_of(folder.name, step, f"card {folder.name}: ")


def delay_of(card: str, step: float, which: str) -> Remark:
    """How long a card delays datagrams, against the step."""
    found = coalescing(card)
    if found is None:
        return Remark("network", f"{which}its interrupt coalescing is not known: its driver does not report it")
    if found.adaptive:
        return Remark(
            "network",
            f"{which}it chooses by itself how long it delays datagrams (adaptive interrupt coalescing)",
            f"ethtool -C {card} adaptive-rx off rx-usecs 0",
        )
    return Remark(
        "network",
        f"{which}it delays datagrams by up to {found.microseconds} µs (interrupt coalescing)",
        f"ethtool -C {card} rx-usecs 0" if 1e-6 * found.microseconds > HELD_BACK * step else "",
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


@dataclass(frozen=True)
class Coalescing:
    """How long a card collects datagrams before it interrupts a processor [µs], or that it varies this itself."""

    microseconds: int
    adaptive: bool


def coalescing(card: str) -> Coalescing | None:
    """What ``ethtool -c`` prints of a card; None where its driver does not report it."""
    words = (ctypes.c_uint32 * COALESCE_WORDS)(ETHTOOL_GCOALESCE)
    request = _Request(card.encode(), ctypes.cast(words, ctypes.c_void_p).value)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as open_socket:
        try:
            fcntl.ioctl(open_socket, SIOCETHTOOL, request)
        except OSError:
            return None
    return Coalescing(int(words[RX_MICROSECONDS]), words[RX_ADAPTIVE] != 0)
