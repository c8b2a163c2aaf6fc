"""Running a test for real: the session with a rig, the simulated rig as a process, and the operator's view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .resumption import ResumptionError as ResumptionError
    from .resumption import resume as resume
    from .rig import VirtualRig as VirtualRig
    from .rig import serve as serve
    from .session import NoGoError as NoGoError
    from .session import Session as Session
    from .site import SiteSession as SiteSession
    from .whole_test import run as run
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "session": "NoGoError Session",
            "whole_test": "run",
            "resumption": "ResumptionError resume",
            "rig": "VirtualRig serve",
            "site": "SiteSession",
        },
    )
