"""Two runs as one HTML page: which is which, how their definitions differ, figures, plots and events of both."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ..citations import paper
from ..records.run_file import definition_hash
from ..runs.run import Run
from . import compare, compare_plots, realtime_plots, series
from . import measures as errors
from .definitions import differences
from .page import PACE, Pictures, fill
from .phases import phases
from .provenance import about, of_run
from .realtime import real_time
from .specimen import headline
from .verdict import verdict
from .wording import NONE

DIFFERENCES_SHOWN = 40
EVENTS_SHOWN = 100


def render(first: Run, second: Run, from_time: float = 0.0) -> str:
    """The page's HTML; every difference is first − second."""
    runs = (first, second)
    apart = differences(first.definition, second.definition)
    happened = compare.events(first, second)
    keys = dict.fromkeys((*first.references, *second.references, *errors.REFERENCES))
    return fill(
        Path(__file__).with_name("compare.html.j2"),
        run=first,
        runs=runs,
        names=compare.labels(first, second),
        colors=(compare_plots.FIRST, compare_plots.SECOND),
        verdicts=[verdict(run) for run in runs],
        headlines=[headline(run) for run in runs],
        hashes=[definition_hash(run.definition) for run in runs],
        differences=apart[:DIFFERENCES_SHOWN],
        differences_in_all=len(apart),
        from_time=from_time,
        figures=compare.figures(first, second, from_time),
        agreements=compare.agreements(first, second, from_time),
        limits=compare.limits(first, second),
        pictures=pictures(first, second, from_time),
        both_phases=[phases(run) for run in runs],
        real_times=[real_time(run) for run in runs],
        events=happened[:EVENTS_SHOWN],
        events_in_all=len(happened),
        papers=[paper(key) for key in keys],
        provenance=provenance(first, second),
    )


def pictures(first: Run, second: Run, from_time: float) -> Pictures:
    """All plots the records have data for, by section."""
    made = Pictures("response", "specimen", "pace 0", "pace 1")
    here, there = compare.labels(first, second)
    for dof in (i + 1 for i in first.interface.commanded_at if i < len(second.interface)):
        of = series.of_axis(first, dof)
        made.add(
            "response",
            f"Thin: {here}; thick: {there}{of}. The difference is computed where both have a sample at the same time; "
            "dashed red: events; shaded: before and after the test.",
            partial(compare_plots.histories, first, second, dof),
        )
        made.add(
            "specimen",
            f"Hysteresis of the specimen{of}: side by side at the same scale, and overlaid.",
            partial(compare_plots.loops, first, second, dof, from_time),
        )
    made.add(
        "response",
        f"Requested responses of the virtual part. Thin: {here}; thick: {there}.",
        partial(compare_plots.responses, first, second),
    )
    for i, run in enumerate((first, second)):
        made.add(f"pace {i}", PACE, partial(realtime_plots.pace, run))
    return made


def provenance(first: Run, second: Run) -> list[tuple[str, str, str]]:
    """Where both come from, line by line."""
    rows: list[tuple[str, str, str]] = [("kind", first.kind, second.kind)]
    for here, there in (
        (dict(about(first)), dict(about(second))),
        (dict(of_run(first)), dict(of_run(second))),
        (first.versions, second.versions),
        (first.host, second.host),
    ):
        rows += [(key, str(here.get(key, NONE)), str(there.get(key, NONE))) for key in dict.fromkeys((*here, *there))]
    return rows
