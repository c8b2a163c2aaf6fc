"""A rig that is slow because of its own dynamics, measured against a pure delay.

    X/U = G(s) ≈ G(0) (1 − τ s) for slow motion,      τ = −G'(0)/G(0) = −C A⁻²B/(C A⁻¹B)

τ is the lag of a servo-hydraulic rig, or of a shaking table, without compensation.  What the test bears is asked of the
same loop with a pure delay in place of the rig, and without coupling.  This critical delay, and its logarithm in ms as
a predictive stability indicator, are those of A. Maghareh, S. J. Dyke, A. Prakash, J. F. Rhoads, "Establishing a
stability switch criterion for effective implementation of real-time hybrid simulation", Smart Struct. Syst. 14 (2014)
1221–1245.
"""

from __future__ import annotations

import numpy as np

from ..couplings.direct import Direct
from ..definition.definition import Definition
from ..definition.sections import SimulatedRig
from ..rigs.actuator import Delay
from ..rigs.servo_hydraulic import ServoHydraulic
from ..rigs.shaking_table import ShakingTable
from ..rigs.table_tuning import slow_lag


def is_dynamic(definition: Definition) -> bool:
    """Whether the rig's lag is dynamics of its own, and not the number of a delay."""
    return isinstance(definition.rig, ServoHydraulic | ShakingTable)


def with_pure_delay(definition: Definition, delay: float) -> Definition:
    """The definition without coupling, and with a rig that is late by ``delay`` [s] and otherwise ideal."""
    assert isinstance(definition.rig, ServoHydraulic | ShakingTable)
    rig = SimulatedRig(actuator=Delay(delay=delay), specimen=definition.rig.specimen)
    names = definition.interface.names if isinstance(definition.rig, ShakingTable) else definition.axes
    return definition.model_copy(update={"rig": rig, "coupling": Direct(), "axes": names})


def rig_lag(definition: Definition) -> float:
    """Lag [s] from command to measured force in slow motion: of the slowest axis, with the force sensor's delay."""
    rig, n = definition.rig, definition.virtual.axes
    if isinstance(rig, ShakingTable):
        return slow_lag(rig)
    assert isinstance(rig, ServoHydraulic)
    a, b, c = rig.matrices(n)
    once = np.linalg.solve(a, b[:, :n])
    still, slope = c[:n] @ once, c[:n] @ np.linalg.solve(a, once)
    sensed = np.array([sensor.delay for sensor in rig.sensors.of_force(definition.interface)])
    return float(np.max(-np.diag(slope) / np.diag(still) + sensed))
