"""Draw what the paper's Figs. 3–6 and 9–12 show, computed from the model and from rehearsals.

python figures.py [FOLDER]        # pictures go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import halfreal
from halfreal.figures import ERROR, MEASURED, QUIET, TARGET, new_figure, styled
from halfreal.stability import performance
from halfreal.studies import compensator_bands

sys.path.insert(0, str(Path(__file__).parent))
from study import HERE, Stepped, models, single_gust, stepped

LINES = np.linspace(0.25, 15.0, 119)


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
    """Bands of P_id and D_a/D_n when the shaker is not known exactly."""
    rig = halfreal.load(HERE / "stepped_bare.toml").rig
    bands = compensator_bands(rig.shaker, rig.drive, models()[1], LINES)
    print(bands.summary())
    return bands.plot()


@styled
def figure_9(bare: Stepped, narrow: Stepped) -> Figure:
    """Displacements in time: the whole test, and at 5 Hz without and with compensation."""
    figure = new_figure(9, 7)
    panels = figure.subplots(3, 1)
    cases = ((bare, 0.0, 150.0, "(a) no compensation"), (bare, 49.0, 49.6, "(b) 5 Hz, no compensation"))
    for axes, (test, first, last, title) in zip(
        panels, (*cases, (narrow, 49.0, 49.6, "(c) 5 Hz, narrow-band table")), strict=True
    ):
        kept = (test.run.time >= first) & (test.run.time <= last)
        for name, label, colour in (("measured.displacement", "d_a", MEASURED), ("target", "d_n", TARGET)):
            axes.plot(
                test.run.time[kept], 1e3 * test.run.signals[name].values[kept], label=label, color=colour, linewidth=0.8
            )
        axes.set(title=title, ylabel="displacement [mm]")
    panels[0].legend(ncols=2)
    panels[-1].set_xlabel("time [s]")
    return figure


@styled
def figure_10(tests: dict[str, Stepped]) -> Figure:
    """D_a/D_n as rehearsed, beside the model."""
    figure = new_figure(8, 5.5)
    panels = figure.subplots(2, 1, sharex=True)
    bode(panels, LINES, performance(*models(), LINES).ratio, color=QUIET, label="model, no compensation")
    for (name, test), colour in zip(tests.items(), (MEASURED, TARGET, ERROR, "tab:green"), strict=True):
        bode(panels, test.frequency_hz, test.ratio, color=colour, marker="o", markersize=3, linewidth=0.6, label=name)
    panels[0].set_title("D_a/D_n at the interface, k_n = 8000 N/m, c_n = 800 N s/m")
    panels[0].legend(fontsize=7.5)
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
    for (name, test), colour in zip(tests.items(), (MEASURED, TARGET, ERROR, "tab:green"), strict=True):
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
    panels[0].legend(fontsize=7.5)
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


def main(folder: Path) -> None:
    tests = {
        "no compensation": stepped("stepped_bare"),
        "narrow-band table": stepped("stepped_narrow"),
        "broad-band inverse": stepped("stepped_broad"),
        "narrow-band table, sampled drive": stepped("stepped_sampled"),
    }
    for name, test in tests.items():
        amplitude, phase = np.abs(np.abs(test.ratio) - 1.0), np.abs(np.degrees(np.angle(test.ratio)))
        low = test.frequency_hz <= 8.0
        print(
            f"{name}: amplitude error {100 * amplitude.mean():.2g} % on average, phase up to {phase[low].max():.2g}° "
            f"to 8 Hz and {phase.max():.2g}° to 15 Hz"
        )
    figures = {
        "figure_3_devices": figure_3(),
        "figure_4_ideal_compensator": figure_4(),
        "figures_5_6_uncertainty": figures_5_and_6(),
        "figure_9_displacements": figure_9(tests["no compensation"], tests["narrow-band table"]),
        "figure_10_interface": figure_10(tests),
        "figure_11_emulated_device": figure_11(tests),
        "figure_12_single_gusts": figure_12(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=130)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
