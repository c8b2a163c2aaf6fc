"""Making pages: plots with captions and HTML from templates.

A page stands alone: no scripts, nothing fetched, plots inside; it prints, and it opens anywhere and years later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from . import plots
from .style import as_svg
from .wording import date, in_time, number, percent, sentence

PACE = "Distribution of latency and execution time of the ticks; both scales are logarithmic."
"""Caption."""


@dataclass(frozen=True)
class Picture:
    """A plot with its caption, ready for the page."""

    svg: str
    caption: str


class Pictures(dict[str, list[Picture]]):
    """The plots of a page, by section."""

    def __init__(self, *sections: str) -> None:
        super().__init__({section: [] for section in sections})

    def add(self, section: str, caption: str, plot: Callable[[], Figure]) -> None:
        """Add a plot, unless the run has no data for it."""
        try:
            figure = plot()
        except plots.NothingToPlotError:
            return
        count = sum(len(found) for found in self.values())
        self[section].append(Picture(as_svg(figure, caption, f"p{count}"), caption))


def fill(template: Path, **content: Any) -> str:
    """The HTML of a page from its template, which may build on those of this room."""
    import jinja2

    # Titles, reasons and channel names are other people's text: everything is escaped unless it is our own SVG.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([template.parent, Path(__file__).parent]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "number": number,
        "in_time": in_time,
        "sentence": sentence,
        "date": date,
    }
    return environment.get_template(template.name).render(**content)
