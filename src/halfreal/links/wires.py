"""Open ends of a link: what both ends ask of a wire.  Each kind of link has its own, in its file."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from ..errors import HalfrealError
from ..kernels.wire import UDP


class LinkError(HalfrealError):
    """The other end is not there, or refuses what is requested."""


def reason(error: OSError | ValueError) -> str:
    """What the system says, without its number."""
    return getattr(error, "strerror", None) or str(error)


class Wire(Protocol):
    address: str
    """For people."""
    speaker: Any
    """The sender of the last datagram, where there may be several."""

    def way(self) -> np.ndarray:
        """The wire for compiled code (``kernels/wire.py``)."""

    def taken(self) -> float:
        """Counter of the mailbox content last read; 0 for a socket or a serial port."""

    def send(self, data: bytes) -> None: ...

    def receive(self, seconds: float) -> bytes | None: ...

    def remark(self) -> str:
        """What this end knows of why there is no answer; empty if nothing."""

    def close(self) -> None: ...


class Listener(Wire, Protocol):
    """The rig's end between sessions: receives from anyone who requests one."""

    @property
    def hears_others(self) -> bool:
        """Whether others than the controller of a session can be received during it."""

    def private(self) -> Wire:
        """The wire of a session with the one who spoke last; the listener itself if no one else can speak."""


class NoWire:
    """Leads nowhere: for building a loop before there is anyone to talk to."""

    address, speaker = "nowhere", None

    def way(self) -> np.ndarray:
        return np.array([UDP, -1.0, 0.0, 0.0])

    def taken(self) -> float:
        return 0.0

    def send(self, data: bytes) -> None:
        """It has no receiver."""

    def receive(self, seconds: float) -> bytes | None:
        return None

    def remark(self) -> str:
        return ""

    def close(self) -> None:
        """Nothing to close."""
