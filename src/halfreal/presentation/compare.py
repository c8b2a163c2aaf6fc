"""Two runs side by side, such as a run and its rehearsal: figures of both, and how far they agree.

The first is looked at, the second is what it is held against: every difference is first − second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..runs.columns import computed, finite_rows, part, pieces
from ..runs.error_measures import frequency_evaluation, nrmse
from ..runs.run import Run
from . import measures as errors
from .common_times import common, taken
from .series import judged_rows, largest, peak, rows_in_test
from .wording import NONE, in_time, in_unit, percent

COMPARED = {
    "target": "target",
    "command": "command",
    "measured.displacement": "measured displacement",
    "measured.force": "measured force",
    "virtual.interface": "virtual interface",
}
"""Signals that are compared sample by sample: channels and names."""
KINDS = {"m": "displacements", "rad": "rotations", "N": "forces", "N m": "moments"}


@dataclass(frozen=True)
class ComparedRow:
    """A figure of both, as text, with the difference first − second; a dash where there is none."""

    name: str
    first: str
    second: str
    difference: str = NONE


@dataclass(frozen=True)
class Agreement:
    """A signal of the first against the same of the second, over the samples at which both were in their test."""

    signal: str
    dof: int
    nrmse: float
    largest: str
    amplitude: float
    delay: float
    samples: int
    identical: bool


def labels(first: Run, second: Run) -> tuple[str, str]:
    """What to call the two."""
    same = first.kind == second.kind
    return (f"{first.kind} A", f"{second.kind} B") if same else (first.kind, second.kind)


def figures(first: Run, second: Run, from_time: float = 0.0) -> list[ComparedRow]:
    """Outcome, peaks and error measures of both."""
    rows = [ComparedRow("Outcome", first.outcome, second.outcome)]
    if first.stability is not None or second.stability is not None:
        radii = [np.nan if run.stability is None else run.stability.spectral_radius for run in (first, second)]
        rows.append(
            _row(
                "Spectral radius", radii, lambda value: f"{value:.6f}", lambda value: f"{value:+.6f}".replace("-", "−")
            )
        )
    for channel, name in COMPARED.items():
        peaks = [largest(run, channel, rows_in_test(run)) for run in (first, second)]
        units = dict.fromkeys((*peaks[0], *peaks[1]))
        for unit in units:
            found = [one.get(unit, np.nan) for one in peaks]
            told = f"Peak {name}"
            if unit in ("rad", "N m"):
                told = told.replace("displacement", "rotation").replace("force", "moment")
            if len(units) > 1 and not name.startswith("measured"):
                told += f" ({KINDS.get(unit, unit)})"
            rows.append(_row(told, found, lambda value, unit=unit: in_unit(value, unit)))  # type: ignore[misc]
    of = [{(row.comparison, row.dof): row for row in errors.measures(run, from_time)} for run in (first, second)]
    for key in dict.fromkeys((*of[0], *of[1])):
        comparison, dof = key
        names = max(first.interface.names, second.interface.names, key=len)
        axis = "" if len(names) == 1 else f" {names[dof - 1]}"
        modelled = comparison == "fidelity" and (first.rests_on_a_model or second.rests_on_a_model)
        what = f"{comparison.capitalize()}{' (model)' if modelled else ''}{axis}"
        for name, attribute, shown, change in MEASURES:
            values = [getattr(one[key], attribute) if key in one else np.nan for one in of]
            if np.isfinite(values).any():
                rows.append(_row(f"{what}: {name}", values, shown, change))
    return rows


def limits(first: Run, second: Run) -> list[ComparedRow]:
    """Limits used of both: largest value of each limited signal as a share of its trip limit."""
    return [
        _row(name, [run.limits_used.get(name, np.nan) for run in (first, second)], percent, points)
        for name in dict.fromkeys((*first.limits_used, *second.limits_used))
    ]


def agreements(first: Run, second: Run, from_time: float = 0.0) -> list[Agreement]:
    """How far each signal of the first is that of the second, while both were in their test."""
    ours, theirs = common(first, second, judged_rows(first, from_time), judged_rows(second, from_time))
    times, found = taken(first.time, ours), []
    for channel, name in COMPARED.items():
        if not (first.has(channel) and second.has(channel) and len(times)):
            continue
        for k in range(min(len(first.along(channel)), len(second.along(channel)))):
            x, r = taken(first.along_axis(channel, k), ours), taken(second.along_axis(channel, k), theirs)
            end = finite_rows(x, r)
            x, r = part(x, slice(end)), part(r, slice(end))
            step = (times[end - 1] - times[0]) / (end - 1) if end > 1 else first.step
            with np.errstate(over="ignore", invalid="ignore"):
                index = frequency_evaluation(r, x, step)
                found.append(
                    Agreement(
                        signal=name,
                        dof=k + 1,
                        nrmse=nrmse(r, x),
                        largest=in_unit(peak(computed(np.subtract, x, r)), first.units(channel)[k]),
                        amplitude=index.amplitude,
                        delay=index.delay,
                        samples=end,
                        identical=all(np.array_equal(one, other) for one, other in pieces(x, r)),
                    )
                )
    return found


@dataclass(frozen=True)
class BothEvents:
    """An event, with the times [s] at which it happened in each of the two; None where it did not."""

    channel: str
    text: str
    first: float | None
    second: float | None

    @property
    def time(self) -> float:
        """When it is marked in plots."""
        found = self.second if self.first is None else self.first
        assert found is not None
        return found


def events(first: Run, second: Run) -> list[BothEvents]:
    """Events of both in order; the n-th of a kind in one is the n-th of that kind in the other."""
    times: dict[tuple[str, str, int], list[float | None]] = {}
    for side, run in enumerate((first, second)):
        counted: dict[tuple[str, str], int] = {}
        for event in run.events:
            kind = (event.channel, event.text)
            counted[kind] = counted.get(kind, 0) + 1
            times.setdefault((*kind, counted[kind]), [None, None])[side] = event.time
    rows = [BothEvents(channel, text, *found) for (channel, text, _), found in times.items()]
    return sorted(rows, key=lambda row: row.time)


def points(value: float) -> str:
    """A difference of two shares, in percentage points."""
    return percent(value, sign=True).replace("%", "pp")


MEASURES: tuple[tuple[str, str, Callable[[float], str], Callable[[float], str]], ...] = (
    ("NRMSE", "nrmse", percent, points),
    ("peak error", "peak_error", lambda value: percent(value, sign=True), points),
    ("largest error", "largest_error", percent, points),
    ("amplitude error", "amplitude", lambda value: percent(value - 1, sign=True), points),
    ("delay", "delay", in_time, lambda value: _signed(in_time(value), value)),
    ("energy error, whole test", "energy_error", lambda value: percent(value, sign=True), points),
)
"""Error measures: name, attribute, and how value and difference are written."""


def _row(
    name: str,
    values: list[float],
    shown: Callable[[float], str],
    change: Callable[[float], str] | None = None,
) -> ComparedRow:
    here, there = (shown(value) if np.isfinite(value) else NONE for value in values)
    if not np.isfinite(values).all():
        return ComparedRow(name, here, there)
    difference = values[0] - values[1]
    if difference == 0:
        return ComparedRow(name, here, there, "0")
    return ComparedRow(name, here, there, change(difference) if change else _signed(shown(difference), difference))


def _signed(text: str, value: float) -> str:
    return text if value < 0 or text.startswith(("<", NONE)) else f"+{text}"
