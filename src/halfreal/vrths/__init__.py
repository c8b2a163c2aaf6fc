"""The vRTHS benchmark: its problem, motions, criteria, published figures and scorecard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .criteria import VrthsCriteria as VrthsCriteria
    from .ground_motion import GroundMotion as GroundMotion
    from .ground_motion import GroundMotionError as GroundMotionError
    from .ground_motion import read_ground_motion as read_ground_motion
    from .problem import Motion as Motion
    from .problem import Score as Score
    from .problem import case as case
    from .problem import perturbed as perturbed
    from .problem import scorecard as scorecard
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "criteria": "VrthsCriteria",
            "ground_motion": "GroundMotion GroundMotionError read_ground_motion",
            "problem": "Motion Score case perturbed scorecard",
        },
    )
