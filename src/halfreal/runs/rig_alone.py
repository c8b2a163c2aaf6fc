"""Whether a rig is stable on its own: with its command held, whatever the test does with it.

In the code that runs, cut at the command (``stability/open_loop.py``), the map of one tick

    x_r⁺ = A_rr x_r

is that of the rig's own states and of the channels that its blocks pass on to its blocks of the next tick, such as a
sensor that its controller listens to.  An eigenvalue beyond one is the rig's own fault, such as a gain of its
controllers, and neither coupling nor delay of the test mends it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..definition.definition import Definition
from ..kernels.loop import Loop
from ..rigs.servo_hydraulic import ServoHydraulic
from ..rigs.shaking_table import ShakingTable
from ..rigs.table_tuning import largest, largest_stable
from ..stability.linearise import MARGINAL, Linearisation, derivative
from ..stability.open_loop import PROBE
from .build import SETTLING_TICKS, build

UNITS = {"proportional": " 1/s", "integral": " 1/s^2", "derivative": ""}


@dataclass(frozen=True)
class RigFault:
    """What is wrong with a rig that is unstable on its own, and what would mend it."""

    reason: str
    remedy: str


def rig_alone(definition: Definition, loop: Loop) -> Linearisation:
    """The rig of a definition with its command held where its ``loop`` has it, settled at rest."""
    alone = build(definition, quiet=True, cut=True)
    alone.state(PROBE)["value"] = [loop.vector[loop.index[name]] for name in definition.interface.channels("command")]
    alone.run(SETTLING_TICKS)
    indices = rig_indices(alone)
    return Linearisation(derivative(alone, indices, indices), alone.dt)


def rig_indices(loop: Loop) -> np.ndarray:
    """Entries of the loop's vector that carry the rig's own dynamics from one tick to the next."""
    rig = loop.blocks[loop.row("guard") + 1 :]
    own = {channel.name for block in rig for channel in block.outputs}
    read: set[str] = set()
    written: set[str] = set()
    for block in rig:
        read |= {name for name in block.inputs if name in own - written}
        written |= {channel.name for channel in block.outputs}
    states = [loop.state_indices(block.name, key) for block in rig for key in block.state if key not in block.frozen]
    return np.concatenate([np.array(sorted(loop.index[name] for name in read), dtype=int), *states])


def rig_fault(definition: Definition, loop: Loop) -> RigFault | None:
    """What makes the rig of a settled loop unstable on its own; None if nothing does."""
    alone = rig_alone(definition, loop)
    if alone.spectral_radius <= 1.0 + MARGINAL:
        return None
    pole = alone.continuous[0]
    reason = (
        f"the rig is unstable on its own, whatever the coupling and the virtual part: with its command held, a pole at "
        f"{abs(pole.imag) / (2 * np.pi):.3g} Hz grows as exp({pole.real:.3g} t/s)"
    )
    rig = definition.rig
    if isinstance(rig, ShakingTable):
        return RigFault(reason, table_remedy(rig, definition.period / rig.substeps))
    if isinstance(rig, ServoHydraulic):
        return RigFault(reason, servo_remedy(rig, definition.virtual.axes))
    return RigFault(reason, "a rig that stands still under a held command: look at its controller's gains and specimen")


def table_remedy(rig: ShakingTable, h: float) -> str:
    """Which gain of the table's controllers to lower, and how far."""
    found = largest_stable(rig, h)
    if found is None:
        return "lower gains of rig.controller, all of them, or another rig.specimen: no single gain makes it stable"
    key, bound = found
    value, unit = getattr(rig.controller, key), UNITS[key]
    return (
        f"a lower rig.controller.{key}: it is {value:.4g}{unit}, and the table's own controllers are stable below "
        f"{bound:.4g}{unit}; half of that leaves 6 dB"
    )


def servo_remedy(rig: ServoHydraulic, axes: int) -> str:
    """How far to lower the gain of the actuators' inner loop."""

    def stable(gain: float) -> bool:
        actuator = rig.actuator.model_copy(update={"valve_gain": gain})
        a, _, _ = rig.model_copy(update={"actuator": actuator}).matrices(axes)
        return bool(np.linalg.eigvals(a).real.max() < 0.0)

    bound = largest(stable, rig.actuator.valve_gain)
    if bound is None:
        return "another rig.specimen: with this one the actuators are unstable whatever rig.actuator.valve_gain is"
    return (
        f"a lower rig.actuator.valve_gain: it is {rig.actuator.valve_gain:.4g} N/(m s^3), and the actuators' inner "
        f"displacement loop is stable below {bound:.4g} N/(m s^3); half of that leaves 6 dB"
    )
