"""Interface of an excitation: required and optional members.

Contract for implementers
-------------------------
1. ``quantity`` is what it gives: "displacement" of the support, "force" on a degree of freedom, "acceleration" of the
   ground; ``acts_as`` follows from it.
2. ``block(name, shift)`` gives a block without inputs that writes the channels ``name`` and ``name.rate``: value and
   rate at the tick's time plus ``shift``.  Before time 0 both are zero.  One that ``can_be_released`` also takes
   ``since``: its block then has this channel as input, the time since the operator's release [s], below 0 before it,
   and uses it instead of the tick's time.
3. Optional: its ``highest_frequency``, the frequencies at which it dwells, one after
   another (``dwells``), the harmonics it consists of (``harmonics``), the same with another amplitude (``scaled``).
   None means not known; couplings and checks then do without.
4. One that comes from outside names the auxiliary channel that it ``reads``, and the magnitude at which the guard has
   to ``trip``.  Its block has ``measured.NAME`` as its input, and is built after ``on_channel`` was called with the
   channel's unit.  ``as_recorded`` is such an excitation in a test whose record is known.
5. One that can be the signal of a simulated auxiliary channel takes its amplitude in ``value``; ``on_channel`` gives
   its unit.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from ..kernels.block import Block
from ..settings import Settings
from .quantities import ActsAs

Quantity = Literal["displacement", "force", "acceleration"]
ACTS_AS: dict[str, ActsAs] = {"displacement": "support", "force": "force", "acceleration": "ground"}


@dataclass(frozen=True)
class Dwells:
    """Frequencies [Hz] that an excitation stays at, one after another, each for ``dwell`` [s]; at one if None."""

    frequencies: tuple[float, ...]
    dwell: float | None = None
    sinusoidal: bool = True
    """Whether it is a sine at each of them, or something else that repeats so often."""


@dataclass(frozen=True)
class Harmonics:
    """A frequency [Hz], the multiples of it that matter, and where it runs ``to`` [Hz] if it does not stay.

    ``tones`` [Hz] are further ones that need not be multiples of it.
    """

    frequency: float
    orders: tuple[int, ...] = (1,)
    to: float | None = None
    tones: tuple[float, ...] = ()


class Excitation(Settings):
    """Drives the virtual substructure or the specimen."""

    kind: str

    @property
    @abstractmethod
    def quantity(self) -> str:
        raise NotImplementedError

    @property
    def acts_as(self) -> ActsAs:
        return ACTS_AS[self.quantity]

    @abstractmethod
    def block(self, name: str, shift: float = 0.0, since: str | None = None) -> Block:
        """Block ``name``, which writes the channels ``name`` and ``name.rate``."""
        raise NotImplementedError

    @property
    def can_be_released(self) -> bool:
        """Whether ``block`` takes ``since``."""
        return False

    @property
    def reads(self) -> str | None:
        """The auxiliary channel that it is read from; None if it is known beforehand."""
        return None

    @property
    def trip(self) -> str | None:
        """Magnitude at which the guard trips, with its unit; None if it is known beforehand."""
        return None

    def on_channel(self, unit: str) -> Self:
        """The same, read from an auxiliary channel of this unit, or the signal of one; ``UnitError`` if it does not
        fit."""
        return self

    def as_recorded(self, values: np.ndarray, step: float) -> Excitation:
        """The excitation of a test in which it had these values, ``step`` [s] apart; itself if known beforehand."""
        return self

    @property
    def highest_frequency(self) -> float | None:
        """The highest frequency that it names [Hz]; None if it names none."""
        return None

    @property
    def averaged_period(self) -> float | None:
        """The period [s] over which records of it are averaged, if it is random and repeats."""
        return None

    @property
    def dwells(self) -> Dwells | None:
        """The frequencies it stays at, if it has one at a time."""
        return None

    def harmonics(self, step: float) -> Harmonics | None:
        """The harmonics that it consists of, as far as a loop of this step carries them; None if it is not so."""
        return None

    def scaled(self, factor: float) -> Self | None:
        """The same with so many times the amplitude; None if it has none."""
        return None
