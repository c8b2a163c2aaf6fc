"""A plate that bends: the rig of ``rig.py`` with a plate of finite elements, compensated through its reduced model.

The paper's section 4.3, Eqs. 28–30.  The plate's states are the motion of its middle, where the specimen sits, and some
fixed-interface modes (Craig–Bampton); each needs a further accelerometer.  Without modes it is taken for rigid, and
what the accelerometers at its ends say of its middle is wrong.

    plate       ═══1════2════╤════3════4═══          accelerometers 1 to 4, or 1 and 4
                   │         B         │
                 coil 1    specimen  coil 2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import rig

from halfreal.contracts import Elements, System
from halfreal.kernels import Block
from halfreal.models import (
    Substructure,
    couple,
    node_dofs,
    point_mass,
    rectangle,
    reduced,
    spring,
    uniform_beam,
)
from halfreal.rigs import TransferSystem

ELEMENTS = 20
PLACES = {0: (-40e-3, 40e-3), 2: (-40e-3, -20e-3, 20e-3, 40e-3)}
"""Where accelerometers sit for a number of modes, from the middle [m]."""


def at(position: float) -> str:
    """The deflection of the plate there."""
    return f"p.{round((position / rig.PLATE_LENGTH + 0.5) * ELEMENTS) + 1}.w"


def plate(height: float) -> Substructure:
    """The plate, free; its middle is the interface B."""
    bending, heavy = rectangle(rig.PLATE_WIDTH, height, rig.MODULUS, rig.DENSITY)
    free = uniform_beam("p", rig.PLATE_LENGTH, ELEMENTS, bending, heavy)
    part = free.renamed(dict(zip(node_dofs("p", ELEMENTS // 2 + 1), rig.PLATE, strict=True)))
    return Substructure(part.dofs, part.mass, rig.MATERIAL_DAMPING * part.stiffness, part.stiffness)


def transfer_system(height: float, modes: int) -> TransferSystem:
    """The plate's reduced model (Eqs. 29, 30): motion of its middle and ``modes`` shapes; rigid with none."""
    full = plate(height)
    small, reduction = reduced(full, "plate", rig.PLATE, modes)
    sensors = full.selection([at(place) for place in PLACES[modes]]) @ reduction.transformation
    cells = full.selection([at(-rig.ARM), at(rig.ARM)]) @ reduction.transformation
    signs = np.array([[-1.0], [1.0]])  # coil 1 counts pull as positive
    return TransferSystem(
        mass=small.mass,
        damping=small.damping,
        stiffness=small.stiffness,
        displacement_sensors=sensors,
        acceleration_sensors=sensors,
        actuators=(signs * cells).T,
        interface=rig.ENDS @ np.eye(2, 2 + modes),
    )


@dataclass(frozen=True)
class Parts:
    """The rig with a plate that bends: coils' forces in, what its sensors read out."""

    height: float
    modes: int

    @property
    def sensed(self) -> tuple[tuple[str, str, int], ...]:
        """Signals, their units and their numbers."""
        return (("acceleration", "m/s^2", len(PLACES[self.modes])), ("load_cell", "N", 2))

    def system(self) -> System:
        ends = (at(-rig.ARM), at(rig.ARM))
        axial = rig.MODULUS * np.pi / 4.0 * rig.STINGER_DIAMETER**2 / rig.STINGER_LENGTH
        moved = [
            part
            for coil in rig.COILS
            for part in (point_mass(rig.COIL_MASS, coil), spring(rig.COIL_STIFFNESS, rig.COIL_DAMPING, coil))
        ]
        stingers = [spring(axial, rig.STINGER_DAMPING, coil, end) for coil, end in zip(rig.COILS, ends, strict=True)]
        small = rig.reduced_specimen()
        whole = couple(plate(self.height), small, *moved, *stingers)
        pushed = np.array([[-1.0], [1.0]]) * (whole.selection(rig.COILS) - whole.selection(ends))
        own = np.linalg.inv(rig.ENDS.T) @ small.selection(rig.PLATE)
        part = whole.selection(small.dofs)
        interface = rig.ENDS @ whole.selection(rig.PLATE)
        accelerations = whole.selection([at(place) for place in PLACES[self.modes]])
        none, still = np.zeros_like(accelerations), np.zeros_like(interface)
        n = len(whole.dofs)
        return System(
            mass=whole.mass,
            damping=whole.damping,
            stiffness=whole.stiffness,
            inputs=whole.selection(rig.COILS).T,
            displacement_outputs=np.vstack([none, axial * pushed, interface, own @ small.stiffness @ part]),
            velocity_outputs=np.vstack([none, rig.STINGER_DAMPING * pushed, still, own @ small.damping @ part]),
            acceleration_outputs=np.vstack([accelerations, still, still, own @ small.mass @ part]),
            elements=Elements.none(n),
            displacement=np.zeros(n),
            velocity=np.zeros(n),
        )


def two_coils(
    dt: float, substeps: int, commands: tuple[str, ...], initial: np.ndarray, parameters: dict[str, Any]
) -> tuple[list[Block], list[Block]]:
    """The rig of a definition, as in ``rig.py``; ``plate_height`` [m], ``plate_modes`` 0 or 2 of its reduced model."""
    height, modes = parameters["plate_height"], int(parameters["plate_modes"])
    parts = Parts(height, modes)
    inner = [rig.held_forces(dt / substeps, commands, parts.system(), parts.sensed)]
    return rig.with_sensors(dt, substeps, inner, parts.sensed, transfer_system(height, modes), parameters)
