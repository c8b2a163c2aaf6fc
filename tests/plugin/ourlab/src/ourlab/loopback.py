"""A link to a rig on this machine, by its port alone: datagrams over UDP (J. Postel, RFC 768, 1980)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from halfreal.contracts.link import Link

if TYPE_CHECKING:
    from halfreal.links.udp import Udp
    from halfreal.links.wires import Listener, Wire


class Loopback(Link):
    """A rig that listens on a UDP port of this machine."""

    kind: Literal["loopback"] = "loopback"
    port: Annotated[int, Field(ge=0, lt=65536)]
    """Of the rig; 0 lets the system choose one."""

    @property
    def udp(self) -> Udp:
        from halfreal.links.udp import Udp

        return Udp(kind="udp", rig=f"127.0.0.1:{self.port}", lease=self.lease)

    def to_rig(self) -> Wire:
        return self.udp.to_rig()

    def listen(self) -> Listener:
        return self.udp.listen()
