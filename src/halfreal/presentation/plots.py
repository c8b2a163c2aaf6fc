"""Plots of a run.  Each function computes its series, draws them and returns a matplotlib ``Figure``.

No window is opened and no global setting changed: ``figure.savefig("name.png")`` is all that is needed.  Axes of the
interface, ``dof``, count from 1.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..runs.columns import Column, any_finite, computed, part, pieces
from ..runs.run import Run
from ..stability.loci import Loci
from ..stability.loci_figures import bode_figure, nyquist_figure
from . import series
from .phases import dress
from .series import Display, closer_look, display, drawable, envelope, peak
from .style import BAD, CHECK, ERROR, GOOD, MEASURED, PURE_DELAY, QUIET, REFERENCE, TARGET, new_figure, styled

MANY_POINTS = 4000
"""Curves in a plane with more points than this are drawn as a picture, so that files stay small."""
MOST_POINTS = 20_000
"""Of a longer curve in a plane every second, third, … point is drawn."""


SHARE = Display(100.0, "%")
Window = tuple[float, float]


class NothingToPlotError(ValueError):
    """The run did not record what the plot shows."""


def values_of(run: Run, name: str, dof: int) -> Column | None:
    column = run.column(name, dof - 1)
    values = None if column is None else run.along_axis(name, column)
    return None if values is None else drawable(values)


def needed(run: Run, name: str, dof: int) -> Column:
    column = values_of(run, name, dof)
    if column is None or not any_finite(column):
        raise NothingToPlotError(nothing_of(run, name))
    return column


def nothing_of(run: Run, name: str) -> str:
    return f"the run has no values of '{name}'; it recorded {', '.join(run.signals) or 'nothing'}"


def unit_of(run: Run, name: str, dof: int, largest: float) -> Display:
    return display(run.units(name)[run.column(name, dof - 1) or 0], largest)


def _line(axes: Axes, run: Run, values: Column, unit: Display, window: Window | None = None, **look: Any) -> None:
    """Draw a signal in time, or a window [s] of it."""
    if window is None:
        time, shown = envelope(run.time, values)
    else:
        rows = slice(bisect_left(run.time, window[0]), bisect_right(run.time, window[1]))
        time, shown = envelope(part(run.time, rows), part(values, rows), 2000)
    axes.plot(time, unit.factor * shown, **look)


def few(values: Column) -> np.ndarray:
    """The points of a curve in a plane that are drawn."""
    return np.asarray(values[:: -(-len(values) // MOST_POINTS) or 1])


def in_plane(axes: Axes, x: np.ndarray, y: np.ndarray, color: str, label: str | None = None, **look: Any) -> bool:
    """Draw a curve in a plane, thin and translucent if it goes to and fro so often that it would become a blot."""
    x, y = few(x), few(y)
    with np.errstate(invalid="ignore"):
        travelled = np.nansum(np.hypot(np.diff(x) / max(peak(x), 1e-300), np.diff(y) / max(peak(y), 1e-300)))
    blot = bool(travelled > 400)  # half-widths of the plane
    shown = {"linewidth": 0.6, "alpha": max(0.35, 400 / travelled)} if blot else {"linewidth": 1.1}
    axes.plot(x, y, rasterized=len(x) > MANY_POINTS, color=color, **(shown | look))
    axes.plot([], [], color=color, label=label, **({"linewidth": 1.1} | look))
    return blot


def samples_from(run: Run, from_time: float) -> slice:
    """Which samples of the test are shown of a curve in a plane."""
    rows = series.judged_rows(run, from_time)
    if rows.start == rows.stop:
        raise NothingToPlotError(f"the run has no samples after {from_time:g} s; choose an earlier time")
    return rows


@styled
def time_history(run: Run, dof: int = 1) -> Figure:
    """Target and what follows it, and their gap in time, with its energy if it was watched; whole run and last cycles.

    Where the target is a force, the displacements have a panel of their own.
    """
    of, target = series.compared(run, dof), needed(run, "target", dof)
    measured, reference = values_of(run, of.followed, dof), values_of(run, "reference", dof)
    gap = None if measured is None else computed(np.subtract, measured, target)
    energy = values_of(run, "energy.error", dof)
    kept = series.in_view(run)
    gap_unit = unit_of(run, "target", dof, peak(None if gap is None else np.array(series.extent(gap, kept))))
    overlays: list[tuple[str, str, tuple[Column | None, ...]]] = [("target", of.quantity, (target, measured))]
    if of.by_force:
        moved = values_of(run, of.answer, dof), reference
        if (virtual := values_of(run, of.response, dof)) is not None:
            overlays.append((of.response, "displacement", (virtual, *moved)))
    else:
        overlays[0] = ("target", of.quantity, (target, measured, reference))
    rows: list[tuple[tuple[Column | None, ...], Display]] = [
        (signals, unit_of(run, channel, dof, peak(*signals))) for channel, _, signals in overlays
    ]
    rows += [] if gap is None else [((gap,), gap_unit)]
    rows += [] if energy is None else [((energy,), SHARE)]
    figure = new_figure(10.4, 1.4 + 1.6 * len(rows))
    grid = figure.add_gridspec(len(rows), 2, width_ratios=(1.9, 1))
    for window in (None, closer_look(run, target)):
        panels: list[Axes] = []
        for i, (signals, unit) in enumerate(rows):
            panels.append(figure.add_subplot(grid[i, int(window is not None)], sharex=panels[0] if panels else None))
            panels[-1].tick_params(labelbottom=i == len(rows) - 1)
            if i < len(overlays):
                names = labels(of) if i == 0 else LABELS_OF_DISPLACEMENTS
                overlay(panels[-1], run, signals, unit, names, window)
                continue
            assert signals[0] is not None
            _line(panels[-1], run, signals[0], unit, window, color=ERROR, linewidth=0.7)
            if window is None:
                fit(panels[-1], [series.extent(signals[0], kept)], unit)
        panels[-1].set_xlabel("time [s]")
        if window is None:
            for axes, (_, quantity, _), (_, unit) in zip(panels, overlays, rows, strict=False):
                title = f"{quantity.capitalize()}{series.of_axis(run, dof)}"
                axes.set(title=title, ylabel=f"{quantity} [{unit.label}]")
            if gap is not None:
                panels[len(overlays)].set(title="Synchronisation error", ylabel=f"{of.gap} [{gap_unit.label}]")
            lines = [line for axes in panels[: len(overlays)] for line in axes.get_legend_handles_labels()[0]]
            figure.legend(handles=lines, loc="outside upper center", ncols=3)
        else:
            panels[0].set_title(look_title(run))
            if window[1] > window[0]:
                panels[0].set_xlim(window)
        if energy is not None:
            energy_limits(panels[-1], run, dof, titled=window is None)
        dress(panels, run)
    return figure


def labels(of: series.Compared) -> tuple[str, ...]:
    """What the legend calls target, measurement and reference."""
    names = ("target", of.target, "virtual"), ("measured", of.measured, "specimen")
    found = [" ".join(filter(None, (name, symbol, f"({part})"))) for name, symbol, part in names]
    if not of.by_force:
        found.append(f"reference {of.target + '*' if of.target else ''}".strip() + " (emulated)")
    return tuple(found)


LABELS_OF_DISPLACEMENTS = ("interface (virtual)", "measured (specimen)", "reference (emulated)")


def overlay(
    axes: Axes,
    run: Run,
    signals: Sequence[Column | None],
    unit: Display,
    labels: Sequence[str],
    window: Window | None = None,
) -> None:
    """Draw signals that should agree, from broad and pale to thin and dark: they stay visible on top of each other.

    Displacements that answer a force are small next to their noise, and stand behind the others.
    """
    answered = labels is LABELS_OF_DISPLACEMENTS
    looks: tuple[dict[str, Any], ...] = (
        {"color": TARGET, "linewidth": 1.6 if answered else 3.0, "alpha": 0.9 if answered else 0.45},
        {"color": MEASURED, "linewidth": 0.7, "zorder": 1.5} if answered else {"color": MEASURED, "linewidth": 1.3},
        {"color": REFERENCE, "linewidth": 0.8, "linestyle": (0, (5, 2.5))},
    )
    for signal, look, label in zip(signals, looks, labels, strict=False):
        if signal is not None:
            _line(axes, run, signal, unit, window, label=label, **look)


def fit(axes: Axes, extents: Sequence[tuple[float, float]], unit: Display) -> None:
    """Let the vertical axis show these least and largest values; what goes beyond, outside the test, is cut off."""
    finite = [extent for extent in extents if np.isfinite(extent).all()]
    low, high = min((e[0] for e in finite), default=0.0), max((e[1] for e in finite), default=0.0)
    if high > low:
        margin = 0.08 * (high - low)
        axes.set_ylim(unit.factor * (low - margin), unit.factor * (high + margin))


def look_title(run: Run) -> str:
    """What the closer look at a run shows."""
    if series.cut_short(run) is None:
        return "Last cycles"
    return "Around the stop" if run.outcome == "stopped" else "Around the trip"


def energy_limits(axes: Axes, run: Run, dof: int, titled: bool) -> None:
    """Name the limits of the running energy error, not that of the whole test, and draw those it comes near."""
    known = {which: series.limit(run, "energy", dof, which) for which in ("warn", "trip")}
    if titled:
        told = [f"{which} at {100 * limit:g} %" for which, limit in known.items() if limit is not None]
        axes.set(title=f"Running energy error{': ' * bool(told)}{', '.join(told)}", ylabel="share [%]")
    low, high = axes.get_ylim()
    near = 8 if titled else 2
    for which, color in (("warn", CHECK), ("trip", BAD)):
        limit = known[which]
        for level in () if limit is None else (-100 * limit, 100 * limit):
            if near * low < level < near * high:
                axes.axhline(level, color=color, linewidth=1.0)
                low, high = min(low, 1.1 * level), max(high, 1.1 * level)
    axes.set_ylim(low, high)


def interpolated(at: np.ndarray, time: Column, values: Column) -> np.ndarray:
    """Values of a column at times in between; beyond its ends those there."""
    found = np.full(len(at), values[0])
    found[at >= time[len(time) - 1]] = values[len(values) - 1]
    for times, some in pieces(time, values, overlap=1):
        inside = (at >= times[0]) & (at < times[-1])
        found[inside] = np.interp(at[inside], times, some)
    return found


@styled
def synchronisation(run: Run, dof: int = 1, delay: float | None = None, from_time: float = 0.0) -> Figure:
    """The synchronisation subspace: measured against target, and the gap against the target.

    Perfect synchronisation is the 45° line; a delay opens it to an ellipse, a wrong amplitude turns it.  With ``delay``
    [s] the curve of a pure delay, z(t − τ) against z, is drawn in grey for comparison; where the measurement fills the
    plane only its largest cycle, and nothing where the motion has many frequencies: it would cover the measurement.
    """
    kept = samples_from(run, from_time)
    of, target = series.compared(run, dof), needed(run, "target", dof)
    measured = needed(run, of.followed, dof)
    z, x = part(target, kept), part(measured, kept)
    unit = unit_of(run, "target", dof, peak(z, x))
    gap_unit = unit_of(run, "target", dof, peak(computed(np.subtract, x, z)))
    figure = new_figure(10.4, 4.2)
    plane, opened = figure.subplots(1, 2, width_ratios=(1, 1.35))
    reach, one = 1.06 * unit.factor * max(peak(z, x), 1e-12), "measured = target"
    plane.plot([-reach, reach], [-reach, reach], color=REFERENCE, linewidth=0.8, linestyle=(0, (5, 2.5)), label=one)
    opened.axhline(0, color=REFERENCE, linewidth=0.8, linestyle=(0, (5, 2.5)))
    drawn, drawn_x = few(z), few(x)
    in_plane(plane, unit.factor * drawn, unit.factor * drawn_x, MEASURED, "measured")
    blot = in_plane(opened, unit.factor * drawn, gap_unit.factor * (drawn_x - drawn), ERROR, "measured")
    cycle = series.largest_cycle(z) if blot else slice(None)
    if delay is not None and cycle is not None:
        at = few(part(part(run.time, kept), cycle))
        late, z = interpolated(at - delay, run.time, computed(np.nan_to_num, target)), few(part(z, cycle))
        look: dict[str, Any] = (
            {"linewidth": 1.2, "alpha": 1.0} if blot else {"linewidth": 3.0, "alpha": 0.4, "zorder": 1}
        )
        label = f"a pure delay of {1e3 * delay:.3g} ms"
        in_plane(plane, unit.factor * z, unit.factor * late, PURE_DELAY, label, **(look | {"zorder": 1}))
        in_plane(opened, unit.factor * z, gap_unit.factor * (late - z), PURE_DELAY, label, **look)
    plane.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title="Synchronisation")
    plane.set(xlabel=f"target {of.quantity} [{unit.label}]", ylabel=f"measured {of.quantity} [{unit.label}]")
    plane.legend(loc="upper left")
    opened.legend(loc="upper right")
    opened.set(
        title="Gap over target",
        xlabel=f"target {of.quantity} [{unit.label}]",
        ylabel=f"gap {of.gap} [{gap_unit.label}]",
    )
    return figure


@styled
def force_displacement(run: Run, dof: int = 1, from_time: float = 0.0) -> Figure:
    """Measured force against measured displacement: the specimen's loop."""
    kept = samples_from(run, from_time)
    x, f = (part(needed(run, f"measured.{name}", dof), kept) for name in ("displacement", "force"))
    unit = unit_of(run, "measured.displacement", dof, peak(x))
    force_unit = unit_of(run, "measured.force", dof, peak(f))
    figure = new_figure(5.6, 4.2)
    axes = figure.subplots()
    in_plane(axes, unit.factor * few(x), force_unit.factor * few(f), MEASURED)
    moved, felt = ("rotation", "moment") if run.interface.rotations[dof - 1] else ("displacement", "force")
    axes.set(title=f"{felt.capitalize()} and {moved} of the specimen")
    axes.set(xlabel=f"measured {moved} [{unit.label}]", ylabel=f"measured {felt} [{force_unit.label}]")
    return figure


