"""Interface of a link: required and optional members.

Contract for implementers
-------------------------
1. ``to_rig()`` opens the controller's end, ``listen()`` the rig's: wires that carry datagrams both ways
   (``halfreal.links.wires``), or a ``LinkError`` with the reason and the remedy.
2. A wire's ``way()`` describes it for compiled code (``kernels/wire.py``), which sends and receives without the
   interpreter.
3. ``secret()`` gives the 16 bytes that both ends know and no one else: zeros where no one else can reach them, or where
   the definition states why there is none; ``guarded`` shows which, for the record.
4. ``lease`` is the time for which the rig accepts silence of the controller.
5. ``fits_test`` may refuse a definition whose datagrams the link is too slow for.
6. A link without datagrams gives the controller's ``end`` itself (``links/driver.py``).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Any

from ..settings import Number, Settings

if TYPE_CHECKING:
    from ..definition.definition import Definition
    from ..links.wires import Listener, Wire

LONGEST_LEASE = 10.0
"""Seconds for which a rig may follow no one."""


class Link(Settings):
    """Where the rig is, and how long it follows a controller that has become silent."""

    kind: str
    lease: Annotated[float, Number("s", above=0, most=LONGEST_LEASE)] = 0.1

    @property
    def host(self) -> str | None:
        """Name or address of the computer that the rig's end runs on, where it is reached over a network."""
        return None

    @property
    def paces(self) -> bool:
        """Whether the rig sends measurements by a clock of its own, which a loop may follow."""
        return True

    @property
    def needs_driver(self) -> bool:
        """Whether the definition must name the driver and the channels of its rig."""
        return False

    def end(self, test: Any) -> Any:
        """The controller's end, where it is not one of datagrams; None if it is."""
        return None

    def secret(self) -> bytes:
        """What both ends know, and no one else; here nothing."""
        return bytes(16)

    @property
    def guarded(self) -> str:
        """How datagrams are kept from being forged, for the record."""
        return "accessible to this user only"

    def fits_test(self, test: Definition) -> None:
        """Raise a fault if the link cannot carry the whole definition's test."""

    @abstractmethod
    def to_rig(self) -> Wire:
        """The controller's end."""
        raise NotImplementedError

    @abstractmethod
    def listen(self) -> Listener:
        """The rig's end."""
        raise NotImplementedError
