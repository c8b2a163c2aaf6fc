"""Draw the figures of this folder's README, and print the rows of its tables of axes, modes and errors.

python figures.py [FOLDER]        # pictures go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import parts
import pictures
import study
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from halfreal.contracts import StateSpace
from halfreal.figures import MEASURED, QUIET, new_figure, styled
from halfreal.identification import AssembledFRF, frf_of_run
from halfreal.models import BaseExcited
from halfreal.rigs import AXES
from halfreal.runs import linearised
from halfreal.stability import matched, substructured_loop

NONE, INVERSE, WHOLE = "none", "inverse", "inverse and prediction"  # the couplings of study.couplings()
COLOURS = {NONE: "tab:red", INVERSE: "tab:orange", WHOLE: "tab:blue"}
TOLD = {NONE: "without compensation", INVERSE: "with inverse filters", WHOLE: "with inverse filters and prediction"}
POSE = tuple(f"measured.displacement.{axis}" for axis in AXES)
SENSED = (*study.DOFS, *parts.INTERFACE)
"""Degrees of freedom of the test's responses and of the table's measured pose, which is the interface's."""
EXTRA = np.arange(0.0, 8.1e-3, 1e-3)  # s, of artificial delay
STEPPED = np.array([3.0, 3.4, 6.5, 7.2, 7.5, 7.9, 9.0, 12.0, 15.5, 15.9, 16.3, 19.0, 21.3, 23.5])  # Hz, drawn
ERRORS_AT = np.array([3.4, 7.2, 19.0, 21.3])  # Hz, of the table of errors
MOVING, FRAMES = (0, 4), 20  # modes of the animation, and pictures of a cycle
LARGEST = 0.8  # m, as motions of modes are drawn
TABLE = {0: 0.4, 4: 0.18}  # part of that by which the table is drawn in the animation


# --- what the tests tell ----------------------------------------------------------------------------------------------


@cache
def measured(name: str) -> AssembledFRF:
    """Responses and pose of the table, by a random virtual force, with one of the couplings."""
    run = study.rehearsed(study.couplings()[name], study.random_force(), (1 + study.PERIODS) * study.PERIOD)
    return frf_of_run(run, (*study.CHANNELS, *POSE))


@cache
def modes_of_test(name: str) -> Any:
    """Poles from the responses alone, as ``study.py`` tells them."""
    found = measured(name)
    return study.modal(found.frequency_hz, found.values[: len(study.CHANNELS)])


@cache
def shapes(largest: float = LARGEST) -> list[tuple[dict[str, complex], dict[str, complex]]]:
    """Of every mode the true shape, and the identified one in its scale, at the degrees of freedom that are sensed."""
    whole = parts.assembled()
    poles, columns = parts.poles(whole, study.HIGHEST)
    test = measured(WHOLE)
    found = study.modal(test.frequency_hz, test.values)
    pairs = []
    for pole, column in zip(poles, columns.T, strict=True):
        true = pictures.scaled(dict(zip(whole.dofs, column, strict=True)), largest)
        own = np.array([true[dof] for dof in SENSED])
        residues = found.residues[:, int(np.argmin(np.abs(found.poles - pole)))]
        fitted = residues * (residues.conj() @ own) / (residues.conj() @ residues)
        pairs.append((true, dict(zip(SENSED, fitted, strict=True))))
    return pairs


def axis_rows() -> list[str]:
    """Table of axes: delays of the tuned table, behind the inverse filters, and with prediction."""
    names = (f"delay, tuned for {study.BAND:g} Hz", "behind the inverse")
    rows = [[name, *(f"{1e3 * one.delays[k]:.1f} ms" for one in study.axes())] for k, name in enumerate(names)]
    rows.append(["with prediction", *(f"{1e6 * one.delays[2]:.0f} µs" for one in study.axes())])
    sizes = [f"{one.amplitudes[1]:.2f}" for one in study.axes()]
    rows.append([f"its largest amplitude up to {study.BAND:g} Hz", *sizes])
    return [f"| {' | '.join(row)} |".replace("-", "−") for row in rows]


def mode_rows() -> list[str]:
    """Table of modes: true values, those of each test with their errors, and the MAC with all compensation."""
    tables = [study.table(study.couplings()[name], modes_of_test(name)) for name in TOLD]
    rows = []
    for i, lines in enumerate(zip(*tables, strict=True)):
        hz, ratio = lines[0][:2]
        cells = [f"{i + 1}", f"{hz:.3f}", f"{ratio:.2f}"]
        for line in lines:
            cells += [f"{line[4]:.3f} ({_error(line[4], hz, 2)})", f"{line[5]:.2f} ({_error(line[5], ratio, 1)})"]
        rows.append(f"| {' | '.join([*cells, f'{lines[-1][6]:.3f}'])} |".replace("-", "−"))
    return rows