@styled
def command(run: Run, actuator: int = 1, limits: tuple[float, float] | None = None) -> Figure:
    """The command requested and the one applied after the guard, with the rig's limits if they are given."""
    both = [run.along_axis(name, actuator - 1) for name in ("command", "command.asked")]
    applied, asked = (None if one is None else drawable(one) for one in both)
    if applied is None or not any_finite(applied):
        raise NothingToPlotError(nothing_of(run, "command"))
    unit = display(run.units("command")[actuator - 1], peak(applied, asked))
    figure = new_figure(10.4, 2.6)
    axes = figure.subplots()
    if asked is not None:
        _line(axes, run, asked, unit, color=QUIET, linewidth=2.0, label="requested")
    _line(axes, run, applied, unit, color=TARGET, label="applied")
    for i, limit in enumerate(limits or ()):
        axes.axhline(unit.factor * limit, color=BAD, linewidth=1.0, label=None if i else "limit")
    axes.set(title="Command", xlabel="time [s]", ylabel=f"command [{unit.label}]")
    dress([axes], run)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=3)
    return figure


QUANTITIES = {
    "m": "displacement",
    "N": "force",
    "m/s": "velocity",
    "m/s^2": "acceleration",
    "rad": "rotation",
    "N m": "moment",
    "s": "time",
}


