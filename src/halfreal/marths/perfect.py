"""A rig that holds its pose at the target at all times: the frame and the laboratory's specimen as one system.

The specimen answers the commanded axes c alone, with q = T c (``halfreal.rigs.coupled_actuators``), and its forces act
on all axes of the interface, so that what is added to the frame's matrices is not symmetric:

    M + B M_s T B_cᵀ,      C + B C_s T B_cᵀ,      K + B K_s T B_cᵀ

The ground shakes the numerical part alone, as in the test.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from ..contracts.system import System
from ..definition.definition import Definition
from ..rigs.coupled_actuators import CoupledActuators


def perfect_rig(definition: Definition) -> System:
    """Frame and specimen, with the outputs of the virtual substructure."""
    rig, axes = cast("CoupledActuators", definition.rig), definition.interface
    system = definition.virtual.system("ground")
    assert system is not None  # the gallery's files have matrices
    n = len(axes)
    interface = system.displacement_outputs[:n].T
    moved = interface[:, list(axes.commanded_at)]
    follow = rig.follow(axes)

    def joined(matrix: np.ndarray, specimen: np.ndarray) -> np.ndarray:
        return np.asarray(matrix + interface @ (specimen @ follow)[:n] @ moved.T)

    mass, damping, stiffness = rig.specimen.matrices(len(follow))
    return replace(
        system,
        mass=joined(system.mass, mass),
        damping=joined(system.damping, damping),
        stiffness=joined(system.stiffness, stiffness),
        inputs=np.column_stack([system.inputs[:, :2], np.zeros(len(system.mass))]),
    )


def specimen_force(definition: Definition, pose: np.ndarray) -> np.ndarray:
    """Forces of the specimen on its degrees of freedom where the commanded axes have this pose, (ticks, 2)."""
    rig = cast("CoupledActuators", definition.rig)
    follow, step = rig.follow(definition.interface), definition.timing.step
    mass, damping, stiffness = rig.specimen.matrices(len(follow))
    place = pose @ follow.T
    rate = np.gradient(place, step, axis=0)
    return np.asarray(place @ stiffness.T + rate @ damping.T + np.gradient(rate, step, axis=0) @ mass.T)
