"""Limits, the guard that applies them between every command and the rig, and the motion of slow tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .limits import AccelerationLimit as AccelerationLimit
    from .limits import ActuatorLimits as ActuatorLimits
    from .limits import AngleLimit as AngleLimit
    from .limits import AngularAccelerationLimit as AngularAccelerationLimit
    from .limits import AngularRateLimit as AngularRateLimit
    from .limits import ChannelLimit as ChannelLimit
    from .limits import DisplacementLimit as DisplacementLimit
    from .limits import EnergyLimit as EnergyLimit
    from .limits import ForceLimit as ForceLimit
    from .limits import ForceRateLimit as ForceRateLimit
    from .limits import FrozenLimit as FrozenLimit
    from .limits import Limit as Limit
    from .limits import Limits as Limits
    from .limits import MomentLimit as MomentLimit
    from .limits import MomentRateLimit as MomentRateLimit
    from .limits import RateLimit as RateLimit
    from .limits import RotationLimits as RotationLimits
    from .limits import TimeLimit as TimeLimit
    from .online_plant import OnlineIdentification as OnlineIdentification
    from .slow_motion import Resume as Resume
    from .slow_motion import Settle as Settle
    from .slow_motion import Slow as Slow
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "limits": (
                "AccelerationLimit ActuatorLimits AngleLimit AngularAccelerationLimit AngularRateLimit ChannelLimit "
                "DisplacementLimit EnergyLimit ForceLimit ForceRateLimit FrozenLimit Limit Limits MomentLimit "
                "MomentRateLimit RateLimit RotationLimits TimeLimit"
            ),
            "online_plant": "OnlineIdentification",
            "slow_motion": "Resume Settle Slow",
        },
    )
