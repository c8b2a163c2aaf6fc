"""Campaigns: a definition rehearsed at many points, by many processes, into one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .plan import Design as Design
    from .plan import Plan as Plan
    from .plan import Varied as Varied
    from .plan import read_plan as read_plan
    from .store import Results as Results
    from .store import StoreError as StoreError
    from .store import load_results as load_results
    from .workers import CampaignError as CampaignError
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "plan": "Design Plan Varied read_plan",
            "store": "Results StoreError load_results",
            "workers": "CampaignError",
        },
    )
