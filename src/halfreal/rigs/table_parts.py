"""Parts of a shaking table as they stand in a definition: actuators, platform, force plate, valves, controllers.

The defaults are those of the six-axis table MAVIS of the DLR Institute of Aeroelasticity (section 4 of its paper on
hardware-in-the-loop).  Not printed there, and ours: where actuators hold the table (so that ±50 mm turn it by 4.5°, as
it shows), their length, speed, oil columns (21 MPa, 1 GPa, 60 mm of oil on either side), leakage and valves.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import AfterValidator

from ..settings import Number, Settings, Vector, fault
from .interface_geometry import Placed
from .table_kinematics import TableKinematics
from .transfer_system import rigid_body_mass


def _in_space(vector: np.ndarray) -> np.ndarray:
    if len(vector) != 3:
        raise fault(f"{len(vector)} entries; give three, along x, y and z")
    return vector


class TableActuator(Placed):
    """An actuator: where it holds the table, from the interface point, and what it can do."""

    force: Annotated[float, Number("N", above=0)]
    stiffness: Annotated[float, Number("N/m", above=0)]
    """Stiffness of the oil column."""
    stroke: Annotated[float, Number("m", above=0)] = 50e-3
    speed: Annotated[float, Number("m/s", above=0)] = 1.0
    length: Annotated[float, Number("m", above=0)] = 1.0
    """Length between its joints, at rest."""


def _mavis() -> tuple[TableActuator, ...]:
    arm = 0.635  # m; 50 mm over it is 4.5°

    def made(position: tuple[float, float, float], direction: tuple[int, int, int], force: float) -> TableActuator:
        return TableActuator.model_validate(
            {"position": position, "direction": direction, "force": force, "stiffness": 2 * force / 21e6 * 1e9 / 60e-3}
        )

    return (
        *(made((x, y, -0.2), (0, 0, 1), 40e3) for x in (-arm, arm) for y in (-arm, arm)),
        *(made((-0.75, y, -0.1), (1, 0, 0), 80e3) for y in (-0.59, 0.59)),
        made((0.0, -0.75, -0.1), (0, 1, 0), 120e3),
    )


MAVIS = _mavis()
"""The seven actuators of the DLR's table: four along z, two along x, one along y."""


class Platform(Settings):
    """The table itself, a box whose upper face holds the interface point in its middle."""

    mass: Annotated[float, Number("kg", above=0)] = 500.0
    size: Annotated[np.ndarray, Vector("m", above=0), AfterValidator(_in_space)] = np.array([1.5, 1.5, 0.2])

    def matrix(self) -> np.ndarray:
        """Mass for the motion of the interface point, (6, 6)."""
        square = self.size**2
        inertia = np.diag(self.mass / 12.0 * (square.sum() - square))
        return rigid_body_mass(self.mass, inertia, np.array([0.0, 0.0, -0.5 * self.size[2]]))


class ForcePlate(Settings):
    """What of a force plate moves above its cells: it weighs in their readings unless ``compensated``."""

    mass: Annotated[float, Number("kg", least=0)]
    inertia: Annotated[np.ndarray, Vector("kg m^2", least=0), AfterValidator(_in_space)] = np.zeros(3)
    """Moments of inertia about the centre of mass, along x, y and z."""
    centre: Annotated[np.ndarray, Vector("m"), AfterValidator(_in_space)] = np.zeros(3)
    """Centre of mass, relative to the interface point."""
    compensated: bool = True
    """Mass of the force plate; its inertia force is subtracted using the measured acceleration of the table."""

    def matrix(self) -> np.ndarray:
        return rigid_body_mass(self.mass, np.diag(self.inertia), self.centre)


class Valves(Settings):
    """Servo valves, the same for every actuator, and the leakage a of the pistons, which damps the oil columns."""

    frequency: Annotated[float, Number("Hz", above=0)] = 60.0
    damping: Annotated[float, Number("1", above=0)] = 0.8
    leakage: Annotated[float, Number("1/s", least=0)] = 200.0


class Pid(Settings):
    """PID controller of every actuator, from its stroke to the speed commanded of its valve."""

    proportional: Annotated[float, Number("1/s", above=0)] = 50.0
    integral: Annotated[float, Number("1/s^2", least=0)] = 0.0
    derivative: Annotated[float, Number("1", least=0)] = 0.0


def kinematics(actuators: tuple[TableActuator, ...]) -> TableKinematics:
    """Strokes and poses of a table on these actuators; ``GeometryError`` if they cannot move every axis."""
    return TableKinematics(
        np.array([one.position for one in actuators]),
        np.array([one.direction for one in actuators]),
        np.array([one.length for one in actuators]),
    )
