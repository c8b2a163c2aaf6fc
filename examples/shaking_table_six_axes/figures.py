"""Draw the figures of this folder's README.

python figures.py [FOLDER]        # pictures go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import parts
import study
from matplotlib.figure import Figure

from halfreal.figures import BAD, QUIET, new_figure, styled
from halfreal.models.base_excited import BaseExcited
from halfreal.models.substructure import Substructure
from halfreal.rigs.table_parts import MAVIS
from halfreal.runs.loop_stability import linearised
from halfreal.stability.substructures import substructured_loop

COLOURS = {"none": "tab:red", "inverse": "tab:orange", "inverse and prediction": "tab:blue"}
SHOWN = ("virtual.tip", "virtual.tip twist", "rig.nose side")
EXTRA = np.arange(0.0, 8.1e-3, 1e-3)  # s, of artificial delay


@styled
def axes_follow() -> Figure:
    """Amplitude and delay of every axis, before and after its inverse filter."""
    figure = new_figure(8, 3.4)
    left, right = figure.subplots(1, 2)
    for one in study.axes():
        for part, line in ((one.before, ":"), (one.after, "-")):
            hz = part.frequency_hz
            (drawn,) = left.plot(hz, np.abs(part.response), line, color=_colour(one.name), linewidth=1)
            delay = -1e3 * np.unwrap(np.angle(part.response)) / (2 * np.pi * hz)
            right.plot(hz[hz > 2], delay[hz > 2], line, color=drawn.get_color(), linewidth=1)
        left.plot([], [], color=_colour(one.name), label=one.name)
    left.set(xlabel="frequency [Hz]", ylabel="amplitude", ylim=(0.7, 1.3), xlim=(0, 40), title="Table, six axes")
    left.legend(ncols=3)
    right.set(
        xlabel="frequency [Hz]",
        ylabel="delay [ms]",
        ylim=(0, 10),
        xlim=(0, 40),
        title="Dotted: tuned; solid: behind inverses",
    )
    return figure


def _colour(axis: str) -> str:
    return f"C{study.AXES.index(axis)}"


@styled
def responses() -> Figure:
    """Responses of the assembled structure: true, and measured by hybrid tests."""
    figure = new_figure(9, 7.5)
    steps = np.array([3.0, 3.4, 6.5, 7.2, 7.5, 7.9, 9.0, 12.0, 15.5, 15.9, 16.3, 19.0, 21.3, 23.5])
    found = {name: study.by_random(coupling) for name, coupling in study.couplings().items() if name != "inverse"}
    dots = study.by_stepped_sine(study.couplings()["inverse and prediction"], steps)
    for axes, channel in zip(figure.subplots(len(SHOWN), 1, sharex=True), SHOWN, strict=True):
        row = study.CHANNELS.index(channel)
        hz = found["none"][0]
        axes.semilogy(hz, np.abs(study.true_response(hz)[row]), color="0.75", linewidth=4, label="assembled structure")
        for name, (lines, values) in found.items():
            label = {"none": "test without compensation"}.get(name, f"test with {name}")
            axes.semilogy(lines, np.abs(values[row]), color=COLOURS[name], linewidth=1, label=f"{label}, random")
        axes.semilogy(steps, np.abs(dots[row]), "ko", markersize=4, fillstyle="none", label="stepped sine")
        axes.set(ylabel="rad/N" if "twist" in channel else "m/N", title=channel.split(".")[1], xlim=(1, 30))
    figure.axes[0].legend(ncols=2)
    figure.axes[-1].set_xlabel("frequency [Hz]")
    return figure


@styled
def damping() -> Figure:
    """Damping of the assembled structure's modes against a further delay, with and without compensation."""
    figure = new_figure(9, 3.6)
    true = study.true_poles()[0]
    for axes, name in zip(figure.subplots(1, 2, sharey=True), ("none", "inverse and prediction"), strict=True):
        test = study.definition().model_copy(update={"coupling": study.couplings()[name]})
        rows = [_near(true, test, extra) for extra in EXTRA]
        for i, pole in enumerate(true):
            ratios = [-100 * row[i].real / abs(row[i]) for row in rows]
            (drawn,) = axes.plot(1e3 * EXTRA, ratios, label=f"{abs(pole) / 2 / np.pi:.1f} Hz")
            axes.plot(0, -100 * pole.real / abs(pole), "<", color=drawn.get_color(), clip_on=False)
        axes.axhline(0.0, color=QUIET, linewidth=0.9)
        axes.set(xlabel="artificial delay [ms]", title={"none": "Without compensation"}.get(name, f"With {name}"))
        axes.set(ylim=(0, 9))
    figure.axes[0].set_ylabel("damping ratio [%] (◂ true)")
    figure.axes[1].legend(loc="upper left", ncols=4)
    return figure


def _near(true: np.ndarray, test: Any, extra: float) -> np.ndarray:
    """Poles of the loop with a further delay, each followed from that without in small steps."""
    followed = study.loop_poles(test.coupling)
    for delay in np.arange(1e-3, extra + 0.5e-3, 1e-3):
        rig = test.rig.model_copy(update={"delay": test.rig.delay + delay})
        found = linearised(test.model_copy(update={"rig": rig})).continuous
        followed = np.array([found[np.argmin(np.abs(found - pole))] for pole in followed])
    return followed


