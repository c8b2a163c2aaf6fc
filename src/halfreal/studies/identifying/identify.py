"""What records show of a definition's rig, and the definition with the rig identified from them.

On each axis the frequency response, a rational fit and a delay (``identification/rig_response.py``), for any kind of
rig; and the definition's own parameters of it with intervals (``identification/rig_parameters.py``), which are written
into the definition with an uncertainty for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ... import units
from ...definition.definition import Definition
from ...identification.frf import Estimate
from ...identification.played_rig import measured_by_model
from ...identification.rig_parameters import Fitted, RigFit, fit_rig
from ...identification.rig_record import NotIdentifiableError, RigRecord, rig_record
from ...identification.rig_response import RigResponse, rig_response
from ...identification.sought import ENTRY, sought_in
from ...runs.run import Run, Signal

Wanted = tuple[str, float | None, float | None]
"""A number of the rig by its place, and its bounds or None."""
MORE_THAN_NOISE = 2.0
"""Times the noise of the sensors that may be left before a rig counts as another than the definition describes."""
MATTERS = 0.01
"""Share of what was measured, in the same way."""


@dataclass(frozen=True)
class OnAxis:
    """A rig on one axis as it was measured, and as the fitted definition has it."""

    response: RigResponse
    model: Estimate | None
    """The response of the definition's rig with the parameters found, computed from the same commands in the same
    way."""
    record: str


@dataclass(frozen=True)
class Identified:
    """What records show of a rig."""

    axes: tuple[OnAxis, ...]
    fit: RigFit | None
    """None where the rig has no parameters that are sought."""
    definition: Definition | None
    """With what was found and its uncertainty; None if no parameter was determined."""
    notes: tuple[str, ...]


def identify(
    definition: Definition,
    runs: Sequence[tuple[str, Run]],
    *,
    wanted: Sequence[Wanted] = (),
    on_progress: Callable[[str], None] = lambda text: None,
) -> Identified:
    """Identify the rig of a definition from recorded runs.

    Parameters
    ----------
    definition
        The test.
    runs
        Pairs of a name and a run on this rig.
    wanted
        Parameters to identify; default: those of actuator and specimen.
    on_progress
        Callback that receives progress messages.

    Returns
    -------
    Identified
        Parameters with confidence intervals, frequency responses, and the definition with them.
    """
    records = [rig_record(run, definition, name) for name, run in runs]
    notes = [note for one in records for note in one.notes]
    sought = sought_in(definition, records, wanted)
    fit = None
    if sought:
        fit = fit_rig(definition.unchecked_copy({"uncertainty": {}}), records, sought, on_progress)
    else:
        notes.append(
            f"a rig of kind '{definition.rig.kind}' has no default parameters to fit; name them, e.g. --parameter "
            "'rig.sensors.force.delay'"
        )
    axes = []
    for axis in definition.interface.commanded_at:
        name = definition.interface.names[axis]
        record = max(records, key=lambda one: float(np.std(one.commands[one.kept, one.run.column("command", axis)])))
        on_progress(f"frequency response of axis {name}")
        try:
            response = rig_response(record, axis)
        except NotIdentifiableError as error:
            notes.append(f"axis {name}: {error}")
            continue
        model = None if fit is None else _modelled(fit.definition, record, axis)
        axes.append(OnAxis(response, model, record.name))
        notes += [f"axis {name}: {note}" if len(definition.interface) > 1 else note for note in response.notes]
    if fit is not None:
        notes += _of_fit(definition, fit)
    found = None if fit is None or not any(one.determined for one in fit.parameters) else _written(definition, fit)
    return Identified(tuple(axes), fit, found, tuple(notes))


def _modelled(definition: Definition, record: RigRecord, axis: int) -> Estimate | None:
    """The response of a definition's rig under recorded commands."""
    measured = measured_by_model(definition, record)[:, axis]
    name = record.run.interface.channels("measured.displacement")[axis]
    whole = record.run.signals[name].values.copy()
    whole[: len(measured)] = measured
    signals = {**record.run.signals, name: Signal(record.run.signals[name].unit, whole)}
    displacement = record.displacement.copy()
    displacement[:, axis] = measured
    try:
        return rig_response(
            replace(record, run=replace(record.run, signals=signals), displacement=displacement), axis, fitted=False
        ).lines
    except NotIdentifiableError:
        return None


def _of_fit(definition: Definition, fit: RigFit) -> list[str]:
    """What the fit leaves, where that is more than noise, and what depends on each other."""
    notes, axes, sensors = [], definition.interface, definition.rig.known_sensors
    noise = np.zeros(2 * len(axes)) if sensors is None else sensors.scatter(axes, 1.0)
    names = [f"{what}{_on(axes, i)}" for what in ("displacement", "force") for i in range(len(axes))]
    of = [*axes.units("m"), *axes.units("N")]
    for i, name in enumerate(names):
        if fit.share[i] > MATTERS and fit.left[i] > MORE_THAN_NOISE * noise[i]:
            beside = f"its sensor's noise is {units.text(float(noise[i]), of[i])}" if noise[i] else "no noise is given"
            notes.append(
                f"{100 * fit.share[i]:.3g} % of the measured {name} is unexplained, "
                f"{units.text(float(fit.left[i]), of[i])} "
                f"rms; {beside} (rig.sensors): the rig has dynamics that [rig] does not describe, and the intervals "
                "do not include them"
            )
    if fit.depend:
        pairs = sorted(fit.depend, key=lambda one: -abs(one[2]))
        told = "; ".join(f"{one} and {other} ({size:.3f})" for one, other, size in pairs)
        notes.append(f"are correlated and only determined together: {told}; a wider band separates them better")
    return notes


def _on(axes: Any, i: int) -> str:
    return "" if len(axes) == 1 else f" on axis {axes.names[i]}"


def _written(definition: Definition, fit: RigFit) -> Definition:
    """The definition with what was found, and between which values it lies with 95 % confidence."""
    values: dict[str, Any] = {}
    uncertain = {place: one.given() for place, one in definition.uncertainty.items()}
    for one in fit.parameters:
        if not one.determined:
            continue
        value = units.parse(_text(one, one.value), one.sought.unit)
        values |= one.sought.at(value)
        for place in (one.sought.name, *one.sought.places):
            uncertain.pop(place, None)
        entry = ENTRY.match(one.sought.name)
        if entry is None or entry[2] == entry[3]:  # what lies off the diagonal must stay symmetric
            uncertain[one.sought.name] = {"low": _text(one, one.low), "high": _text(one, one.high)}
    return definition.unchecked_copy({"uncertainty": {}}).with_values(values).with_values({"uncertainty": uncertain})


def _text(one: Fitted, value: float) -> str:
    """A value with as many digits as its interval is worth."""
    size = max(abs(one.value), one.half_width, 1e-300)
    digits = 3 + max(0, math.ceil(math.log10(size / max(one.half_width, 1e-12 * size))))
    return units.text(value, one.sought.unit, digits=digits)
