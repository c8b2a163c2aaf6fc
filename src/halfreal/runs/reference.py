"""The emulated system: virtual substructure and specimen joined rigidly, without rig, delay or coupling.

    (M + B M_s Bᵀ) q¨ + (C + B C_s Bᵀ) q˙ + (K + B K_s Bᵀ) q + nonlinear elements of both = P e + B b e_s

B selects the interface.  A specimen with free degrees of freedom u_a of its own adds them to q: with u = (Bᵀq, u_a) its
matrices are put at the places of both, without the simplifications that the rig's model of it may have.  A linear
system is integrated exactly, a nonlinear one by the classical Runge–Kutta method (by Newmark's if degrees of freedom
without mass ask for it), both on a step ``substeps`` times finer than the test's.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..contracts.context import Context
from ..contracts.massless import MasslessError
from ..contracts.specimen import KnownSpecimen
from ..contracts.system import Method, System
from ..definition.definition import Definition
from ..errors import HalfrealError
from ..kernels.block import Block, channels, names
from ..kernels.loop import Loop
from ..models.excitations import RELEASES, releases, silence, virtual_excitation
from ..models.schemes.exact import Exact
from ..rigs.auxiliary import simulated
from .run import Event


class EmulationError(HalfrealError):
    """The emulated system could not be integrated."""


def reference_specimen(definition: Definition) -> KnownSpecimen | None:
    """The specimen of the emulated system, or None if it is not known."""
    if definition.reference is None:
        return None
    given = definition.reference.specimen
    return definition.rig.known_specimen if given is None else given.known


def assembled(definition: Definition, specimen: KnownSpecimen) -> System:
    """The emulated system: inputs (excitation, its rate, excitation of the specimen), the virtual part's outputs."""
    excitation, virtual = definition.excitation.virtual, definition.virtual
    system = virtual.system("none" if excitation is None else excitation.acts_as)
    assert system is not None  # as validated
    return specimen.attached_to(system, virtual.axes)


def emulation(system: System, fine: float) -> Method:
    """How the emulated system is integrated."""
    if system.linear:
        return Exact().method(system, fine)
    from ..models.schemes.newmark import Newmark
    from ..models.schemes.runge_kutta import RungeKutta4

    try:
        return RungeKutta4().method(system, fine)
    except MasslessError:  # elements or dampers on degrees of freedom without mass
        return Newmark(iterations=100).method(system, fine)


def _method(definition: Definition, system: System, fine: float) -> Method:
    """How the emulated system of a definition is integrated."""
    try:
        return definition.virtual.emulation(system, fine) or emulation(system, fine)
    except HalfrealError as error:
        raise EmulationError(str(error)) from error


def can_emulate(definition: Definition) -> bool:
    """Whether the emulated system of a definition with a reference is known, and how to integrate it."""
    specimen = reference_specimen(definition)
    if specimen is None:
        return False
    try:
        _method(definition, assembled(definition, specimen), definition.timing.step)
    except EmulationError:
        return False
    return True


def as_released(definition: Definition, events: Iterable[Event]) -> Definition:
    """The definition of a test whose excitation was released at the times of its events."""
    excitation = definition.excitation
    if not excitation.waits:
        return definition
    at = np.array([event.time for event in events if event.channel == RELEASES])
    return definition.unchecked_copy({"excitation": excitation.unchecked_copy({"release_at": at, "release_by": None})})


def as_heard(definition: Definition, values: np.ndarray | None) -> Definition:
    """The definition of a test whose excitation, if it came from outside, had these values in its record's rows."""
    excitation = definition.excitation
    driven = excitation.virtual
    if driven is None or driven.reads is None:
        return definition
    if values is None or not np.all(np.isfinite(values)):
        what = "not recorded (record.channels)" if values is None else "not finite in the record"
        raise EmulationError(f"excitation.virtual, which came from the rig, is {what}")
    heard = driven.as_recorded(values, definition.record.every * definition.timing.step)
    return definition.unchecked_copy({"excitation": excitation.unchecked_copy({"virtual": heard})})


def emulate(definition: Definition, ticks: int, every: int) -> np.ndarray | None:
    """Interface displacements of the emulated system, every ``every``-th tick, (rows, axes); None if not known."""
    if definition.virtual.brings_reference:
        return definition.virtual.own_reference(definition, ticks, every)
    found = _emulated(definition, ticks, every, definition.virtual.axes)
    return None if found is None else found[:, : definition.virtual.axes]


def emulated_channels(definition: Definition, ticks: int, every: int) -> dict[str, tuple[str, np.ndarray]] | None:
    """The emulated system in the channels of the virtual substructure that it represents, with units: the target, and
    where they are known the responses that the definition requests; None if it is not known."""
    axes = definition.interface
    named = list(zip(axes.channels("target"), axes.units("m"), strict=True))
    if definition.virtual.brings_reference:
        log = definition.virtual.own_reference(definition, ticks, every)
    else:
        log = _emulated(definition, ticks, every, None)
        context = Context(definition, definition.virtual, np.asarray(definition.virtual.initial_target(), dtype=float))
        blocks = definition.virtual.blocks(context)
        written = [channel for block in blocks if block.name == "virtual" for channel in block.outputs]
        if log is not None and len(written) == log.shape[1]:
            named += [(channel.name, channel.unit) for channel in written[len(named) :]]
    if log is None:
        return None
    return {name: (unit, log[:, i]) for i, (name, unit) in enumerate(named)}


def _emulated(definition: Definition, ticks: int, every: int, first: int | None) -> np.ndarray | None:
    """The ``first`` outputs of the emulated system, all of them if left out, (rows, outputs); None if not known."""
    specimen = reference_specimen(definition)
    if specimen is None or definition.reference is None:
        return None
    substeps = definition.reference.substeps
    fine = definition.timing.step / substeps
    system = assembled(definition, specimen)
    method = _method(definition, system, fine)
    n = definition.virtual.axes
    outputs = channels("reference", "m", len(system.displacement_outputs))
    # while the specimen's stiffness is found out, the excitation waits
    wait = definition.virtual.probing_ticks * definition.timing.step
    context = Context(definition, definition.virtual, np.zeros(n))
    pushed = definition.excitation.specimen
    excitations = [
        *simulated(context),
        *releases(context),
        virtual_excitation(context, "excitation.virtual", -wait),
        silence("excitation.specimen") if pushed is None else pushed.block("excitation.specimen", -wait),
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
    log = loop.run((ticks - 1) * substeps + 1, record=names(outputs)[:first], every=every * substeps).log
    if not np.all(np.isfinite(log)):
        raise EmulationError(
            f"the emulated system is not finite within {ticks * definition.timing.step:g} s at a step of {fine:g} s; "
            f"raise reference.substeps above {substeps}, or check for an unstable structure"
        )
    return np.asarray(log[:, 1:])
