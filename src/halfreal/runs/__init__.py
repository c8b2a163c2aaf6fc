"""Building loops from definitions, and rehearsing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .build import SETTLING_TICKS as SETTLING_TICKS
    from .build import plant as plant
    from .continuous import ContinuousLoop as ContinuousLoop
    from .continuous import continuous_loop as continuous_loop
    from .continuous import delay_system as delay_system
    from .loop_stability import LoopStability as LoopStability
    from .loop_stability import linearised as linearised
    from .loop_stability import margin_of as margin_of
    from .measures import measured_errors as measured_errors
    from .measures import worst as worst
    from .reference import EmulationError as EmulationError
    from .reference import emulate as emulate
    from .rehearse import reference_signals as reference_signals
    from .run import Event as Event
    from .run import Run as Run
    from .run import Signal as Signal
    from .run import Stability as Stability
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "build": "SETTLING_TICKS plant",
            "continuous": "ContinuousLoop continuous_loop delay_system",
            "loop_stability": "LoopStability linearised margin_of",
            "measures": "measured_errors worst",
            "reference": "EmulationError emulate",
            "rehearse": "reference_signals",
            "run": "Event Run Signal Stability",
        },
    )
