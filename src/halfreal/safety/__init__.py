"""What stands between every command and the rig."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .limits import ActuatorLimits as ActuatorLimits
    from .limits import ChannelLimit as ChannelLimit
    from .limits import Limit as Limit
    from .limits import Limits as Limits
    from .limits import RotationLimits as RotationLimits
    from .slow_motion import Resume as Resume
    from .slow_motion import Settle as Settle
    from .slow_motion import Slow as Slow
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "limits": "ActuatorLimits ChannelLimit Limit Limits RotationLimits",
            "slow_motion": "Resume Settle Slow",
        },
    )
