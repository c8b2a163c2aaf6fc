"""What the parts of a test promise each other: virtual substructures, excitations, couplings, rigs and links.

A kind of part is a class that keeps one of these contracts, in a file of its own.  Code above the kinds asks what a
part can do, never what it is.  ``halfreal.definition.kinds`` lists halfreal's own kinds; installed packages add theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .axes import Axes as Axes
    from .context import AT_REST as AT_REST
    from .context import OPEN_LOOP as OPEN_LOOP
    from .context import RUN as RUN
    from .context import Context as Context
    from .context import Purpose as Purpose
    from .coupling import Coupling as Coupling
    from .coupling import Predictor as Predictor
    from .criteria import Criteria as Criteria
    from .device import Device as Device
    from .driver import Driver as Driver
    from .driver import DriverError as DriverError
    from .driver import Opening as Opening
    from .excitation import Dwells as Dwells
    from .excitation import Excitation as Excitation
    from .finding import Finding as Finding
    from .known import Known as Known
    from .link import Link as Link
    from .pushed import Push as Push
    from .pushed import Pushed as Pushed
    from .rig import Rig as Rig
    from .rig import RigBlocks as RigBlocks
    from .specimen import KnownSpecimen as KnownSpecimen
    from .state_space import Delayed as Delayed
    from .state_space import StateSpace as StateSpace
    from .system import Elements as Elements
    from .system import Method as Method
    from .system import System as System
    from .tuning import Trial as Trial
    from .user_code import UserCode as UserCode
    from .user_code import UserFunction as UserFunction
    from .user_criteria import UserCriteria as UserCriteria
    from .virtual import Virtual as Virtual
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "axes": "Axes",
            "context": "AT_REST OPEN_LOOP RUN Context Purpose",
            "coupling": "Coupling Predictor",
            "criteria": "Criteria",
            "device": "Device",
            "driver": "Driver DriverError Opening",
            "excitation": "Dwells Excitation",
            "finding": "Finding",
            "known": "Known",
            "link": "Link",
            "pushed": "Push Pushed",
            "rig": "Rig RigBlocks",
            "specimen": "KnownSpecimen",
            "state_space": "Delayed StateSpace",
            "system": "Elements Method System",
            "tuning": "Trial",
            "user_code": "UserCode UserFunction",
            "user_criteria": "UserCriteria",
            "virtual": "Virtual",
        },
    )