def _error(value: float, true: float, digits: int) -> str:
    """In % of the true value, without the sign of a zero."""
    error = 100 * (value / true - 1)
    return f"{round(error, digits) + 0.0:+.{digits}f}" if abs(error) < 10 else f"{error:+.0f}"


def error_rows() -> list[str]:
    """The worst channel at single frequencies, as a part of the largest response there, by a stepped sine."""
    true = study.true_response(ERRORS_AT)
    rows = []
    for name, told in TOLD.items():
        found = study.by_stepped_sine(study.couplings()[name], ERRORS_AT)
        errors = 100 * np.abs(found - true).max(axis=0) / np.abs(true).max(axis=0)
        cells = [f"{error:.1f} %" if error < 9.95 else f"{error:.0f} %" for error in errors]
        rows.append(f"| {told} | {' | '.join(cells)} |")
    return rows


# --- table and loop ---------------------------------------------------------------------------------------------------


@styled
def setup() -> Figure:
    """What is emulated, and what stands on the table."""
    figure = new_figure(11.5, 4.3)
    left, right = figure.subplots(1, 2, width_ratios=(1.22, 1))
    pictures.emulated(left, {**parts.WING_RESPONSES, **parts.STORE_RESPONSES})
    pictures.bare(left, (-0.7, 6.3), (-2.5, 0.9))
    left.set_title("Emulated: the wing (blue) is virtual, the store (orange) is hardware")
    pictures.laboratory(right, study.definition().rig)
    pictures.bare(right, (-2.4, 2.2), (-2.2, 1.0))
    right.set_title("In the laboratory: the store, upside down, on the six-axis table")
    return figure


@styled
def axes_follow() -> Figure:
    """Amplitude and delay of every axis: tuned, behind its inverse filter, and with prediction."""
    figure = new_figure(10, 4.0)
    left, right = figure.subplots(1, 2)
    styles = {"tuned controllers": ":", "behind inverse filters": "--", "with prediction": "-"}
    for colour, one in enumerate(study.axes()):
        for part, line in zip((one.before, one.inverted, one.after), styles.values(), strict=True):
            hz = part.frequency_hz
            left.plot(hz, np.abs(part.response), line, color=f"C{colour}", linewidth=1.1)
            delay = -1e3 * np.unwrap(np.angle(part.response)) / (2 * np.pi * hz)
            right.plot(hz[hz > 2], delay[hz > 2], line, color=f"C{colour}", linewidth=1.1)
    for axes in (left, right):
        axes.axvspan(study.BAND, 30, color="0.95", zorder=0)
        axes.set(xlabel="frequency [Hz]", xlim=(0, 30))
    left.set(ylabel="amplitude [m/m, rad/rad]", ylim=(0.9, 1.15), title="How the table's axes follow their targets")
    left.annotate(f"grey: beyond {study.BAND:g} Hz", (29.8, 0.905), color="0.4", ha="right")
    right.set(ylabel="phase lag as a delay [ms]", ylim=(-1, 10), title="and how late (below 0: early)")
    left.legend([Line2D([], [], color=f"C{i}") for i in range(6)], AXES, loc="upper left", ncols=3)
    handles = [Line2D([], [], color="0.3", linestyle=line) for line in styles.values()]
    right.legend(handles, styles, loc="center left", bbox_to_anchor=(0.02, 0.3))
    return figure


def loop_model() -> StateSpace:
    """L of wing and store, without the table."""
    return substructured_loop(study.definition().virtual.system("none"), BaseExcited.of(parts.store(), parts.INTERFACE))


def loop_eigenvalues() -> tuple[np.ndarray, np.ndarray]:
    """Lines [Hz], and the eigenvalues of L there, each in its column."""
    hz = np.geomspace(2.0, 60.0, 3000)
    values = np.linalg.eigvals(loop_model().response(2 * np.pi * hz))
    for before, now in pairwise(values):  # in place
        pairs = matched(before, now)
        now[list(pairs)] = now[list(pairs.values())]
    return hz, values


