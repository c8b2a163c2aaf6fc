"""Excitations of the virtual substructure and of the specimen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy

if TYPE_CHECKING:
    from .channel import FromChannel as FromChannel
    from .chirp import Chirp as Chirp
    from .multi_sine import MultiSine as MultiSine
    from .random import Random as Random
    from .record import Record as Record
    from .released import RELEASES as RELEASES
    from .released import release as release
    from .released import releases as releases
    from .released import virtual_excitation as virtual_excitation
    from .silent import silence as silence
    from .sine import Sine as Sine
    from .square import Square as Square
    from .step_and_pulse import Pulse as Pulse
    from .step_and_pulse import Step as Step
    from .stepped import Gust as Gust
    from .stepped import SteppedSine as SteppedSine
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "channel": "FromChannel",
            "chirp": "Chirp",
            "multi_sine": "MultiSine",
            "random": "Random",
            "record": "Record",
            "released": "RELEASES release releases virtual_excitation",
            "silent": "silence",
            "sine": "Sine",
            "square": "Square",
            "step_and_pulse": "Pulse Step",
            "stepped": "Gust SteppedSine",
        },
    )
