"""The plan of a campaign: which numbers of a definition vary, over which values, and what is kept of each point.

    kind = "grid"                                   # every combination; or "list", or "latin hypercube"
    scores = ["peak measured.displacement", "rms gap", "limits used"]
    minimise = "peak measured.displacement"
    check = false                                   # true: the verdict of `halfreal check` at every point

    [vary]
    "rig.actuator.delay" = { low = "5 ms", high = "12 ms", count = 8 }
    "rig.specimen.stiffness" = { low = "1 kN/m", high = "10 kN/m", count = 5, scale = "log" }
    "coupling.order" = [1, 2, 3]

A grid takes ranges with a ``count`` and lists; the points of a "list" are the entries of lists of equal length, side by
side; a Latin hypercube (``samples``, ``seed``) takes ranges.  Which unit a quantity must have depends on its place, as
with what is uncertain, so that values are read against the definition (``lay_out``).
"""

from __future__ import annotations

import difflib
import itertools
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from .. import units
from ..definition.definition import Definition
from ..definition.faults import DefinitionError, Fault, key_path
from ..definition.load import read
from ..definition.locate import lines_of, nearest
from ..definition.paths import slot
from ..definition.uncertainty import Quantity, quantities
from ..settings import Number, Settings, fault, shown
from ..studies.uncertainty.variation import Variation

MOST_POINTS = 1_000_000
SCORES = ("peak measured.displacement", "peak measured.force", "rms gap", "synchronisation nrmse", "limits used")
"""Kept if the plan names none."""
RANGE = "{ low = …, high = … }"
FORMS = {
    "grid": f"write a list, or {RANGE[:-2]}, count = … }}",
    "list": "write a list",
    "latin hypercube": f"write {RANGE}",
}
BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")
"""Pydantic's faults of a whole number that is out of its bounds."""
Wrong = list[tuple[tuple[str | int, ...], str]]


