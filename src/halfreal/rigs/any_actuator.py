"""The actuators of a simulated rig; each is imported on use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from ..settings import OneAt, Settings

ACTUATORS = {
    "delay": "actuator:Delay",
    "first order": "actuator:FirstOrder",
    "second order": "actuator:SecondOrder",
    "user": "programmed_actuator:UserActuator",
    "library": "programmed_actuator:LibraryActuator",
    "fmu": "programmed_actuator:FmuActuator",
}

if TYPE_CHECKING:
    from .actuator import Delay, FirstOrder, SecondOrder
    from .programmed_actuator import FmuActuator, LibraryActuator, UserActuator

    AnyActuator: TypeAlias = Delay | FirstOrder | SecondOrder | UserActuator | LibraryActuator | FmuActuator
else:
    AnyActuator = Annotated[Settings, OneAt(__package__, ACTUATORS, usual="delay")]
