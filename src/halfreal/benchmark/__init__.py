"""What benchmark problems have in common: motions from records, runs of many couplings, tables and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .ground_motion import GroundMotion as GroundMotion
    from .ground_motion import GroundMotionError as GroundMotionError
    from .ground_motion import read_ground_motion as read_ground_motion
    from .motions import read_motions as read_motions
    from .problem import Motion as Motion
    from .problem import Problem as Problem
    from .problem import Score as Score
    from .problem import scorecard as scorecard
    from .problem import with_motion as with_motion
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "ground_motion": "GroundMotion GroundMotionError read_ground_motion",
            "motions": "read_motions",
            "problem": "Motion Problem Score scorecard with_motion",
        },
    )
