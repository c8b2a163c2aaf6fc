"""Sketches of what happens in a tick, for the pages on links: who sends what to whom, and when."""

from __future__ import annotations

from matplotlib.axes import Axes

from halfreal.figures import MEASURED, QUIET, REFERENCE, TARGET

LANES = {
    "udp": ("controller:\nhalfreal run", "rig:\nhalfreal serve,\nyour controller", "UDP datagram"),
    "shared memory": ("controller:\nhalfreal run", "rig process\non the same\ncomputer", "shared memory"),
    "serial": ("controller:\nhalfreal run", "microcontroller", "serial line"),
    "driver": ("loop:\nhalfreal run", "hardware", "driver"),
    "client": ("client:\nOpenSees", "halfreal site,\nloop and rig", "TCP"),
}
"""Who is at both ends, and what is between."""
SENT = {
    "client": ("displacement\nof the step", "measured force"),
    "driver": ("write():\nraw outputs", "read():\nraw inputs"),
}
OFFSET = {"driver": 0.02, "shared memory": 0.03}
"""How long a message takes, in ticks; a sketch."""


def sketch(axes: Axes, kind: str) -> None:
    """Two lanes with two ticks, and the messages between them."""
    upper, lower, between = LANES[kind]
    sent, returned = SENT.get(kind, ("command\nof tick k", "measurement\nfor tick k + 1"))
    travel = OFFSET.get(kind, 0.12)
    for y, name in ((1.0, upper), (0.0, lower)):
        axes.axhline(y, xmin=0.2, color=QUIET, linewidth=0.8, zorder=0)
        axes.text(-0.5, y, name, va="center", color=REFERENCE, weight="bold")
    for tick in (0, 1):
        box(axes, tick, 1.0, 0.22, "compute" if kind != "client" else "time step", TARGET)
        arrow(axes, (tick + 0.22, 1.0), (tick + 0.22 + travel, 0.0), TARGET)
        begin = tick + 0.23 + travel
        box(axes, begin, 0.0, 0.3, "move" if kind == "driver" else "move, measure", MEASURED)
        arrow(axes, (begin + 0.3, 0.0), (begin + 0.3 + travel, 1.0), MEASURED)
        axes.plot([tick, tick], [-0.15, 1.22], ":", color=QUIET, linewidth=0.8)
        name = "step" if kind == "client" else "tick"
        axes.text(tick + 0.01, 1.2, f"{name} k" if tick == 0 else f"{name} k + 1", color=QUIET, fontsize=7.5)
    style = {"va": "center", "fontsize": 7.5}
    axes.text(0.2 + 0.5 * travel, 0.5, f"{between}:\n{sent}", ha="right", color=TARGET, **style)
    axes.text(0.56 + 1.5 * travel, 0.5, f"{between}:\n{returned}", ha="left", color=MEASURED, **style)
    axes.set(xlim=(-0.52, 2.0), ylim=(-0.3, 1.35))
    axes.set_axis_off()


def box(axes: Axes, begin: float, y: float, length: float, text: str, color: str) -> None:
    axes.broken_barh([(begin, length)], (y - 0.08, 0.16), facecolors="white", edgecolors=color, linewidth=1.2)
    axes.text(begin + 0.5 * length, y, text, ha="center", va="center", fontsize=7.5, color=color)


def arrow(axes: Axes, begin: tuple[float, float], end: tuple[float, float], color: str) -> None:
    low, high = (0.92, 0.08) if begin[1] > end[1] else (0.08, 0.92)
    style = {"arrowstyle": "->", "color": color, "linewidth": 1.2}
    axes.annotate("", xy=(end[0], high), xytext=(begin[0], low), arrowprops=style)
