"""The look of all figures.

matplotlib is imported when the first figure is drawn, never on import: analyses whose results could be plotted, and
mostly are not, must not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
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
        import matplotlib

        with matplotlib.rc_context(RULES):
            return plot(*args, **kwargs)

    return drawn


def new_figure(width: float, height: float) -> Figure:
    """An empty figure [inches], free of any window; a notebook shows it as a picture."""
    from matplotlib.figure import Figure

    class Picture(Figure):
        def _repr_png_(self) -> bytes:
            from io import BytesIO

            file = BytesIO()
            self.savefig(file, format="png")
            return file.getvalue()

    return Picture(figsize=(width, height), layout="constrained")
