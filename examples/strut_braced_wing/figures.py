"""Draw the paper's Figs. 3–6 and 9–12, computed from the model and from rehearsals.

python figures.py [FOLDER]        # pictures go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import halfreal
from halfreal.figures import ERROR, MEASURED, QUIET, TARGET, new_figure, styled
from halfreal.stability import performance

sys.path.insert(0, str(Path(__file__).parent))
from study import (
    HERE,
    LIFT,
    LINES,
    RISE,
    Stepped,
    bands,
    errors,
    models,
    rehearsed,
    sampled_models,
    single_gust,
    stepped,
    tuned_on_the_rig,
    with_airspeed,
)

PUBLISHED = (5.0, 1.15, -52.0)
"""Tuned on the rig of the paper: frequency [Hz], amplitude and phase [deg] of the compensator."""
UNTUNED, TUNED = "continuous model's table, sampled drive", "that table, tuned on the rig"


def bode(axes: Any, hz: np.ndarray, values: np.ndarray, **style: Any) -> None:
    """Gain and phase [deg] on two axes."""
    axes[0].plot(hz, np.abs(values), **style)
    axes[1].plot(hz, np.degrees(np.angle(values)), **style)
    axes[0].set(ylabel="gain", yscale="log")
    axes[1].set(ylabel="phase [°]", xlabel="frequency [Hz]")


@styled
def figure_3() -> Figure:
    """D_a/D_n without compensation for several devices."""
    figure = new_figure(9, 5)
    panels = figure.subplots(2, 2, sharex=True)
    for column, (title, devices) in enumerate(
        (
            ("c_n = 800 N s/m", [(k, 800.0) for k in (100.0, 1000.0, 5000.0, 8000.0, 10000.0)]),
            ("k_n = 8000 N/m", [(8000.0, c) for c in (10.0, 100.0, 200.0, 300.0, 800.0, 1000.0)]),
        )
    ):
        for stiffness, damping in devices:
            found = performance(*models(stiffness, damping), LINES)
            label = f"k_n = {stiffness:g} N/m" if column == 0 else f"c_n = {damping:g} N s/m"
            bode(panels[:, column], LINES, found.ratio, label=label)
        panels[0, column].set_title(f"D_a/D_n, {title}")
        panels[0, column].legend(fontsize=7)
    return figure


@styled
def figure_4() -> Figure:
    """P_id beside D_a/D_n: the lag it asks for is not the lead it makes up for."""
    figure = new_figure(7, 5)
    panels = figure.subplots(2, 1, sharex=True)
    found = performance(*models(8000.0, 200.0), LINES)
    bode(panels, LINES, found.ideal, color=TARGET, label="P_id")
    bode(panels, LINES, found.ratio, color=MEASURED, label="D_a/D_n without it")
    panels[0].set_title("k_n = 8000 N/m, c_n = 200 N s/m")
    panels[0].legend()
    return figure


def figures_5_and_6() -> Figure:
    """Bands of P_id and D_a/D_n when the shaker is not known exactly; as printed, and with wider ranges."""
    figure = bands(1.0).plot()
    for factor, line in ((3.6, ":"), (4.0, "-.")):
        wide = bands(factor)
        style: dict[str, Any] = {"color": ERROR, "linestyle": line, "linewidth": 1.0}
        figure.axes[1].plot(LINES, wide.ratio.gain[2], label=f"largest, ranges × {factor:g}", **style)
        figure.axes[3].plot(LINES, wide.ratio.phase_deg[[0, 2]].T, **style)
    figure.axes[1].legend(fontsize=7)
    return figure


def in_time(axes: Any, run: halfreal.Run, first: float, last: float, title: str) -> None:
    kept = (run.time >= first) & (run.time <= last)
    for name, label, colour in (("measured.displacement", "d_a", MEASURED), ("target", "d_n", TARGET)):
        axes.plot(run.time[kept], 1e3 * run.signals[name].values[kept], label=label, color=colour, linewidth=0.8)
    axes.set(title=title, ylabel="displacement [mm]", xlim=(first, last))


@styled
def figure_9(whole: halfreal.Run, bare: Stepped, tuned: Stepped) -> Figure:
    """Displacements in time: the whole test with its rise of airspeed, and 5 Hz without and with compensation."""
    figure = new_figure(9, 7)
    panels = figure.subplots(3, 1)
    in_time(panels[0], whole, 0.0, 170.0, "(a) airspeed up to 20 s, then gusts from 1 to 15 Hz; no compensation")
    in_time(panels[1], bare.run, 49.0, 49.6, "(b) 5 Hz, no compensation")
    in_time(panels[2], tuned.run, 49.0, 49.6, "(c) 5 Hz, table tuned on the rig, sampled drive")
    panels[0].legend(ncols=2, loc="upper right")
    panels[-1].set_xlabel("time [s]")
    return figure


COLOURS = (MEASURED, TARGET, ERROR, "tab:green", "tab:brown", "black")


@styled
def figure_10(tests: dict[str, Stepped]) -> Figure:
    """The compensator before and after tuning on the rig, and D_a/D_n as rehearsed, beside the model."""
    figure = new_figure(13, 5.5)
    panels = figure.subplots(2, 3, sharex=True)
    model = performance(*models(), LINES)
    bode(panels[:, 0], LINES, model.ideal, color=QUIET, label="P_id, continuous drive")
    sampled = performance(*sampled_models(), LINES)
    bode(panels[:, 0], LINES, sampled.ideal, color=QUIET, linestyle="--", label="P_id, sampled drive")
    for (name, test), colour in list(zip(tests.items(), COLOURS, strict=True))[3:]:
        mark = {"marker": "o" if name == TUNED else "s", "markersize": 4, "linestyle": "none"}
        bode(panels[:, 0], test.frequency_hz, test.compensator, color=colour, label=name, **mark)
    hz, amplitude, degrees = PUBLISHED
    star = {"marker": "*", "markersize": 11, "color": MEASURED, "linestyle": "none"}
    bode(panels[:, 0], np.array([hz]), np.array([amplitude * np.exp(1j * np.radians(degrees))]), label="paper", **star)
    bode(panels[:, 1], LINES, model.ratio, color=QUIET, label="model, no compensation")
    for (name, test), colour in zip(tests.items(), COLOURS, strict=True):
        line = {"marker": "o", "markersize": 3, "linewidth": 0.6}
        bode(panels[:, 1], test.frequency_hz, test.ratio, color=colour, label=name, **line)
        amplitude, phase = errors(test.ratio)
        panels[0, 2].plot(test.frequency_hz, 100 * amplitude, color=colour, **line)
        panels[1, 2].plot(test.frequency_hz, phase, color=colour, **line)
    panels[0, 0].set_title("(a) compensator D_c/D_n")
    panels[0, 1].set_title("(b) D_a/D_n, k_n = 8000 N/m, c_n = 800 N s/m")
    panels[0, 2].set(title="errors of D_a/D_n", ylabel="amplitude [%]", yscale="log", ylim=(1e-3, 2e3))
    panels[1, 2].set(ylabel="phase [°]", xlabel="frequency [Hz]", yscale="log", ylim=(1e-3, 1e2))
    for axes, place in zip(panels[0, :2], ("lower right", "upper left"), strict=True):
        axes.legend(fontsize=6, loc=place)
    return figure


@styled
def figure_11(tests: dict[str, Stepped]) -> Figure:
    """The device that the wing feels, beside N."""
    figure = new_figure(8, 5.5)
    panels = figure.subplots(2, 1, sharex=True)
    device = models()[1]
    bode(
        panels, LINES, 1e3 * device.response(2 * np.pi * LINES), color=QUIET, linewidth=2.5, label="N = 1/(c_n s + k_n)"
    )
    for (name, test), colour in zip(tests.items(), COLOURS, strict=True):
        bode(
            panels,
            test.frequency_hz,
            1e3 * test.emulated,
            color=colour,
            marker="o",
            markersize=3,
            linewidth=0.6,
            label=name,
        )
    panels[0].set(title="The device as the wing feels it", ylabel="gain [mm/N]")
    panels[0].legend(fontsize=7, loc="lower left")
    return figure


@styled
def figure_12() -> Figure:
    """A single gust of 5 Hz on four devices."""
    figure = new_figure(9, 6)
    panels = figure.subplots(2, 2, sharex=True)
    for row, stiffness in enumerate((100.0, 8000.0)):
        for column, damping in enumerate((200.0, 800.0)):
            axes = panels[row, column]
            for coupling, label, dashes in (("stepped_narrow", "table", "-"), ("single_gust", "broad band", "--")):
                run = single_gust(stiffness, damping, coupling)
                for name, what, colour in (("measured.displacement", "d_a", MEASURED), ("target", "d_n", TARGET)):
                    values = 1e3 * run.signals[name].values
                    axes.plot(run.time, values, dashes, color=colour, linewidth=0.9, label=f"{what}, {label}")
            axes.set(title=f"k_n = {stiffness:g} N/m, c_n = {damping:g} N s/m", xlim=(0.0, 2.0))
    panels[0, 0].legend(fontsize=7)
    panels[1, 0].set(xlabel="time [s]", ylabel="displacement [mm]")
    return figure


def rehearsals() -> dict[str, Stepped]:
    """The stepped gusts."""
    return {
        "no compensation": stepped("stepped_bare"),
        "table": stepped("stepped_narrow"),
        "broad band": stepped("stepped_broad"),
        "table, sampled drive": stepped("stepped_sampled"),
    }


def draw(folder: Path, tests: dict[str, Stepped], tuning: Sequence[Stepped], airspeed: halfreal.Run) -> None:
    tests = tests | {UNTUNED: tuning[0], TUNED: tuning[2]}
    figures = {
        "figure_3_devices": figure_3(),
        "figure_4_ideal_compensator": figure_4(),
        "figures_5_6_uncertainty": figures_5_and_6(),
        "figure_9_displacements": figure_9(airspeed, tests["no compensation"], tests[TUNED]),
        "figure_10_interface": figure_10(tests),
        "figure_11_emulated_device": figure_11(tests),
        "figure_12_single_gusts": figure_12(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=130)
        print(folder / f"{name}.png")


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        airspeed = rehearsed(with_airspeed(halfreal.load(HERE / "stepped_bare.toml"), Path(place), LIFT, RISE))
    draw(folder, rehearsals(), tuned_on_the_rig(), airspeed)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
