"""Couplings that rest on a model of the rig: what they need to know comes out of the definition.

A compensator that is ideal for an actuator and a virtual device needs a model of both, and none of the specimen
(``halfreal.stability.ideal_compensator``).  The actuator's is that of the definition's rig, or of the shaker that was
identified; the device's is the virtual substructure.  Both get the delays that the sampled loop adds: a command is held
over a step (half a step late), and so is a force that the virtual substructure holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..contracts.state_space import StateSpace
from ..couplings.broad_band_inverse import BroadBandInverse
from ..couplings.narrow_band_table import NarrowBandTable
from ..definition.definition import Definition
from ..definition.sections import SimulatedRig
from ..errors import HalfrealError
from ..models.shaker import Shaker, polynomials
from ..models.structures import state_space
from ..models.structures.beam import Beam
from ..models.structures.modal import Modes
from ..models.structures.spring_damper import SpringDamper
from ..models.structures.structure import Structure
from ..rigs.actuator import FirstOrder, SecondOrder
from ..rigs.electrodynamic import Electrodynamic
from ..rigs.servo_hydraulic import ServoHydraulic
from ..stability.ideal_compensator import Device, Follower, device_of


def with_model_data(definition: Definition) -> Any:
    """The definition's coupling with the table or the weights that it has left out."""
    coupling = definition.coupling
    if not isinstance(coupling, NarrowBandTable | BroadBandInverse) or coupling.has_table:
        return coupling
    actuator = actuator_of(definition, coupling.shaker)
    return coupling.with_table(actuator, device_in(definition), definition.timing.step)


def actuator_of(definition: Definition, shaker: Shaker | None = None) -> Follower:
    """The actuator of the definition's rig, or another shaker in its place, with the hold of the command."""
    rig, step = definition.rig, definition.timing.step
    held = 0.5 * step
    if isinstance(rig, Electrodynamic):
        return Follower(*polynomials(rig.shaker if shaker is None else shaker, rig.drive), delay=held)
    if shaker is not None:
        raise HalfrealError(f"coupling.shaker stands for a shaker, and the rig is of kind '{rig.kind}'; leave it out")
    if isinstance(rig, ServoHydraulic):
        return _servo_hydraulic(rig, held)
    if isinstance(rig, SimulatedRig):
        actuator = rig.actuator
        one, none = np.ones(1), np.zeros(1)
        # the shortest way into the rig: a command is held until the next one
        delay = max(actuator.delay, step)
        if actuator.reconstruction == "hold":  # a staircase: late by whole steps, and by half of one on average
            delay = step * float(np.ceil(actuator.delay / step - 1e-9)) + held
        if isinstance(actuator, FirstOrder):
            return Follower(np.array([actuator.time_constant, 1.0]), one, none, delay)
        if isinstance(actuator, SecondOrder):
            omega = 2 * np.pi * actuator.frequency
            return Follower(np.array([omega**-2, 2 * actuator.damping / omega, 1.0]), one, none, delay)
        return Follower(one, one, none, delay)
    raise HalfrealError(
        f"the actuator of a rig of kind '{rig.kind}' has no model here; give the coupling's table or weights itself"
    )


def _servo_hydraulic(rig: ServoHydraulic, delay: float) -> Follower:
    """β(s) w = a₁β₀ (g u − x), (s + a₃) f = w − a₂ s x with the load f = −F_m, solved for x."""
    a = rig.actuator
    valve = np.array([1.0, a.valve_damping, a.valve_stiffness])
    return Follower(
        denominator=np.polyadd(a.interaction * np.polymul([1.0, 0.0], valve), [a.valve_gain]),
        by_command=np.array([a.valve_gain * a.command_gain]),
        by_force=np.polymul([1.0, a.leakage], valve),
        delay=delay,
    )


def device_in(definition: Definition) -> Device:
    """The virtual substructure from the force that acts on it to its displacement, as it is integrated."""
    virtual, step = definition.virtual, definition.timing.step
    if virtual.axes != 1:
        raise HalfrealError(
            f"a device that is compensated has one axis, and the interface has {virtual.axes}; use another coupling"
        )
    if isinstance(virtual, SpringDamper):
        late = 0.5 * step if virtual.hold == "zero" else 0.0
        return Device(np.ones(1), np.array([virtual.damping, virtual.stiffness]), late)
    if isinstance(virtual, state_space.StateSpaceModel):
        late = 0.5 * step if virtual.hold == "zero" else 0.0
        d = np.zeros((1, 1)) if virtual.D is None else -virtual.D[:1, 1:]
        return device_of(StateSpace(virtual.A, -virtual.B[:, 1:], virtual.C[:1], d), late)
    if isinstance(virtual, Structure | Modes | Beam):
        late = 0.5 * step if getattr(virtual.scheme, "hold", "first") == "zero" else 0.0
        a, b, c, d = virtual.system("none").first_order()
        return device_of(StateSpace(a, -b[:, -1:], c[:1], -d[:1, -1:]), late)
    raise HalfrealError(
        f"the virtual substructure of kind '{virtual.kind}' has no linear model here; give the coupling's table or "
        "weights itself"
    )