@styled
def loop() -> Figure:
    """Eigenvalues of the loop of wing and store, without the table: their size, and Nyquist's curves."""
    test = study.definition()
    model = substructured_loop(test.virtual.system("none"), BaseExcited.of(parts.store(), parts.INTERFACE))
    hz = np.geomspace(2.0, 60.0, 1500)
    values = np.linalg.eigvals(model.response(2 * np.pi * hz))
    figure = new_figure(9, 3.8)
    left, right = figure.subplots(1, 2)
    left.loglog(hz, np.sort(np.abs(values), axis=1), color="tab:blue", linewidth=1)
    left.axhline(1.0, color=QUIET, linewidth=0.9)
    left.set(xlabel="frequency [Hz]", ylabel="|eigenvalues of L|", ylim=(1e-3, 30), title="Loop gain, six axes")
    left.set_xticks([2, 5, 10, 20, 50], labels=["2", "5", "10", "20", "50"])
    left.set_xticks([], minor=True)
    for delay, colour, name in ((0.0, "tab:blue", "no delay"), (7.8e-3, "tab:red", "7.8 ms")):
        turned = (values * np.exp(-2j * np.pi * hz * delay)[:, None]).ravel()
        right.plot(turned.real, turned.imag, ".", color=colour, markersize=1.5, label=name)
    right.plot(-1, 0, "+", color=BAD, markersize=9)
    right.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal", xlabel="Re", ylabel="Im", title="Nyquist")
    right.legend(markerscale=6)
    return figure


@styled
def picture() -> Figure:
    """The table with the store on it, and modes of the assembled structure: computed (lines), identified (dots)."""
    figure = new_figure(10, 7.5)
    scene = figure.add_subplot(2, 2, 1, projection="3d")
    _table(scene)
    coupling = study.couplings()["inverse and prediction"]
    found = study.modal(*study.by_random(coupling))
    whole = parts.assembled()
    poles, shapes = parts.poles(whole, study.HIGHEST)
    for panel, mode in zip((2, 3, 4), (0, 2, 4), strict=True):
        axes = figure.add_subplot(2, 2, panel, projection="3d")
        k = int(np.argmin(np.abs(found.poles - poles[mode])))
        _mode(axes, whole, shapes[:, mode], found.residues[:, k])
        told, true = (found.frequency_hz[k], 100 * found.damping[k]), poles[mode]
        own = abs(true) / 2 / np.pi, -100 * true.real / abs(true)
        axes.set_title("{:.2f} Hz {:.2f} % (true {:.2f} Hz {:.2f} %)".format(*told, *own))
    return figure


def _lines(points: dict[str, np.ndarray]) -> list[np.ndarray]:
    wing = np.array([points[f"wing.{i + 1}"] for i in range(parts.WING_ELEMENTS + 1)])
    body = np.array([points[f"body.{i + 1}"] for i in range(5)])
    return [wing, body, np.array([points[f"wing.{parts.STATION}"], points["body.3"]])]


def _mode(axes: Any, whole: Substructure, shape: np.ndarray, residues: np.ndarray) -> None:
    values = dict(zip(whole.dofs, shape, strict=True))
    own = np.array([values[dof] for dof in study.DOFS])
    turn = np.exp(-1j * np.angle(own[np.argmax(np.abs(own))]))
    measured = residues * (residues.conj() @ own) / (residues.conj() @ residues)  # in the scale of the computed shape
    places = parts.positions()
    moved, largest = {}, max(abs(value) for dof, value in values.items() if dof.rsplit(".", 1)[1] in "xyz")
    for node, place in places.items():
        motion = [np.real(turn * values.get(f"{node}.{direction}", 0.0)) for direction in "xyz"]
        moved[node] = place + 0.6 * np.array(motion) / largest
    for points, line in ((places, ":"), (moved, "-")):
        for path in _lines(points):
            axes.plot(*path.T, line, color="0.6" if line == ":" else "tab:blue", linewidth=1.5)
    for dof, value in zip(study.DOFS, measured, strict=True):
        node, direction = dof.rsplit(".", 1)
        if direction in "xyz":
            place = moved[node].copy()
            place["xyz".index(direction)] = places[node]["xyz".index(direction)] + 0.6 * np.real(turn * value) / largest
            axes.plot(*place[:, None], "o", color="tab:red", markersize=4)
    axes.set(xlabel="x", ylabel="y", zlabel="z", box_aspect=(4, 6, 2), xlim=(-0.5, 3.5), ylim=(0, 6), zlim=(-1, 1))
    axes.invert_zaxis()
    axes.view_init(18, -35)


def _table(axes: Any) -> None:
    corners = np.array([[x, y] for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))]) * 0.75
    for z in (0.0, -0.2):
        axes.plot(corners[:, 0], corners[:, 1], z, color="0.4")
    for x, y in corners[:4]:
        axes.plot([x, x], [y, y], [0, -0.2], color="0.4")
    for one in MAVIS:
        foot = one.position - one.length * one.direction
        axes.plot(*np.array([one.position, foot]).T, color="tab:orange", linewidth=3)
    for path in _lines({node: place - 4.0 * parts.ALONG for node, place in parts.positions().items()})[1:]:
        axes.plot(*path.T, color="tab:blue", linewidth=3)
    axes.set(
        xlabel="x", ylabel="y", zlabel="z", title="Store on the table and its seven actuators", box_aspect=(1, 1, 0.8)
    )
    axes.view_init(20, -60)


def main(folder: Path) -> None:
    figures = {
        "axes": axes_follow(),
        "loop": loop(),
        "responses": responses(),
        "damping": damping(),
        "table_and_modes": picture(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=110)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
