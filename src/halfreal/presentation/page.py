"""Making pages: plots with captions and HTML from templates.

A page stands alone: no scripts, nothing fetched, plots inside; it prints, and it opens anywhere and years later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ..two_processes import results
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
        self._asked = 0
        self._waiting: list[tuple[str, str, Callable[[], str | None]]] = []

    def add(self, section: str, caption: str, plot: Callable[[], Figure]) -> None:
        """Add a plot, unless the run has no data for it."""
        self.add_later(section, caption, plot)
        self.draw()

    def add_later(self, section: str, caption: str, plot: Callable[[], Figure]) -> None:
        """Add a plot when ``draw`` is called."""
        self._waiting.append((section, caption, partial(_as_svg, plot, caption, f"p{self._asked}")))
        self._asked += 1

    def draw(self) -> None:
        """Draw all plots that are to be added, in two processes if possible."""
        waiting, self._waiting = self._waiting, []
        for (section, caption, _), svg in zip(waiting, results([job for *_, job in waiting]), strict=True):
            if svg is not None:
                self[section].append(Picture(svg, caption))


def _as_svg(plot: Callable[[], Figure], caption: str, prefix: str) -> str | None:
    """The plot as SVG; None if there is nothing to plot."""
    try:
        return as_svg(plot(), caption, prefix)
    except plots.NothingToPlotError:
        return None


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
