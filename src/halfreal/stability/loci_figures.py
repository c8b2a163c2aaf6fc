"""Bode and Nyquist plots as whole figures: loci of a model, of measured lines, and the elements of L behind them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..figures import BAD, QUIET, TARGET, new_figure, styled
from . import loci_plot
from .loci import Loci

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW = 6
"""Channels up to which every element has a panel of its own."""


@dataclass(frozen=True)
class Elements:
    """L_ij at lines [Hz], (lines, channels, channels), and the channels' names."""

    frequency_hz: np.ndarray
    values: np.ndarray
    names: tuple[str, ...]


@styled
def bode_figure(
    model: Loci | None, measured: Loci | None = None, elements: Elements | None = None, title: str = ""
) -> Figure:
    """Magnitude and phase of the loci; of several channels the elements of L in a second column."""
    figure = new_figure(10.4 if elements else 8.4, 4.8)
    panels = figure.subplots(2, 2 if elements else 1, sharex="col", squeeze=False)
    every = _draw(panels[0, 0], panels[1, 0], model, measured)
    loci_plot.limit_bode(panels[0, 0], panels[1, 0], every)
    panels[0, 0].set_title("Eigenvalues of the open loop L" if every[0].channels > 1 else "Open loop L")
    if elements is not None:
        _elements_bode(panels[0, 1], panels[1, 1], elements, panels[0, 0].get_xlim())
    _entitle(figure, title, 150 if elements else 120)
    return figure


def _draw(size: Axes, phase: Axes, model: Loci | None, measured: Loci | None) -> list[Loci]:
    every = []
    for loci, is_data in ((model, False), (measured, True)):
        if loci is not None:
            marked = measured is None or is_data
            loci_plot.bode(size, phase, loci, _names(loci, is_data), measured=is_data, marked=marked)
            every.append(loci)
    if len(every) > 1 or every[0].channels > 1:
        size.legend(fontsize=7, ncols=2)
    return every


def _elements_bode(size: Axes, phase: Axes, elements: Elements, limits: tuple[float, float]) -> None:
    """Each axis by itself in colour, what it does to the others in grey."""
    hz = elements.frequency_hz
    count = len(elements.names)
    for i, j in sorted(np.ndindex(count, count), key=lambda pair: pair[0] == pair[1]):
        values = elements.values[:, i, j]
        if not np.abs(values).max() > 10.0 ** (loci_plot.FAINTEST_DB / 10.0):
            continue
        look: dict[str, Any] = {"color": QUIET, "linewidth": 0.6}
        if i == j:
            look = {"color": loci_plot.COLOURS[i % len(loci_plot.COLOURS)], "label": elements.names[i]}
            phase.semilogx(hz, np.degrees(np.unwrap(np.angle(values))), **look)
        size.semilogx(hz, 20.0 * np.log10(np.maximum(np.abs(values), 1e-300)), **look)
    size.axhline(0.0, color=QUIET, linewidth=0.9)
    top = 20.0 * np.log10(max(float(np.abs(elements.values).max()), 1e-300)) + 8.0
    size.set(ylim=(max(loci_plot.FAINTEST_DB - 10.0, top - 120.0), max(top, 8.0)), xlim=limits)
    size.set_title("Its elements: axis on itself; grey: on others")
    phase.axhline(-180.0, color=BAD, linewidth=0.8, linestyle=(0, (4, 2)))
    phase.set(xlabel="frequency [Hz]", ylim=(-1000.0 if phase.get_ylim()[0] < -1000.0 else None, None))
    if size.get_legend_handles_labels()[0]:
        size.legend(fontsize=7, ncols=2)


@styled
def nyquist_figure(
    model: Loci | None, measured: Loci | None = None, elements: Elements | None = None, title: str = ""
) -> Figure:
    """The loci in the plane, whole and about −1; of several channels every element in a panel of its own."""
    every = [one for one in (model, measured) if one is not None]
    reach = loci_plot.reach_of(every)
    widths = [reach] if reach <= loci_plot.REACH else [reach, loci_plot.NEAR]
    count = 0 if elements is None or len(elements.names) > FEW else len(elements.names)
    figure = new_figure(4.6 * (len(widths) + bool(count)), 4.9)
    outer = figure.add_gridspec(1, len(widths) + bool(count))
    for number, width in enumerate(widths):
        axes = figure.add_subplot(outer[0, number])
        for loci, is_data in ((model, False), (measured, True)):
            if loci is not None:
                marked = (measured is None or is_data) and number == len(widths) - 1
                loci_plot.nyquist(axes, loci, _names(loci, is_data), width, measured=is_data, marked=marked)
        whole = "Eigenvalues of the open loop L" if every[0].channels > 1 else "Open loop L"
        axes.set_title(whole if number == 0 else "The same about −1")
        if number == 0 and (len(every) > 1 or every[0].channels > 1):
            axes.legend(fontsize=7, loc="upper right")
    if elements is not None and count:
        inner = outer[0, len(widths)].subgridspec(count, count, wspace=0.05, hspace=0.05)
        for i, j in np.ndindex(count, count):
            _element(figure.add_subplot(inner[i, j]), elements, i, j)
    _entitle(figure, title, 55 * (len(widths) + bool(count)))
    return figure


def _element(axes: Axes, elements: Elements, i: int, j: int) -> None:
    values = elements.values[:, i, j]
    turn = np.linspace(0.0, 2 * np.pi, 91)
    axes.plot(values.real, values.imag, color=TARGET, linewidth=0.8)
    axes.plot(np.cos(turn), np.sin(turn), color=QUIET, linewidth=0.5)
    axes.plot(-1.0, 0.0, "+", color=BAD, markersize=5)
    axes.set(xlim=(-loci_plot.NEAR, loci_plot.NEAR), ylim=(-loci_plot.NEAR, loci_plot.NEAR), aspect="equal")
    axes.set(xticks=[], yticks=[])
    if i == 0:
        axes.set_title(f"from {elements.names[j]}", fontsize=7)
    if j == 0:
        axes.set_ylabel(f"to {elements.names[i]}", fontsize=7)


def _names(loci: Loci, measured: bool) -> Sequence[str]:
    whose = "measured" if measured else "model"
    if loci.channels == 1:
        return (whose,)
    return [f"{whose} {i + 1}" if measured else f"eigenvalue {i + 1}" for i in range(loci.channels)]


def _entitle(figure: Figure, title: str, width: int) -> None:
    if title:
        figure.suptitle("\n".join(textwrap.fill(line, width) for line in title.splitlines()), fontsize=7.5)
