"""What a coupling receives when it states what ``halfreal tune`` should try of it, and how it says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from ..definition.definition import Definition


class Response(Protocol):
    """The rig on one axis or actuator, where the motion has its power."""

    @property
    def omega(self) -> np.ndarray:
        """Frequencies [rad/s]."""

    @property
    def response(self) -> np.ndarray:
        """From command to measured displacement, without the half step for which a command is held."""

    @property
    def lag(self) -> float:
        """Lag [s] where the motion has its power; not negative."""

    def inverse(self, order: int) -> np.ndarray:
        """a₀ … a_order [s^i] of the inverse that follows the motion best."""


@dataclass(frozen=True)
class Known:
    """What is known of the rig before a search."""

    test: Definition
    rigs: Sequence[Response]
    """On each of what the coupling works on: axes that are commanded, or actuators."""
    motion: np.ndarray
    """Of these in the test, (ticks, these)."""
    best: Mapping[str, Mapping[str, Any]]
    """The best settings of couplings that were searched before, by the name of their kind."""


@dataclass(frozen=True)
class Trial:
    """Settings to try, with their ``kind``, and numbers of the best to refine: the keys that lead to each, and between
    which values it lies."""

    grid: Sequence[dict[str, Any]]
    refined: Sequence[tuple[tuple[str, ...], float, float]] = ()
    name: str = ""
    """For people; the kind if left out."""
