"""Whether a virtual substructure has so many modes that its loop is unstable at high frequency.

A structure by its modes is light at high frequency, the lighter the more of them are kept: there the loop gain tends to
the specimen's mass over the virtual part's.  Beyond one, disturbances of high frequency are amplified at every turn,
and the loop is unstable for any delay however small (``halfreal.stability.substructures``).  A sampled loop may hide
that, as its step or its actuator cuts what is fast; it comes back with a shorter step or a faster rig.
"""

from __future__ import annotations

import numpy as np

from ...contracts.system import System
from ...definition.definition import Definition
from ...models.structures.beam import Beam
from ...models.structures.modal import Modes
from ...models.structures.structure import Structure
from ...rigs.flexible_specimen import FlexibleSpecimen
from ...rigs.specimen import Specimen
from ...stability.substructures import high_frequency_gain


def truncation(definition: Definition) -> list[str]:
    """A warning for a check if the loop gain at high frequency exceeds one; none if it does not, or is not known."""
    virtual, mass = definition.virtual, fast_mass(definition)
    if mass is None or not isinstance(virtual, Structure | Modes | Beam) or definition.targets == "force":
        return []
    system = virtual.system("none")
    gain = high_frequency_gain(system, mass)
    if gain <= 1.0:
        return []
    kept = most_modes(system, mass)
    remedy = f"keep the lowest {kept} of {system.dofs} modes" if kept else "give the virtual part mass at the interface"
    return [
        f"warning: at high frequency the loop gain is {gain:.3g}, above 1: without the step that samples it and the "
        f"rig that smooths it the loop would be unstable for any delay; {remedy}"
    ]


def fast_mass(definition: Definition) -> np.ndarray | None:
    """The specimen's mass as a fast motion of the interface feels it, (axes, axes); None if it is not known."""
    specimen = getattr(definition.rig, "specimen", None)
    if isinstance(specimen, FlexibleSpecimen):
        return specimen.base_excited().fast_mass
    if isinstance(specimen, Specimen):
        return specimen.matrices(definition.virtual.axes)[0]
    return None


def most_modes(system: System, mass: np.ndarray) -> int:
    """How many of the system's modes, the lowest first, leave the loop gain at high frequency below one."""
    import scipy.linalg

    _, shapes = scipy.linalg.eigh(system.tangent_stiffness, system.mass)
    interface = system.displacement_outputs[: len(mass)] @ shapes
    for count in range(1, system.dofs + 1):
        kept = interface[:, :count]
        if np.abs(np.linalg.eigvals(mass @ kept @ kept.T)).max() > 1.0:
            return count - 1
    return system.dofs
