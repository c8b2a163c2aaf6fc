"""Whether a rig is stable on its own: with its command held, regardless of what the test does with it.

In the code that runs, cut at the command (``stability/open_loop.py``), the map of one tick, or of one period of a rig
with slower rates of its own,

    x_r⁺ = A_rr x_r

is that of the rig's own states and of the channels that its blocks pass on to its blocks of the next tick, such as a
sensor that its controller listens to.  An eigenvalue beyond one is the rig's own fault, such as a gain of its
controllers, and neither coupling nor delay of the test fixes it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..contracts.context import OPEN_LOOP
from ..definition.definition import Definition
from ..kernels.loop import Loop
from ..stability.linearise import MARGINAL, Linearisation, NoSlopeError, derivative
from ..stability.open_loop import PROBE
from .build import SETTLING_TICKS, build
from .equivalent import settled


@dataclass(frozen=True)
class RigFault:
    """What is wrong with a rig that is unstable on its own, and what would fix it."""

    reason: str
    remedy: str


def rig_alone(definition: Definition, loop: Loop) -> Linearisation:
    """The rig of a definition with its command held where its ``loop`` has it, settled at rest."""
    alone = build(definition, OPEN_LOOP)
    alone.state(PROBE)["value"] = [
        loop.vector[loop.index[name]] for name in definition.interface.actuators.channels("command")
    ]
    alone.run(SETTLING_TICKS)
    indices = rig_indices(alone)
    try:
        return Linearisation(derivative(alone, indices, indices, alone.period), alone.dt, alone.period)
    except NoSlopeError:
        alone = settled(definition, OPEN_LOOP)
        indices = rig_indices(alone)
        return Linearisation(derivative(alone, indices, indices, alone.period), alone.dt, alone.period)


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
        f"the rig alone is unstable, regardless of coupling and virtual part: with its command held, a pole at "
        f"{abs(pole.imag) / (2 * np.pi):.3g} Hz grows as exp({pole.real:.3g} t/s)"
    )
    return RigFault(reason, definition.rig.stability_remedy(definition))
