"""The emulated system: virtual substructure and specimen joined rigidly, without rig, delay or coupling.

    (M + B M_s Bᵀ) q¨ + (C + B C_s Bᵀ) q˙ + (K + B K_s Bᵀ) q + nonlinear elements of both = P e + B b e_s

B selects the interface.  A specimen with free degrees of freedom u_a of its own adds them to q: with u = (Bᵀq, u_a) its
matrices are put at the places of both, without the simplifications that the rig's model of it may have.  A linear
system is integrated exactly, a nonlinear one by the classical Runge–Kutta method, both on a step ``substeps`` times
finer than the test's.
"""

from __future__ import annotations

import numpy as np

from ..contracts.system import Elements, System
from ..definition.definition import Definition
from ..errors import HalfrealError
from ..kernels.block import Block, channels, names
from ..kernels.loop import Loop
from ..models.excitations.excitation import silence
from ..models.force_control.constrained import Constrained
from ..models.schemes.exact import Exact
from ..models.schemes.runge_kutta import RungeKutta4
from ..models.structures.beam import Beam
from ..models.structures.modal import Modes
from ..models.structures.restoring import assemble
from ..models.structures.structure import Structure
from ..rigs.flexible_specimen import FlexibleSpecimen
from ..rigs.specimen import Specimen


class EmulationError(HalfrealError):
    """The emulated system could not be integrated."""


def reference_specimen(definition: Definition) -> Specimen | FlexibleSpecimen | None:
    """The specimen of the emulated system, or None if it is not known."""
    if definition.reference is None:
        return None
    if definition.reference.specimen is not None:
        return definition.reference.specimen
    specimen = getattr(definition.rig, "specimen", None)
    assert isinstance(specimen, Specimen | FlexibleSpecimen)  # as validated
    return specimen


def assembled(definition: Definition, specimen: Specimen | FlexibleSpecimen) -> System:
    """The emulated system: inputs (excitation, its rate, excitation of the specimen), the virtual part's outputs."""
    assert isinstance(definition.virtual, Structure | Constrained | Modes | Beam)  # as validated
    excitation = definition.excitation.virtual
    virtual = definition.virtual.system("none" if excitation is None else excitation.acts_as)
    n = definition.virtual.axes
    if isinstance(specimen, FlexibleSpecimen):
        return with_flexible(virtual, n, specimen)
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


def with_flexible(virtual: System, axes: int, specimen: FlexibleSpecimen) -> System:
    """A virtual part and a specimen with degrees of freedom of its own as one system, of (q, u_a)."""
    part = specimen.base_excited()
    n, free = virtual.dofs, len(part.free)
    interface = virtual.displacement_outputs[:axes]
    # the specimen's displacements out of those of the whole
    place = np.zeros((len(part.mass), n + free))
    place[list(part.interface), :n] = interface
    place[list(part.free), n:] = np.eye(free)

    def joined(own: np.ndarray, added: np.ndarray) -> np.ndarray:
        whole = place.T @ added @ place
        whole[:n, :n] += own
        return np.asarray(whole)

    def wider(rows: np.ndarray) -> np.ndarray:
        return np.hstack([rows, np.zeros((len(rows), free))])

    moved = (part.transmission @ interface @ start for start in (virtual.displacement, virtual.velocity))
    displacement, velocity = (
        np.concatenate(pair) for pair in zip((virtual.displacement, virtual.velocity), moved, strict=True)
    )
    return System(
        mass=joined(virtual.mass, part.mass),
        damping=joined(virtual.damping, part.damping),
        stiffness=joined(virtual.stiffness, part.stiffness),
        inputs=np.hstack([wider(virtual.inputs[:, :2].T).T, place.T @ specimen.pushed()]),
        displacement_outputs=wider(virtual.displacement_outputs),
        velocity_outputs=wider(virtual.velocity_outputs),
        acceleration_outputs=wider(virtual.acceleration_outputs),
        elements=Elements(virtual.elements.law, wider(virtual.elements.direction), virtual.elements.parameters),
        displacement=displacement,
        velocity=velocity,
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
