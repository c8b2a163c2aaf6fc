"""The emulated system: virtual substructure and specimen joined rigidly, without rig, delay or coupling.

    (M + B M_s Bᵀ) q¨ + (C + B C_s Bᵀ) q˙ + (K + B K_s Bᵀ) q + nonlinear elements of both = P e + B b e_s

B selects the interface.  A linear system is integrated exactly, a nonlinear one by the classical Runge–Kutta method,
both on a step ``substeps`` times finer than the test's.
"""

from __future__ import annotations

import numpy as np

from ..definition.definition import Definition
from ..errors import HalfrealError
from ..kernels.block import Block, channels, names
from ..kernels.loop import Loop
from ..models.beam import Beam
from ..models.constrained import Constrained
from ..models.exact import Exact
from ..models.excitation import silence
from ..models.modal import Modes
from ..models.restoring import assemble
from ..models.runge_kutta import RungeKutta4
from ..models.structure import Structure
from ..models.system import Elements, System
from ..rigs.specimen import Specimen


class EmulationError(HalfrealError):
    """The emulated system could not be integrated."""


def reference_specimen(definition: Definition) -> Specimen | None:
    """The specimen of the emulated system, or None if it is not known."""
    if definition.reference is None:
        return None
    if definition.reference.specimen is not None:
        return definition.reference.specimen
    specimen = getattr(definition.rig, "specimen", None)
    assert isinstance(specimen, Specimen)  # as validated
    return specimen


def assembled(definition: Definition, specimen: Specimen) -> System:
    """The emulated system: inputs (excitation, its rate, excitation of the specimen), the virtual part's outputs."""
    assert isinstance(definition.virtual, Structure | Constrained | Modes | Beam)  # as validated
    excitation = definition.excitation.virtual
    virtual = definition.virtual.system("none" if excitation is None else excitation.acts_as)
    n = definition.virtual.axes
    interface = virtual.displacement_outputs[:n].T
    mass, damping, stiffness = specimen.matrices(n)
    own, added = virtual.elements, assemble(specimen.elements, n)
    pushed = np.zeros(n)
    pushed[specimen.excited_axis - 1] = 1.0
    return System(
        mass=virtual.mass + interface @ mass @ interface.T,
        damping=virtual.damping + interface @ damping @ interface.T,
        stiffness=virtual.stiffness + interface @ stiffness @ interface.T,
        inputs=np.column_stack([virtual.inputs[:, :2], interface @ pushed]),
        displacement_outputs=virtual.displacement_outputs,
        velocity_outputs=virtual.velocity_outputs,
        acceleration_outputs=virtual.acceleration_outputs,
        elements=Elements(
            np.concatenate([own.law, added.law]),
            np.vstack([own.direction, added.direction @ interface.T]),
            np.vstack([own.parameters, added.parameters]),
        ),
        displacement=virtual.displacement,
        velocity=virtual.velocity,
    )


def emulate(definition: Definition, ticks: int, every: int) -> np.ndarray | None:
    """Interface displacements of the emulated system, every ``every``-th tick, (rows, axes); None if not known."""
    specimen = reference_specimen(definition)
    if specimen is None or definition.reference is None:
        return None
    substeps = definition.reference.substeps
    fine = definition.timing.step / substeps
    system = assembled(definition, specimen)
    method = (Exact() if system.linear else RungeKutta4()).method(system, fine)
    n = definition.virtual.axes
    outputs = channels("reference", "m", len(system.displacement_outputs))
    # while the specimen's stiffness is found out, the excitation waits
    wait = getattr(definition.virtual, "probing_ticks", 0) * definition.timing.step
    excitations = [
        silence(name) if part is None else part.block(name, -wait)
        for name, part in (
            ("excitation.virtual", definition.excitation.virtual),
            ("excitation.specimen", definition.excitation.specimen),
        )
    ]
    block = Block(
        name="reference",
        step=method.step,
        inputs=("excitation.virtual", "excitation.virtual.rate", "excitation.specimen"),
        outputs=outputs,
        parameters=method.parameters,
        state=method.state,
        frozen=method.frozen,
        faults=method.faults,
    )
    loop = Loop([*excitations, block], dt=fine)
    log = loop.run((ticks - 1) * substeps + 1, record=names(outputs)[:n], every=every * substeps).log
    if not np.all(np.isfinite(log)):
        raise EmulationError(
            f"the emulated system is not finite within {ticks * definition.timing.step:g} s at a step of {fine:g} s; "
            f"raise reference.substeps above {substeps}, or look for an unstable structure"
        )
    return np.asarray(log[:, 1:])
