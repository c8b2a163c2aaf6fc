"""Rehearse every test of this folder, and draw what the paper's Figs. 7, 8, 9 and section 3 show.

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
    return histories(
        runs,
        {
            "over_compensated": "(a) over-compensation: prediction from 20 ms down to the delay and 0.5 ms",
            "adaptive": "(b) zero initial conditions: prediction adapting from zero",
            "uncompensated": "(c) no compensation",
        },
    )


@styled
def model_start(runs: dict[str, halfreal.Run]) -> Figure:
    """Section 2.3: the force of a model first."""
    return histories(runs, {"model_start": "model's force first, over-compensated by 0.5 ms"})


def histories(runs: dict[str, halfreal.Run], cases: dict[str, str]) -> Figure:
    """Emulated and virtual displacement and the prediction, a panel for each run."""
    figure = new_figure(9, 1.2 + 2.4 * len(cases))
    panels = np.atleast_1d(figure.subplots(len(cases), 1, sharex=True))
    for axes, (name, title) in zip(panels, cases.items(), strict=True):
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
            beside.grid(False)
            beside.yaxis.label.set_color("tab:green")
        for event in run.events:
            if event.time > 0 and event.text.startswith(("trip", "synchronised")):
                axes.axvline(event.time, color="tab:red", linewidth=0.8, linestyle="--")
                text = " trip" if event.text.startswith("trip") else "measured force takes over "
                side = "left" if event.text.startswith("trip") else "right"
                axes.annotate(text, (event.time, 12), color="tab:red", fontsize=9, ha=side)
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


@styled
def figure_7(ideal: halfreal.Run, rough: halfreal.Run, critical: float) -> Figure:
    """Steady state: displacements, and the subspace plot with the limit of stability in grey."""
    figure = new_figure(9, 7.5)
    panels = figure.subplots(2, 2)
    for (left, right), run, title in zip(panels, (ideal, rough), ("pure delay", "with friction"), strict=True):
        steady = run.time > 10.0
        time, late = run.time[steady], round(critical / run.step)
        z, x = (1e3 * run.signals[name].values for name in ("target", "measured.displacement"))
        left.plot(time, 1e3 * run.signals["reference"].values[steady], color="0.7", linewidth=3, label="z* emulated")
        left.plot(time, z[steady], linewidth=1.0, label="z virtual")
        left.plot(time, x[steady], linewidth=0.8, linestyle="--", label="x actuator")
        left.set(xlabel="time [s]", ylabel="displacement [mm]", title=f"(a) {title}", ylim=(-8, 8))
        right.plot(z[late:][steady[late:]], z[:-late][steady[late:]], color="0.7", linewidth=3, label="z(t − τ_c)")
        right.plot(z[steady], x[steady], linewidth=1.0, label="x")
        right.set(xlabel="z [mm]", ylabel="x [mm]", title=f"(b) {title}")
    panels[0, 0].legend(fontsize=8, loc="lower center", ncols=3)
    panels[0, 1].legend(fontsize=8)
    return figure


def largest(run: halfreal.Run, one: str, other: str, after: float) -> float:
    """Largest difference of two signals from a time on [mm]."""
    difference = run.signals[one].values - run.signals[other].values
    later = np.abs(difference[run.time > after])
    return 1e3 * float(np.nanmax(later)) if later.size else np.nan


def rehearsals() -> dict[str, halfreal.Run]:
    return {path.stem: halfreal.rehearse(halfreal.load(path)) for path in sorted(HERE.glob("*.toml"))}


def draw(runs: dict[str, halfreal.Run], folder: Path) -> None:
    critical = halfreal.check(halfreal.load(HERE / "uncompensated.toml")).stability.critical_delay
    assert critical is not None
    figures = {
        "figure_7": figure_7(runs["forward_prediction"], runs["with_friction"], critical),
        "figure_8_growth": growth(runs["under_compensated"]),
        "figure_9_start_ups": start_ups(runs),
        "section_2_3_model_start": model_start(runs),
        "section_3_saturating_history": plots.time_history(runs["saturating"]),
        "section_3_saturating_force": plots.force_displacement(runs["saturating"], from_time=6.0),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=90)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    draw(rehearsals(), Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
