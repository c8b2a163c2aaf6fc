"""Where a client outside is waited for that computes the virtual substructure, and what it receives about the
specimen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

WAITING = "client.waiting"
"""Channel: whether the next displacement of the client is waited for."""
GOAL = "client.goal"
"""Channel: the displacement that the client requires, before any ramp or prediction."""


@dataclass(frozen=True)
class ClientPort:
    """Of a virtual substructure that ``halfreal site`` serves."""

    host: str
    port: int
    protocol: Literal["tcp", "udp"]
    stiffness: np.ndarray | None
    """Initial, (axes, axes); None: that of the rig's specimen."""
    damping: np.ndarray
    mass: np.ndarray
    peer: str = ""
    """IP address of the only machine whose client is served; empty: this machine."""
    unauthenticated: str = ""
    """Reason for serving a client on another machine; empty: none is."""
