"""Rehearse every test of this folder and draw what the paper's Figs. 7, 8, 9 and section 3 show.

python figures.py [FOLDER]        # pictures go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import halfreal
from halfreal.presentation import new_figure, plots, styled

HERE = Path(__file__).parent


@styled
def start_ups(runs: dict[str, halfreal.Run]) -> Figure:
    """Three ways to start a loop whose delay exceeds the critical one (Fig. 9)."""
    figure = new_figure(9, 8)
    panels = figure.subplots(3, 1, sharex=True)
    cases = (
        ("model_start", "(a) model's force first, over-compensated by 0.5 ms"),
        ("adaptive", "(b) measured force from rest, prediction adapting from zero"),
        ("uncompensated", "(c) no compensation"),
    )
    for axes, (name, title) in zip(panels, cases, strict=True):
        run = runs[name]
        millimetres = 1e3 * run.signals["target"].values
        axes.plot(run.time, 1e3 * run.signals["reference"].values, color="0.7", linewidth=2.5, label="z* emulated")
        axes.plot(run.time, millimetres, linewidth=1.0, label="z virtual")
        axes.set(title=title, ylabel="displacement [mm]", ylim=(-15, 15), xlim=(0, 10))
        if "coupling.prediction" in run.signals:
            beside = axes.twinx()
            beside.plot(run.time, 1e3 * run.signals["coupling.prediction"].values, color="tab:green", label="ρ")
            beside.axhline(9.4, color="tab:green", linewidth=0.8, linestyle=":")
            beside.set(ylabel="prediction ρ [ms]", ylim=(0, 25))
            beside.yaxis.label.set_color("tab:green")
        for event in run.events:
            if event.time > 0 and event.text.startswith(("trip", "synchronised")):
                axes.axvline(event.time, color="tab:red", linewidth=0.8, linestyle="--")
                text = "trip " if event.text.startswith("trip") else "measured force takes over "
                axes.annotate(text, (event.time, 12), color="tab:red", fontsize=9, ha="right")
    panels[0].legend(loc="lower left", ncols=2)
    panels[-1].set_xlabel("time [s]")
    return figure


@styled
def growth(run: halfreal.Run) -> Figure:
    """Slow exponential growth at a residual delay of 6.8 ms (Fig. 8)."""
    assert run.stability is not None
    rate = np.log(run.stability.spectral_radius) / run.step
    error = 1e3 * (run.signals["target"].values - run.signals["reference"].values)
    forced = np.exp(1j * 2 * np.pi * 1.5 * run.time)
    basis = np.column_stack([forced.real, forced.imag])
    free = error - basis @ np.linalg.lstsq(basis, error, rcond=None)[0]
    start = np.abs(free[(run.time > 2) & (run.time < 4)]).max()
    figure = new_figure(9, 3.5)
    axes = figure.subplots()
    axes.plot(run.time, free, linewidth=0.3)
    for sign in (1, -1):
        axes.plot(run.time, sign * start * np.exp(rate * (run.time - 3)), "k--", linewidth=1.0)
    axes.set(
        title=f"Prediction 2.6 ms: free motion, and exp({rate:.4f} t/s) from the linearised code (dashed)",
        xlabel="time [s]",
        ylabel="z − z*, free part [mm]",
        xlim=(0, run.time[-1]),
    )
    return figure


def main(folder: Path) -> None:
    runs = {path.stem: halfreal.rehearse(halfreal.load(path)) for path in sorted(HERE.glob("*.toml"))}
    steady = runs["forward_prediction"]
    critical = halfreal.check(halfreal.load(HERE / "uncompensated.toml")).stability.critical_delay
    figures = {
        "figure_7a_time_history": plots.time_history(steady),
        "figure_7b_synchronisation": plots.synchronisation(steady, delay=critical, from_time=6.0),
        "figure_8_growth": growth(runs["under_compensated"]),
        "figure_9_start_ups": start_ups(runs),
        "section_3_saturating_history": plots.time_history(runs["saturating"]),
        "section_3_saturating_force": plots.force_displacement(runs["saturating"], from_time=6.0),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=130)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
