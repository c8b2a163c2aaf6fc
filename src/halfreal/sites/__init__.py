"""A laboratory for clients elsewhere: OpenSees drives the rig through its element genericClient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .client import Client as Client
else:
    __getattr__, __dir__, __all__ = lazy(__name__, {"client": "Client"})
