"""The deformed structure as a moving picture: a GIF, drawn by matplotlib and written by Pillow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ..errors import HalfrealError
from ..records.whole_file import whole_file
from ..runs.replay import Replay
from . import sketch as drawn
from .structure_plots import PLASTIC, yielded
from .style import MEASURED, QUIET, TARGET, new_figure, styled

FRAMES = 200
"""Most pictures."""
RATE = 20.0
"""Pictures a second of the film; longer tests are shown faster."""
DPI = 80


@styled
def animate(replay: Replay, path: str | Path, overwrite: bool = False) -> str:
    """Write the film; return what it shows."""
    from PIL import Image

    if len(replay.time) < 2:
        raise HalfrealError("the record has too few samples for an animation")
    inside, sketch = replay.inside, replay.inside.sketch
    rows = np.unique(np.linspace(0, len(replay.time) - 1, FRAMES).round().astype(int))
    straight = replay.moved.size.reshape(-1, len(inside.directions))[:, : sketch.dimensions]
    scale = _round(drawn.DEFORMED * drawn.size_of(sketch) / max(float(straight.max()), 1e-300))
    span = float(replay.time[-1] - replay.time[0])
    faster = span / (len(rows) / RATE)
    wide, tall = drawn.room(sketch)
    figure = new_figure(wide - 1.0, tall + 0.3)
    canvas = FigureCanvasAgg(figure)
    figure.set_dpi(DPI)
    axes = figure.subplots()
    turned = np.flatnonzero(yielded(replay))
    stiffness = np.array([spot.stiffness for spot in sketch.spots])
    drawn.members(axes, sketch, color=QUIET, linewidth=0.6)
    drawn.supports(axes, sketch)
    moving = drawn.members(axes, sketch, color=TARGET)
    dots = axes.scatter(*np.zeros((2, len(turned))), color=MEASURED, alpha=0.8, linewidths=0, zorder=5)
    drawn.frame_of(axes, sketch)
    axes.set_title(_title(replay.time[0], scale))
    canvas.draw()
    figure.set_layout_engine("none")  # what is laid out stays where it is
    pictures = []
    for row in rows:
        nodes = drawn.moved(inside, replay.motion[row], scale)
        for lines, look in moving:
            lines.set_segments(drawn.segments(sketch, look, nodes))
        if len(turned):
            plastic = np.abs(replay.strain[row] - replay.stress[row] / stiffness)[turned]
            dots.set_offsets(drawn.spots_at(sketch, nodes)[turned])
            dots.set_sizes(4 + 60 * np.clip(plastic / replay.plastic[turned], 0.0, 1.0))
        axes.set_title(_title(replay.time[row], scale))
        canvas.draw()
        pictures.append(Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").quantize(32))
    with whole_file(path, overwrite) as temporary:
        pictures[0].save(
            temporary, format="GIF", save_all=True, append_images=pictures[1:], duration=round(1e3 / RATE), loop=0
        )
    of = " and ".join(dict.fromkeys(f"plastic {spot.of}" for spot in sketch.spots if spot.of in PLASTIC))
    return f"{len(rows)} frames of {span:g} s, played {faster:.3g} times as fast; displacements × {scale:g}" + (
        f", dots: {of}" if len(turned) else ""
    )


def _title(time: float, scale: float) -> str:
    return f"{time:6.2f} s, displacements × {scale:g}"


def _round(value: float) -> float:
    """1, 2 or 5 times a power of ten, not above ``value``."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(step for step in (1.0, 2.0, 5.0) if step <= value / power + 1e-9) * power)
