"""The vRTHS benchmark: its problem, motions, criteria, published figures and scorecard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .criteria import VrthsCriteria as VrthsCriteria
    from .problem import case as case
    from .problem import perturbed as perturbed
    from .problem import scorecard as scorecard
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "criteria": "VrthsCriteria",
            "problem": "case perturbed scorecard",
        },
    )
