"""What a check should report of a test in force control: stiffness estimate, start, and the method that suits it
best."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ... import units
from ...contracts.finding import Finding, note, warning
from ...contracts.rig import StaticAnswer

if TYPE_CHECKING:
    from ...studies.check.examined import Examined
    from .constrained import Constrained

CALLED_BETTER = 1.1
"""Error of the method at hand over that of the best, above which another is recommended."""
NEAR = 0.01
"""Part of a force by which another may differ and count as the same."""


def advice(virtual: Constrained, examined: Examined) -> Iterable[Finding]:
    """Findings on a substructure with a rig whose answer to a held force is known; none with any other."""
    answer = examined.definition.rig.static_answer(virtual.axes)
    if answer is None:
        return
    yield from on_stiffness(virtual, answer, examined.stable)
    yield from on_start(virtual, examined)
    yield from on_method(virtual, answer, examined)


def on_stiffness(virtual: Constrained, answer: StaticAnswer, stable: bool) -> Iterable[Finding]:
    """A warning about the stiffness that is calculated with, where the method does not bear it."""
    wrong = virtual.method.wrong_stiffness(answer.stiffness, stable)
    if wrong:
        yield warning(wrong)


def on_start(virtual: Constrained, examined: Examined) -> Iterable[Finding]:
    """A warning if a test that begins displaced does not begin with the force under which the specimen is there."""
    target, q = examined.rehearsal.vector("target"), virtual.initial_displacement
    if target is None or q is None or not len(target):
        return
    first, stands = target[0], examined.definition.rig.rest_command(virtual.constraint @ q)
    if np.all(np.abs(first - stands) <= NEAR * np.abs(stands).max()):
        return
    asked, under = (", ".join(units.text(float(f), "N", digits=4) for f in force) for force in (first, stands))
    yield warning(
        f"the test starts with the interface displaced, and its first exchange commands {asked} while the "
        f"specimen is loaded with {under}: the assumed stiffness is not exact; start at rest, or accept the transient"
    )


def on_method(virtual: Constrained, answer: StaticAnswer, examined: Examined) -> Iterable[Finding]:
    """The method that suits the test best, by a linear forecast."""
    run = examined.rehearsal
    moved = run.vector("virtual.interface")
    amplitude = 0.0 if moved is None else float(np.max(np.abs(moved[np.isfinite(moved)]), initial=0.0))
    if amplitude == 0.0 or run.outcome != "completed":  # nothing moved, or nothing to go by
        return
    forecasts = examined.force_methods(virtual, answer.stiffness, answer.noise, amplitude)
    defined = next(forecast for forecast in forecasts if forecast.name.startswith("as defined"))
    best = next(forecast for forecast in forecasts if forecast is not defined)
    beside = ""
    if answer.softer:
        beside = "; these figures do not include the compliance of the transfer system"
    if not best.stable or defined.error <= CALLED_BETTER * best.error:
        yield note(f"method {defined.summary()}; no other method is expected to be better{beside}")
        return
    reckoned = best.method.reckoned_stiffness
    given = "" if reckoned is None or reckoned.size > 1 else f" with stiffness {units.text(reckoned.item(), 'N/m')}"
    yield note(f"recommended method{given}: {best.summary()}; {defined.summary()}{beside}")