@styled
def channels(run: Run, names: Sequence[str], color: str = TARGET) -> Figure:
    """Any recorded channels in time, one panel each."""
    if not names:
        raise NothingToPlotError(f"no channel given; the run recorded {', '.join(run.signals) or 'nothing'}")
    figure = new_figure(10.4, 0.5 + 1.5 * len(names))
    panels = list(np.ravel(figure.subplots(len(names), 1, sharex=True)))
    for axes, name in zip(panels, names, strict=True):
        if name not in run.signals:
            raise NothingToPlotError(
                f"no channel '{name}' in the run; it recorded {', '.join(run.signals) or 'nothing'}"
            )
        values = drawable(run.signals[name].values)
        unit = display(run.signals[name].unit, peak(values))
        _line(axes, run, values, unit, color=color, linewidth=1.0)
        axes.set_title(name, parse_math=False)
        axes.set_ylabel(f"{QUANTITIES.get(run.signals[name].unit, 'value')} [{unit.label}]", parse_math=False)
    panels[-1].set_xlabel("time [s]")
    dress(panels, run)
    return figure


def excitation(run: Run) -> Figure:
    """What drives the test, one panel for each excitation."""
    return channels(run, series.excitations(run), GOOD)


@styled
def poles(run: Run) -> Figure:
    """Poles of the linearised loop: in the z-plane with the unit circle, and the slowest ones in the s-plane."""
    if run.stability is None:
        raise NothingToPlotError("the stability of the loop was not assessed; rehearse the test first")
    found = series.poles(run.stability, run.step)
    figure = new_figure(10.4, 4.2)
    z_plane, s_plane = figure.subplots(1, 2, width_ratios=(1, 1.35))
    angle = np.linspace(0, 2 * np.pi, 361)
    z_plane.fill(np.cos(angle), np.sin(angle), color="#f3f8f5", zorder=0)
    z_plane.plot(np.cos(angle), np.sin(angle), color=GOOD, linewidth=1.1)
    for pole in found:
        z = np.exp(pole.s * run.step)
        colour = _pole_colour(pole.magnitude)
        z_plane.plot([z.real, z.real], [z.imag, -z.imag], linestyle="none", marker="x", markersize=5, color=colour)
    reach = max([1.12] + [1.1 * pole.magnitude for pole in found])
    z_plane.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title="z-plane: stable inside the circle")
    z_plane.set(xlabel="Re λ", ylabel="Im λ", xticks=(-1, -0.5, 0, 0.5, 1), yticks=(-1, -0.5, 0, 0.5, 1))
    _draw_s_plane(s_plane, found)
    return figure


