"""The look of all plots, and their way into a page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar
from xml.sax.saxutils import quoteattr

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Distinct for colour-blind readers and in grey print; the reference is also dashed.
TARGET, MEASURED, REFERENCE, ERROR = "#0b62a4", "#d1570b", "#23272e", "#7b3294"
GOOD, BAD, QUIET, PURE_DELAY = "#1a7f4b", "#b3261e", "#8a929e", "#69717c"

RULES: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.labelcolor": "#3a414b",
    "axes.edgecolor": "#aab2bd",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.xmargin": 0.01,
    "axes.formatter.useoffset": False,
    "axes.ymargin": 0.08,
    "grid.color": "#e4e8ed",
    "grid.linewidth": 0.7,
    "xtick.color": "#5b6470",
    "ytick.color": "#5b6470",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.2,
    "lines.solid_joinstyle": "round",
    "savefig.dpi": 160,
}

P = ParamSpec("P")
T = TypeVar("T")


def styled(plot: Callable[P, T]) -> Callable[P, T]:
    """Draw in the house style without touching matplotlib's settings outside."""

    @wraps(plot)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> T:
        with matplotlib.rc_context(RULES):
            return plot(*args, **kwargs)

    return drawn


def new_figure(width: float, height: float) -> Figure:
    """An empty figure [inches], free of any window."""
    return Figure(figsize=(width, height), layout="constrained")


def mark_events(axes: Axes, times: list[float]) -> None:
    """Vertical lines at events, numbered as in the report's list while they are few."""
    low, high = axes.get_xlim()
    for number, time in enumerate(times, start=1):
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
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<(metadata|style)\b.*?</\1>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'\b(id=")([^"]+")', rf"\1{prefix}-\2", text)
    text = re.sub(r'(url\(#|href="#)', rf"\1{prefix}-", text)
    text = text.replace("'DejaVu Sans'", "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif")
    head, rest = text.split(">", 1)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    return f'{head} class="plot" role="img" aria-label={quoteattr(label)}>{rest}'


def as_png(figure: Figure, dpi: float = 160) -> bytes:
    """A figure as PNG."""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=dpi)
    return out.getvalue()
