"""A check as a picture: the rehearsal on its way, and how much of each limit it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...figures import BAD, GOOD, QUIET, new_figure, styled
from ...runs.overview import draw_channels, usual_channels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .check import Check


@styled
def draw(check: Check) -> Figure:
    """Motion and force of the interface above, limits used below."""
    run = check.rehearsal
    used = sorted(run.limits_used.items(), key=lambda item: item[1])
    panels = usual_channels(run)
    heights = [1.9] * len(panels) + ([0.6 + 0.22 * len(used)] if used else [])
    figure = new_figure(8.0, 0.8 + sum(heights))
    rows = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    draw_channels(run, list(rows), panels)
    rows[0].set_title(f"{check.verdict}: {run.title}")
    if used:
        shares = 100.0 * np.array([share for _, share in used])
        colours = [BAD if share >= 100.0 else GOOD for share in shares]
        rows[-1].barh([name for name, _ in used], np.minimum(shares, 150.0), color=colours)
        rows[-1].axvline(100.0, color=QUIET, linestyle="--")
        rows[-1].set(xlabel="used share of the trip limit [%]")
    return figure