def bode(run: Run) -> Figure:
    """Magnitude and phase of the open loop, with its margins."""
    return bode_figure(_open_loop(run))


def nyquist(run: Run) -> Figure:
    """The open loop in the plane, with its margins."""
    return nyquist_figure(_open_loop(run))


def _open_loop(run: Run) -> Loci:
    if run.stability is None or run.stability.open_loop is None:
        raise NothingToPlotError(
            "the run has no open loop; its margins could not be computed, or it was written by an older halfreal"
        )
    return run.stability.open_loop


def _pole_colour(magnitude: float) -> str:
    return BAD if magnitude > 1 else TARGET


def _draw_s_plane(axes: Axes, found: list[series.Pole]) -> None:
    """The slowest poles by decay rate and frequency, with lines of equal damping."""
    leading = next((pole for pole in found if pole.s.imag > 0), found[0] if found else None)
    slow = [pole for pole in found if leading is not None and abs(pole.s) <= 8 * abs(leading.s)]
    top = max([pole.s.imag / (2 * np.pi) for pole in slow] + [1e-3]) * 1.2
    left = -1.15 * max([-pole.s.real for pole in slow] + [0.12 * 2 * np.pi * top])
    right = max([1.2 * pole.s.real for pole in slow] + [-0.1 * left])
    axes.axvspan(0, right, color="#fbeeed", zorder=0)
    axes.axvline(0, color=BAD, linewidth=1.0)
    labelled = np.inf
    for damping in (0.5, 0.2, 0.1, 0.05, 0.02, 0.01):
        slope = -np.sqrt(1 - damping**2) / damping / (2 * np.pi)  # Hz per 1/s
        end = min(top, slope * left)
        axes.plot([0, end / slope], [0, end], color=QUIET, linewidth=0.7, linestyle=(0, (3, 3)))
        if end < top:
            place: dict[str, Any] = {"xytext": (3, 3), "ha": "left"}
        elif abs(labelled - end / slope) > 0.07 * (right - left):
            place, labelled = {"xytext": (0, 2), "ha": "center"}, end / slope
        else:
            continue
        look: dict[str, Any] = {"fontsize": 7, "color": "#5b6470", "textcoords": "offset points"}
        axes.annotate(f"{100 * damping:g} %", (end / slope, end), **look, **place)
    for pole in slow:
        look = {"marker": "x", "markersize": 7, "markeredgewidth": 1.6, "color": _pole_colour(pole.magnitude)}
        axes.plot(pole.s.real, pole.s.imag / (2 * np.pi), **look)
    axes.set(xlim=(left, right), ylim=(-0.04 * top, top))
    axes.set(xlabel="decay rate Re s [1/s]", ylabel="frequency [Hz]")
    axes.set_title("s-plane: slowest poles, lines of equal damping", pad=12)
