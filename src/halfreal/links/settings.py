"""Where the rig is, and how long it follows a controller that has gone silent."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator

from ..settings import Number, Settings, fault

LONGEST_LEASE = 10.0
"""Seconds for which a rig may follow nobody."""


class Udp(Settings):
    """A rig that listens on a UDP port, on this machine or another."""

    kind: Literal["udp"]
    rig: str = "127.0.0.1:7411"
    lease: Annotated[float, Number("s", above=0, most=LONGEST_LEASE)] = 0.1

    @field_validator("rig")
    @classmethod
    def _host_and_port(cls, rig: str) -> str:
        host, colon, port = rig.rpartition(":")
        if not (host and colon and port.isdecimal() and 0 <= int(port) < 65536):
            raise fault(f"'{rig}' is no address of a rig; write host:port, such as '127.0.0.1:7411'")
        return rig

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.rig.rpartition(":")
        return host.strip("[]"), int(port)


class SharedMemory(Settings):
    """A rig, or a gateway to one, on this machine."""

    kind: Literal["shared memory"]
    name: str = "rig"
    lease: Annotated[float, Number("s", above=0, most=LONGEST_LEASE)] = 0.1

    @field_validator("name")
    @classmethod
    def _plain(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            raise fault(f"'{name}' is no name for shared memory; use up to 64 letters, digits, '-' and '_'")
        return name


Link = Annotated[Udp | SharedMemory, Field(discriminator="kind")]
