"""Links to a rig elsewhere: another process, another machine, hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy

if TYPE_CHECKING:
    from .controller_end import ControllerEnd as ControllerEnd
    from .driver import DriverLink as DriverLink
    from .rig_command import OwnLimits as OwnLimits
    from .rig_end import RigEnd as RigEnd
    from .rig_end import RigSession as RigSession
    from .serial import Serial as Serial
    from .shared_memory import SharedMemory as SharedMemory
    from .udp import Udp as Udp
    from .wires import LinkError as LinkError
else:
    __getattr__, __dir__, __all__ = lazy(
        __name__,
        {
            "controller_end": "ControllerEnd",
            "driver": "DriverLink",
            "rig_command": "OwnLimits",
            "rig_end": "RigEnd RigSession",
            "serial": "Serial",
            "shared_memory": "SharedMemory",
            "udp": "Udp",
            "wires": "LinkError",
        },
    )