class Plan(Settings):
    """A campaign: how points are chosen, what varies, and what is kept of each point."""

    title: str = ""
    kind: Literal["grid", "list", "latin hypercube"] = "grid"
    vary: dict[str, Any]
    """Ranges or lists by the place of a number; quantities are texts with a unit, or from Python floats in SI units."""
    samples: Annotated[int, Field(ge=1, le=MOST_POINTS)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    scores: Annotated[tuple[str, ...], Field(min_length=1)] = SCORES
    minimise: str | None = None
    maximise: str | None = None
    """The score by which points are best; the least of the first one if neither is given."""
    check: bool = True
    """Whether every point is judged as by ``halfreal check``."""
    keep_runs: bool = False
    """Whether the run file of every point is kept."""
    from_time: Annotated[float, Number("s", least=0)] = 0.0
    """Scores count from here on, to leave out a start-up."""

    @field_validator("vary")
    @classmethod
    def _something_varies(cls, vary: dict[str, Any]) -> dict[str, Any]:
        if not vary:
            raise fault('nothing varies; name a number, e.g. "rig.actuator.delay" = ["8 ms", "9 ms"]')
        return {place: entry.tolist() if isinstance(entry, np.ndarray) else entry for place, entry in vary.items()}

    @field_validator("samples")
    @classmethod
    def _only_sampled(cls, samples: int | None, info: ValidationInfo) -> int | None:
        if samples is not None and info.data.get("kind", "latin hypercube") != "latin hypercube":
            raise fault(f"a {info.data['kind']} has as many points as its values define; omit it")
        return samples

    @field_validator("scores")
    @classmethod
    def _each_once(cls, scores: tuple[str, ...]) -> tuple[str, ...]:
        twice = [name for i, name in enumerate(scores) if name in scores[:i]]
        if twice:
            raise fault(f"'{twice[0]}' is listed twice; list each score once")
        return scores

    @field_validator("maximise")
    @classmethod
    def _one_goal(cls, maximise: str | None, info: ValidationInfo) -> str | None:
        if maximise is not None and info.data.get("minimise") is not None:
            raise fault("both minimise and maximise are given; keep one")
        return maximise

    @property
    def goal(self) -> tuple[str, bool]:
        """The score by which points are best, and whether more is better."""
        if self.maximise is not None:
            return self.maximise, True
        return self.minimise or self.scores[0], False


@dataclass(frozen=True)
class Varied:
    """A number that varies."""

    place: str
    unit: str
    value: float
    """In the definition, SI."""
    log: bool = False
    """Whether it is spread over a logarithmic scale."""


@dataclass(frozen=True)
class Design:
    """The points of a campaign: what varies, and its values [SI], one row for each point."""

    parameters: tuple[Varied, ...]
    values: np.ndarray

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(parameter.place for parameter in self.parameters)


@dataclass(frozen=True)
class _Axis:
    """What the plan says of a number: its values, or for a Latin hypercube its two ends."""

    values: np.ndarray
    log: bool = False


def read_plan(path: Path | str, definition: Definition) -> tuple[Plan, Design]:
    """A plan from its TOML file, and its points; ``DefinitionError`` lists all its errors with their lines."""
    plan, text = read(path, Plan)
    lines = lines_of(text)
    given = tomllib.loads(text).get("vary", {})
    design = lay_out(
        plan.unchecked_copy({"vary": given}),
        definition,
        lambda place: f"{Path(path).name}:{nearest(lines, place)}",
        need_units=True,
    )
    return plan, design


def lay_out(
    plan: Plan,
    definition: Definition,
    where: Callable[[tuple[str | int, ...]], str] = lambda place: "",
    need_units: bool = False,
) -> Design:
    """The points of a plan; every place must be in the definition, every value fit it."""
    there = quantities({name: getattr(definition, name) for name in type(definition).model_fields})
    data = definition.model_dump(mode="json")
    wrong: Wrong = []
    axes: dict[str, _Axis] = {}
    for place, entry in plan.vary.items():
        if place not in there:
            near = difflib.get_close_matches(place, there, n=3, cutoff=0.6)
            meant = " or ".join(f"'{name}'" for name in near)
            hint = f"did you mean {meant}?" if near else "write keys joined by dots, as in 'rig.actuator.delay'"
            wrong.append((("vary", place), f"is not a number of this definition; {hint}"))
            continue
        holder, key = slot(definition, data, place)
        axis, faulty = _axis(plan.kind, entry, there[place], isinstance(holder[key], int), need_units)
        wrong += [(("vary", place, *at), message) for at, message in faulty]
        if axis is not None and not faulty:
            axes[place] = axis
            if isinstance(holder[key], int):
                wrong += _whole_bounds(definition, place, axis)
    wrong += _together(plan, axes) if not wrong else []
    if wrong:
        raise DefinitionError([Fault(where(place), key_path(place), message) for place, message in wrong])
    whole = [isinstance(holder[key], int) for holder, key in (slot(definition, data, place) for place in axes)]
    values = _points(plan, list(axes.values()))
    values[:, whole] = np.round(values[:, whole])
    parameters = tuple(
        Varied(place, there[place].number.unit, there[place].value, axis.log) for place, axis in axes.items()
    )
    return Design(parameters, values)


# --- one number -------------------------------------------------------------------------------------------------------


def _axis(kind: str, entry: Any, there: Quantity, whole: bool, need_units: bool) -> tuple[_Axis | None, Wrong]:
    wrong: Wrong = []

    def number(value: Any, *at: str | int) -> float:
        found, told = _number(value, there, need_units)
        if not told and whole and kind != "latin hypercube" and found != round(found):
            told = f"{shown(value)} where a whole number is expected"
        if told:
            wrong.append((at, told))
        return found

    if isinstance(entry, list | tuple) and kind != "latin hypercube":
        if not len(entry):
            return None, [((), "the list is empty; give it a value")]
        return _Axis(np.array([number(value, i) for i, value in enumerate(entry)])), wrong
    if not isinstance(entry, Mapping) or kind == "list":
        return None, [((), f"{shown(entry)} in a {kind}; {FORMS[kind]}")]
    allowed = {"low", "high", "scale"} | ({"count"} if kind == "grid" else set())
    needed = allowed - {"scale"}
    if not needed <= set(entry) <= allowed:
        return None, [((), f"{' and '.join(map(str, entry)) or 'nothing'} given for a {kind}; {FORMS[kind]}")]
    low, high = number(entry["low"], "low"), number(entry["high"], "high")
    log = entry.get("scale", "linear") == "log"
    if entry.get("scale", "linear") not in ("linear", "log"):
        wrong.append((("scale",), f"{shown(entry['scale'])} is not allowed; write 'linear' or 'log'"))
    count = entry.get("count", 2)
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST_POINTS:
        wrong.append((("count",), f"{shown(count)} where a whole number from 2 to {MOST_POINTS:,} is expected"))
    if not wrong and not low < high:
        told = f"{shown(entry['high'])} is not above low, {units.text(low, there.number.unit)}"
        wrong.append((("high",), f"{told}; high must be above low"))
    if not wrong and log and low <= 0.0:
        wrong.append((("low",), f"{shown(entry['low'])} must be greater than 0 on a logarithmic scale"))
    if wrong:
        return None, wrong
    values = np.geomspace(low, high, count) if log else np.linspace(low, high, count)
    if whole and kind == "grid" and np.any(np.abs(values - np.round(values)) > 1e-9):
        told = f"{count} values from {low:g} to {high:g} are not whole numbers; give a list"
        return None, [(("count",), told)]
    return _Axis(values, log), []


def _number(value: Any, there: Quantity, need_units: bool) -> tuple[float, str]:
    """A value in SI units, and what is wrong with it."""
    limits = there.number
    if isinstance(value, str):
        try:
            number = units.parse(value, limits.unit)
        except units.UnitError as error:
            return np.nan, str(error)
    elif isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return np.nan, f"{shown(value)} where a quantity{limits.suffix} is expected; write {limits.example}"
    elif need_units and limits.unit != "1":
        unit = limits.unit
        return np.nan, f"{value} has no unit where {unit} is expected; write '{value} {unit}' if that is meant"
    else:
        number = float(value)
    if not np.isfinite(number):
        return np.nan, f"{shown(value)} is not finite; give a finite number{limits.suffix}"
    bounds = Number(limits.unit, limits.above, limits.least, limits.most)  # of a vector's or a matrix's entry too
    return number, bounds.out_of_bounds(number, shown(value)) or ""


def _whole_bounds(definition: Definition, place: str, axis: _Axis) -> Wrong:
    """What is wrong with the ends of a whole number's values: its bounds are in the definition's types.

    What does not fit another number is a matter of the points: one that is not valid is recorded as failed.
    """
    variation = Variation(definition, [place])
    for value in (axis.values.min(), axis.values.max()):
        try:
            variation.at([value])
        except DefinitionError as error:
            for one in error.faults:
                if one.path == place and one.code in BOUNDS:
                    return [(("vary", place), one.message)]
    return []


# --- all of them ------------------------------------------------------------------------------------------------------


def _together(plan: Plan, axes: dict[str, _Axis]) -> Wrong:
    if plan.kind == "latin hypercube":
        return [] if plan.samples else [(("samples",), "is missing; give the number of points, e.g. samples = 1000")]
    lengths = {place: len(axis.values) for place, axis in axes.items()}
    if plan.kind == "list":
        (first, length), *others = lengths.items()
        return [
            (("vary", place), f"{count} values where '{first}' has {length}; lists must have equal lengths")
            for place, count in others
            if count != length
        ]
    points = float(np.prod([float(count) for count in lengths.values()]))
    if points > MOST_POINTS:
        return [(("vary",), f"{points:.3g} points, more than {MOST_POINTS:,}; use fewer values or a Latin hypercube")]
    return []


def _points(plan: Plan, axes: list[_Axis]) -> np.ndarray:
    if plan.kind == "list":
        return np.column_stack([axis.values for axis in axes])
    if plan.kind == "grid":
        return np.array(list(itertools.product(*(axis.values for axis in axes))))
    from scipy.stats import qmc

    drawn = qmc.LatinHypercube(len(axes), seed=plan.seed).random(plan.samples)
    columns = []
    for i, axis in enumerate(axes):
        low, high = axis.values[0], axis.values[-1]
        part = drawn[:, i]
        columns.append(low * (high / low) ** part if axis.log else low + (high - low) * part)
    return np.column_stack(columns)