@styled
def loop() -> Figure:
    """Eigenvalues of the loop of wing and store, without the table: Bode's and Nyquist's plots."""
    hz, values = loop_eigenvalues()
    figure = new_figure(10.5, 5.0)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.15, 1))
    above, below, right = (figure.add_subplot(grid[place]) for place in ((0, 0), (1, 0), (slice(None), 1)))
    above.loglog(hz, np.abs(values))
    above.axhline(1.0, color=QUIET, linewidth=0.9)
    strong = np.where(np.abs(values) > 0.05, np.degrees(np.angle(values)), np.nan)
    strong[1:][np.abs(np.diff(strong, axis=0)) > 180] = np.nan
    below.semilogx(hz, strong)
    for axes in (above, below):
        axes.set_xticks([2, 5, 10, 20, 50], labels=["2", "5", "10", "20", "50"])
        axes.set_xticks([], minor=True)
        axes.set_xlim(2, 60)
    above.set(ylabel="|eigenvalues of L|", ylim=(1e-3, 5), title="Bode: loop of wing and store, six axes, no delay")
    below.set(xlabel="frequency [Hz]", ylabel="phase [°], where above 0.05", ylim=(-190, 190))
    below.set_yticks(range(-180, 181, 90))
    late = float(np.mean([one.delays[0] for one in study.axes()]))
    for delay, colour, name in ((0.0, "tab:blue", "no delay"), (late, "tab:red", f"{1e3 * late:.1f} ms, the table's")):
        turned = values * np.exp(-2j * np.pi * hz * delay)[:, None]
        right.plot(turned.real, turned.imag, color=colour, linewidth=1.0, label=[name] + ["_"] * 5)
    circle = np.exp(1j * np.linspace(0, 2 * np.pi, 200))
    right.plot(circle.real, circle.imag, color=QUIET, linewidth=0.9, label="unit circle")
    right.plot(-1, 0, "k+", markersize=11, markeredgewidth=1.6, label="−1")
    right.set(xlim=(-1.7, 1.7), ylim=(-1.7, 1.7), aspect="equal", xlabel="Re", ylabel="Im", title="Nyquist")
    right.legend(loc="lower right")
    return figure


# --- modes ------------------------------------------------------------------------------------------------------------


@styled
def responses() -> Figure:
    """Responses of the assembled structure: true, and measured by hybrid tests."""
    figure = new_figure(11, 9)
    dots = study.by_stepped_sine(study.couplings()[WHOLE], STEPPED)
    units = measured(WHOLE).units
    grid = figure.subplots(4, 2, sharex=True)
    for axes, row in zip(grid.T.ravel(), range(len(study.CHANNELS)), strict=True):
        hz = measured(NONE).frequency_hz
        axes.semilogy(hz, np.abs(study.true_response(hz)[row]), color="0.75", linewidth=4, label="assembled structure")
        for name in (NONE, WHOLE):
            found = measured(name)
            axes.semilogy(hz, np.abs(found.values[row]), color=COLOURS[name], label=f"test {TOLD[name]}, random")
        label = f"test {TOLD[WHOLE]}, stepped sine"
        axes.semilogy(STEPPED, np.abs(dots[row]), "ko", markersize=4, fillstyle="none", label=label)
        part, name = study.CHANNELS[row].split(".")
        part = "wing, virtual" if part == "virtual" else "store, on the table"
        axes.set(ylabel=f"amplitude [{units[row]}]", title=f"{name} ({part})", xlim=(1, 30))
    for axes in grid[-1]:
        axes.set_xlabel("frequency [Hz]")
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


@styled
def damping() -> Figure:
    """Damping of the assembled structure's modes against a further delay, with and without compensation."""
    figure = new_figure(10, 4.6)
    true = study.true_poles()[0]
    for axes, name in zip(figure.subplots(1, 2, sharey=True), (NONE, WHOLE), strict=True):
        test = study.definition().model_copy(update={"coupling": study.couplings()[name]})
        rows = _followed(test)
        identified = study.table(study.couplings()[name], modes_of_test(name))
        for i, pole in enumerate(true):
            ratios = [-100 * row[i].real / abs(row[i]) for row in rows]
            axes.plot(1e3 * EXTRA, ratios, color=f"C{i}")
            axes.plot(-0.35, -100 * pole.real / abs(pole), ">", color=f"C{i}", markersize=6)
            axes.plot(0, identified[i][5], "o", color=f"C{i}", markersize=5, fillstyle="none")
        axes.set(xlabel="artificial delay on top of the table's own [ms]", title=TOLD[name].capitalize())
        axes.set(ylim=(0, 8.5), xlim=(-0.7, 8.1))
    figure.axes[0].set_ylabel("damping ratio [%]")
    handles = [Line2D([], [], color=f"C{i}") for i in range(len(true))]
    names = [f"{abs(pole) / 2 / np.pi:.1f} Hz" for pole in true]
    marks = [Line2D([], [], color="0.3", marker=mark, linestyle="", fillstyle=fill) for mark, fill in MARKS]
    told = ["true", "identified from the test"]
    figure.legend(handles + marks, names + told, loc="outside lower center", ncols=9, columnspacing=1.2)
    return figure


MARKS = ((">", "full"), ("o", "none"))


