"""Two runs side by side in the terminal."""

from __future__ import annotations

from typing import Any

from ..runs.run import Run
from .compare import figures, labels
from .definitions import differences

DIFFERENCES_SHOWN = 12


def table(first: Run, second: Run, from_time: float = 0.0) -> Any:
    """The figures of both as a table of rich."""
    from rich.table import Table

    made = Table("", *labels(first, second), "difference")
    for row in figures(first, second, from_time):
        made.add_row(row.name, row.first, row.second, row.difference)
    return made


def about_definitions(first: Run, second: Run) -> list[str]:
    """Lines that say whether the two had the same definition, and if not, what differs."""
    apart = differences(first.definition, second.definition)
    if not apart:
        return ["both runs had the same definition"]
    here, there = labels(first, second)
    lines = ["the runs had different definitions:"]
    lines += [
        f"  {one.place}: {one.here} in the {here}, {one.there} in the {there}" for one in apart[:DIFFERENCES_SHOWN]
    ]
    further = len(apart) - DIFFERENCES_SHOWN
    return [*lines, f"  and {further} further values"] if further > 0 else lines
