"""The maRTHS benchmark, of two actuators: its problem, criteria, published figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .criteria import MarthsCriteria as MarthsCriteria
else:
    __getattr__, __dir__, __all__ = lazy(__name__, {"criteria": "MarthsCriteria"})
