"""Excitations of the virtual substructure and of the specimen."""

from .channel import FromChannel
from .chirp import Chirp
from .multi_sine import MultiSine
from .random import Random
from .record import Record
from .release import RELEASES, release, releases, virtual_excitation
from .silence import silence
from .sine import Sine
from .square import Square
from .step_and_pulse import Pulse, Step
from .stepped import Gust, SteppedSine

__all__ = [
    "RELEASES",
    "Chirp",
    "FromChannel",
    "Gust",
    "MultiSine",
    "Pulse",
    "Random",
    "Record",
    "Sine",
    "Square",
    "Step",
    "SteppedSine",
    "release",
    "releases",
    "silence",
    "virtual_excitation",
]
