"""What a check says beyond stability about tests in force control and slow tests: method, stiffness estimate, rate."""

from __future__ import annotations

import numpy as np

from ... import units
from ...definition.definition import Definition
from ...models.force_control.baumgarte import Baumgarte
from ...models.force_control.constrained import Constrained
from ...models.force_control.stiffness_estimate import below_specimen
from ...models.schemes.operator_splitting import OperatorSplitting
from ...models.structures.restoring import assemble
from ...rigs.force_controlled import ForceControlled
from ...rigs.specimen import Specimen
from ...runs.run import Run
from ...stability.force_method import recommend

CALLED_BETTER = 1.1
"""Error of the method at hand over that of the best, above which another is recommended."""
NEAR = 0.01
"""Part of a force by which another may differ and count as the same."""


def advice(definition: Definition, run: Run) -> list[str]:
    """Sentences for a check, ``run`` being the rehearsal; none for a test that is neither."""
    found = []
    virtual, rig = definition.virtual, definition.rig
    if isinstance(virtual, Constrained):
        found += on_step(definition, virtual)
        if isinstance(rig, ForceControlled):
            stable = run.stability is not None and run.stability.stable
            found += [*on_stiffness(virtual, rig, stable), *on_start(virtual, rig, run)]
            found += on_method(definition, virtual, rig, run)
    found += on_splitting(virtual, getattr(rig, "specimen", None))
    if definition.slow is not None:
        found += on_rate(getattr(rig, "specimen", None), virtual.axes)
    return found


def on_step(definition: Definition, virtual: Constrained) -> list[str]:
    """How long a step of integration is, where it has several exchanges."""
    ticks, tick = virtual.ticks_per_step, definition.timing.step
    if ticks == 1:
        return []
    return [
        f"the integration step is {units.text(ticks * tick, 's')}: {ticks} exchanges of timing.step = "
        f"{units.text(tick, 's')}"
    ]


def seen_stiffness(virtual: Constrained, rig: ForceControlled) -> np.ndarray:
    """Stiffness of the specimen as it is measured, (axes, axes): in series with the transfer system if by actuators."""
    n = virtual.axes
    if rig.measures == "actuator":
        return rig.series(n)[0]
    return rig.stiffness(n)


def on_stiffness(virtual: Constrained, rig: ForceControlled, stable: bool) -> list[str]:
    """Warnings about the stiffness that is measured, and about the one that is reckoned with.

    Index-1 splitting needs K ≤ K̂ < 2K.  Baumgarte's stabilisation with a solved loop may bear less, and bears more:
    there K̂ is named if the loop is not stable and K̂ is too low.
    """
    found, reckoned, seen = [], virtual.method.reckoned_stiffness, seen_stiffness(virtual, rig)
    if rig.measures == "actuator" and rig.transfer_stiffness is not None:
        softer = 1.0 - float(np.linalg.eigvals(np.linalg.solve(rig.stiffness(virtual.axes), seen)).real.min())
        found.append(
            f"warning: the actuators' displacement is fed back, with what the transfer system gives way: the specimen "
            f'seems {100 * softer:.0f} % softer; take measures = "specimen"'
        )
    wrong = "" if reckoned is None else below_specimen(reckoned, seen)
    if isinstance(virtual.method, Baumgarte) and (stable or "below 1" not in wrong):
        wrong = ""
    return [*found, f"warning: {wrong}"] if wrong else found


def on_start(virtual: Constrained, rig: ForceControlled, run: Run) -> list[str]:
    """A warning if a test that begins displaced does not begin with the force under which the specimen stands there."""
    target, q = run.vector("target"), virtual.initial_displacement
    if target is None or q is None or not len(target):
        return []
    first, stands = target[0], rig.stiffness(virtual.axes) @ virtual.constraint @ q
    if np.all(np.abs(first - stands) <= NEAR * np.abs(stands).max()):
        return []
    asked, under = (", ".join(units.text(float(f), "N", digits=4) for f in force) for force in (first, stands))
    return [
        f"warning: the test begins with the interface displaced, and its first exchange asks for {asked} where the "
        f"specimen stands under {under}: what the method reckons with is not exact; begin at rest, or bear the jolt"
    ]


def on_splitting(virtual: object, specimen: object) -> list[str]:
    """A warning if operator splitting reckons with less stiffness than the specimen has at first."""
    scheme = getattr(virtual, "scheme", None)
    if not isinstance(scheme, OperatorSplitting) or not isinstance(specimen, Specimen):
        return []
    reckoned = np.atleast_2d(scheme.specimen_stiffness)
    n = len(reckoned)
    true = specimen.matrices(n)[2] + assemble(specimen.elements, n).stiffness
    missing, directions = np.linalg.eigh(true - reckoned)
    if missing[-1] <= 1e-9 * np.abs(true).max():
        return []
    along = directions[:, -1]
    ratio = (along @ reckoned @ along) / (along @ true @ along)
    return [
        f"warning: virtual.scheme.specimen_stiffness is {ratio:.3g} times that of the specimen: below 1 operator "
        "splitting is not stable at any step, and less exact; raise it to that of the specimen or above"
    ]


def on_method(definition: Definition, virtual: Constrained, rig: ForceControlled, run: Run) -> list[str]:
    """The method that suits the test best, by a linear forecast."""
    moved = run.vector("virtual.interface")
    amplitude = 0.0 if moved is None else float(np.max(np.abs(moved[np.isfinite(moved)]), initial=0.0))
    if amplitude == 0.0 or run.outcome != "completed":  # nothing moved, or nothing to go by
        return []
    forecasts = recommend(
        virtual,
        definition.timing.step * virtual.ticks_per_step,
        seen_stiffness(virtual, rig),
        noise=rig.sensors.displacement.noise,
        amplitude=amplitude,
        duration=definition.timing.duration,
    )
    defined = next(forecast for forecast in forecasts if forecast.name.startswith("as defined"))
    best = next(forecast for forecast in forecasts if forecast is not defined)
    beside = ""
    if rig.measures == "actuator" and rig.transfer_stiffness is not None:
        beside = "; the error of measuring the transfer system's compliance with the specimen's is not in these"
    if not best.stable or defined.error <= CALLED_BETTER * best.error:
        return [f"method {defined.summary()}; none of the others is expected to be better{beside}"]
    reckoned = best.method.reckoned_stiffness
    given = "" if reckoned is None or reckoned.size > 1 else f" with stiffness {units.text(reckoned.item(), 'N/m')}"
    return [f"recommended method{given}: {best.summary()}; {defined.summary()}{beside}"]


def on_rate(specimen: object, axes: int) -> list[str]:
    """A warning about forces that a slow test does not feel."""
    if not isinstance(specimen, Specimen):
        return []
    mass, damping, _ = specimen.matrices(axes)
    lost = [name for name, matrix in (("mass", mass), ("damping", damping)) if np.any(matrix)]
    if not lost:
        return []
    return [
        f"warning: the specimen has {' and '.join(lost)}, and in a slow test their forces are lost; put them into the "
        "virtual substructure"
    ]
