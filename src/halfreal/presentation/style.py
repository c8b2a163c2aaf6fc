"""The look of a report's plots, and their way into a page."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from ..figures import BAD, ERROR, GOOD, MEASURED, PURE_DELAY, QUIET, REFERENCE, RULES, TARGET, new_figure, styled

__all__ = [
    "BAD",
    "CHECK",
    "ERROR",
    "GOOD",
    "MEASURED",
    "PURE_DELAY",
    "QUIET",
    "REFERENCE",
    "RULES",
    "TARGET",
    "as_png",
    "as_svg",
    "mark_events",
    "new_figure",
    "styled",
]

CHECK = "#9a6700"
"""Neither good nor bad."""


def mark_events(axes: Axes, times: Mapping[int, float]) -> None:
    """Vertical lines at events [s], with their numbers in the report's list while they are few."""
    low, high = axes.get_xlim()
    for number, time in times.items():
        if low <= time <= high:
            axes.axvline(time, color=BAD, linewidth=0.8, linestyle=(0, (4, 2)), alpha=0.8)
            if len(times) <= 9:
                at_end = time > low + 0.97 * (high - low)
                axes.annotate(
                    str(number),
                    xy=(time, 1.0),
                    xycoords=("data", "axes fraction"),
                    xytext=(-3, -1) if at_end else (3, -1),
                    textcoords="offset points",
                    ha="right" if at_end else "left",
                    va="top",
                    color=BAD,
                    fontsize=7.5,
                    fontweight="bold",
                )
    axes.set_xlim(low, high)


def as_svg(figure: Figure, label: str, prefix: str) -> str:
    """A figure as SVG to stand inside a page: it fits its box and its ids, with ``prefix``, clash with no other's."""
    out = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": prefix}):
        dpi = figure.dpi
        _lay_out(figure)
        figure.dpi = dpi  # of what is drawn as an image; measuring texts has changed it
        # not savefig, which draws a figure that has been arranged once more, for nothing
        FigureCanvasSVG(figure).print_svg(out, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<(metadata|style)\b.*?</\1>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'\b(id=")([^"]+")', rf"\1{prefix}-\2", text)
    text = re.sub(r'(url\(#|href="#)', rf"\1{prefix}-", text)
    text = text.replace("'DejaVu Sans'", "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif")
    head, rest = text.split(">", 1)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    return f'{head} class="plot" role="img" aria-label={quoteattr(label)}>{rest}'


def _lay_out(figure: Figure) -> None:
    """Arrange a figure once: saving it would draw it a first time for that, and then once more."""
    engine = figure.get_layout_engine()
    if engine is not None:
        FigureCanvasSVG(figure)  # whose measures of texts count
        engine.execute(figure)
        figure.set_layout_engine("none")


def as_png(figure: Figure, dpi: float = 160) -> bytes:
    """A figure as PNG."""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=dpi)
    return out.getvalue()
