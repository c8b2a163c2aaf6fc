"""A run at a glance, for prompts and notebooks: a line, a small table, its channels over time."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import units
from ..errors import HalfrealError
from ..figures import MEASURED, REFERENCE, TARGET, new_figure, styled
from ..summaries import html_table
from .judged_samples import drawable, envelope

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .run import Run

USUAL = ("target", "measured.displacement", "reference", "measured.force")
"""Signals of the interface that are drawn where none is named."""
LOOKS: dict[str, dict[str, Any]] = {
    "target": {"color": TARGET},
    "measured.displacement": {"color": MEASURED},
    "measured.force": {"color": MEASURED},
    "reference": {"color": REFERENCE, "dashes": (4, 2)},
}


def values_of(run: Run, name: str) -> np.ndarray:
    """A channel, or a signal of several axes as (samples, axes); an error gives the nearest names."""
    if name in run.signals:
        return np.asarray(run.signals[name].values)
    found = run.vector(name)
    if found is None:
        near = difflib.get_close_matches(name, run.signals, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"available: {', '.join(run.signals)}"
        raise HalfrealError(f"'{name}' is not a channel of this {run.kind}; {hint}")
    return found


def summary(run: Run) -> str:
    """What it is and how it ended, in one line."""
    end = f"{run.outcome} ({run.reason})" if run.reason else run.outcome
    judged = run.accepted.word if run.accepted is not None else run.verdict
    return ", ".join(
        filter(None, [f"{run.kind} of '{run.title}'", end, judged, f"{len(run.time)} samples", _channels(run)])
    )


def html(run: Run) -> str:
    """The same as a small table."""
    length = float(run.time[-1] - run.time[0]) if len(run.time) else 0.0
    rows = [
        (run.kind, run.title),
        ("outcome", f"{run.outcome}: {run.reason}" if run.reason else run.outcome),
        ("verdict", "; ".join(filter(None, [run.verdict, *run.reasons[:1]]))),
        ("judged afterwards", "" if run.accepted is None else "; ".join([run.accepted.word, *run.accepted.because])),
        ("computer", "" if run.accepted is None or run.accepted.computer is None else run.accepted.computer.text),
        ("record", f"{len(run.time)} samples over {units.text(length, 's')}, {_channels(run)}"),
        ("channels", ", ".join(f"{name} [{one.unit}]" for name, one in run.signals.items())),
    ]
    return html_table([(name, text) for name, text in rows if text])


def _channels(run: Run) -> str:
    return f"{len(run.signals)} channel{'' if len(run.signals) == 1 else 's'}"


@styled
def overview(run: Run, names: tuple[str, ...]) -> Figure:
    """Channels over time, those of one unit in one panel."""
    panels = _by_unit(run, [key for name in names for key in _keys(run, name)]) if names else usual_channels(run)
    if not panels:
        raise HalfrealError(f"this {run.kind} has no recorded channel to draw; name one")
    figure = new_figure(8.0, 0.8 + 1.9 * len(panels))
    rows = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    draw_channels(run, list(rows), panels)
    rows[0].set_title(run.title)
    return figure


def draw_channels(run: Run, rows: Sequence[Axes], panels: Mapping[str, Sequence[str]]) -> None:
    """Channels over time, a panel for each unit; there may be further rows below."""
    for axes, (unit, keys) in zip(rows, panels.items(), strict=False):
        drawn = {key: drawable(np.asarray(run.signals[key].values))[:] for key in keys}
        factor, label = units.of_axis(np.nan_to_num(np.concatenate(list(drawn.values()))), unit)
        for key, values in drawn.items():
            axes.plot(*envelope(run.time, factor * values), label=key, **LOOKS.get(key, {}))
        axes.set(xlabel="time [s]", ylabel=f"{keys[0]} [{label}]" if len(keys) == 1 else f"[{label}]")
        if len(keys) > 1:
            axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=min(len(keys), 4))


def usual_channels(run: Run) -> dict[str, list[str]]:
    """Motion and force of the interface, by unit."""
    return _by_unit(run, [key for name in USUAL if run.vector(name) is not None for key in _keys(run, name)])


def _by_unit(run: Run, keys: Sequence[str]) -> dict[str, list[str]]:
    panels: dict[str, list[str]] = {}
    for key in dict.fromkeys(keys):
        panels.setdefault(run.signals[key].unit, []).append(key)
    return panels


def _keys(run: Run, name: str) -> list[str]:
    values_of(run, name)  # an error with the nearest names if there is none
    return [name] if name in run.signals else list(run.along(name).channels(name))