def _followed(test: Any) -> list[np.ndarray]:
    """Poles of the loop with every further delay, each the nearest to where it was before."""
    rows = [study.loop_poles(test.coupling)]
    for delay in EXTRA[1:]:
        rig = test.rig.model_copy(update={"delay": test.rig.delay + delay})
        found = linearised(test.model_copy(update={"rig": rig})).continuous
        rows.append(np.array([found[np.argmin(np.abs(found - pole))] for pole in rows[-1]]))
    return rows


@styled
def modes() -> Figure:
    """All modes of the assembled structure: true shapes, and what the hybrid test tells of them as points."""
    figure = new_figure(12.5, 4.5)
    *panels, last = figure.subplots(2, 4).ravel()
    rows = study.table(study.couplings()[WHOLE], modes_of_test(WHOLE))
    share = store_shares()
    for i, (axes, row, (true, told)) in enumerate(zip(panels, rows, shapes(), strict=True)):
        pictures.mode(axes, true, told)
        pictures.bare(axes, (-0.6, 5.9), (-2.4, 0.7))
        axes.set_title(f"{i + 1}: identified {row[4]:.2f} Hz, {row[5]:.2f} %", pad=17)
        below = f"true {row[0]:.2f} Hz, {row[1]:.2f} %; MAC {row[6]:.3f}; store {100 * share[i]:.0f} %"
        axes.text(0.0, 1.03, below, transform=axes.transAxes, fontsize=8, color="0.25")
    handles = [
        Line2D([], [], color="0.35", linestyle=":"),
        Patch(facecolor="#c9ced5", edgecolor="#8a929e"),
        Line2D([], [], color=MEASURED, marker="o", linestyle=""),
    ]
    names = ["at rest", "true shape of wing and store", "identified from the hybrid test"]
    pictures.triad(last, pictures.AIRCRAFT, np.array([0.2, -0.3, 0.45]), pictures.TURNED, 0.7)
    pictures.bare(last, (-0.6, 5.9), (-2.4, 0.7))
    last.text(1.9, 0.2, "axes of the definition", va="center")
    last.legend(handles, names, loc="lower left", bbox_to_anchor=(-0.02, 0.16), borderaxespad=0)
    last.text(-0.5, -2.4, "MAC: of identified and true shape;\nstore: its part of the kinetic energy", fontsize=8)
    return figure


def store_shares() -> list[float]:
    """Part of the store in the kinetic energy of every true mode."""
    whole, store = parts.assembled(), parts.store()
    _, columns = parts.poles(whole, study.HIGHEST)
    own = whole.selection(store.dofs) @ columns
    return [
        float((a.conj() @ store.mass @ a).real / (b.conj() @ whole.mass @ b).real)
        for a, b in zip(own.T, columns.T, strict=True)
    ]


@styled
def animate(file: Path) -> None:
    """Modes as the test tells them, for ever: the assembled structure, and the table with the store on it."""
    figure = Figure(figsize=(7.6, 4.4))
    grid = figure.subplots(2, 2, width_ratios=(1.5, 1))
    figure.subplots_adjust(0.0, 0.0, 1.0, 0.95, 0.0, 0.08)
    rows = study.table(study.couplings()[WHOLE], modes_of_test(WHOLE))
    size = study.definition().rig.platform.size

    def frame(k: int) -> list[Any]:
        phase = np.exp(2j * np.pi * k / FRAMES)
        for (left, right), i in zip(grid, MOVING, strict=True):
            true, told = ({dof: phase * value for dof, value in shape.items()} for shape in shapes()[i])
            left.clear()
            right.clear()
            pictures.mode(left, true, told)
            pictures.bare(left, (-0.7, 5.9), (-2.4, 0.9))
            left.set_title(f"  {rows[i][4]:.2f} Hz, {rows[i][5]:.2f} %")
            _table_moving(right, size, {dof: TABLE[i] * value for dof, value in {**true, **told}.items()})
            if i == MOVING[0]:
                right.set_title("the table with the store, upside down", loc="center")
        return []

    FuncAnimation(figure, frame, frames=FRAMES).save(file, writer=PillowWriter(fps=14), dpi=80)


def _table_moving(axes: Any, size: np.ndarray, motion: dict[str, complex]) -> None:
    pose = np.real([motion[dof] for dof in parts.INTERFACE])
    bodies = pictures.table(size, pose) + pictures.store(motion, MEASURED, "none", on_table=True)
    pictures.draw(axes, pictures.LABORATORY, bodies)
    pictures.bare(axes, (-2.1, 1.5), (-1.7, 1.0))


def draw(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    drawn = (setup, axes_follow, loop, responses, damping, modes)
    for one in drawn:
        file = folder / f"{one.__name__}.png"
        one().savefig(file, dpi=110)
        print(file)
    animate(folder / "modes.gif")
    print(folder / "modes.gif")


def main(folder: Path) -> None:
    draw(folder)
    print("\n".join([*axis_rows(), *mode_rows(), *error_rows()]))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
