"""Whether a virtual substructure is so light that its loop is unstable at high frequency, or nearly so.

A structure by its modes is light at high frequency, the lighter the more of them are kept: there the loop gain tends to
the specimen's mass over the virtual part's.  Beyond one, disturbances of high frequency are amplified at every turn,
and the loop is unstable for any delay however small (``halfreal.stability.substructures``).  A sampled loop may hide
that, as its step or its actuator cuts what is fast; it comes back with a shorter step or a faster rig.

A rig that is a pure delay cuts nothing: its gain margin is not larger than one over that gain, regardless of the
step, and that is held against what [acceptance] requests.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ....contracts.finding import Finding
from ....contracts.system import System
from ....definition.definition import Definition
from ....stability.substructures import high_frequency_gain
from ..examined import Examined


def truncation(examined: Examined) -> Iterable[Finding]:
    """A warning if the loop gain at high frequency exceeds one; none if it does not, or is not known."""
    known = masses(examined.definition)
    if known is None or (gain := high_frequency_gain(*known)) <= 1.0:
        return
    system, mass = known
    kept = most_modes(system, mass) if np.isfinite(gain) else 0
    remedy = f"keep the lowest {kept} of {system.dofs} modes" if kept else "add virtual mass at the interface"
    told = f"the loop gain is {gain:.3g}, above 1"
    if not np.isfinite(gain):
        told = "the loop gain is unbounded, because the specimen has mass where the virtual part has none"
    text = (
        f"at high frequency {told}: without sampling and the rig's attenuation the loop would be "
        f"unstable for any delay; {remedy}"
    )
    yield Finding("warning", text, float(gain) if np.isfinite(gain) else None, 1.0)


def masses(definition: Definition) -> tuple[System, np.ndarray] | None:
    """The virtual part, and the specimen's mass at high frequency; None where they are not known."""
    virtual, specimen = definition.virtual, definition.rig.known_specimen
    system = virtual.system("none")
    if specimen is None or system is None or virtual.targets == "force":
        return None
    return system, specimen.fast_mass(virtual.axes)


def high_frequency_gain_of(definition: Definition) -> float:
    """Loop gain at high frequency with a rig that is a pure delay and no coupling; 0 of any other, or if not known."""
    known, model = masses(definition), definition.rig.linear_model(definition.virtual.axes)
    if known is None or model is None or not np.any(model.d) or definition.coupling.compensates:
        return 0.0
    return high_frequency_gain(*known)


def most_modes(system: System, mass: np.ndarray) -> int:
    """How many of the system's modes, the lowest first, leave the loop gain at high frequency below one."""
    shapes = system.undamped_modes()[1]
    interface = system.displacement_outputs[: len(mass)] @ shapes
    for count in range(1, shapes.shape[1] + 1):
        kept = interface[:, :count]
        if np.abs(np.linalg.eigvals(mass @ kept @ kept.T)).max() > 1.0:
            return count - 1
    return len(shapes.T)
