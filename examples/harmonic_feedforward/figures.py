"""Learning curves of three adaption strategies (the paper's Figs. 11 and 12), the guards of Alg. 4, and more runs.

python figures.py [FOLDER]        # pictures go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import study
from matplotlib.figure import Figure
from study import CHOSEN, HERE, SECONDS, WINDOW, learning_curve, strategies, ten_tones

import halfreal
from halfreal.couplings import HarmonicRls
from halfreal.figures import new_figure, styled


@styled
def learning_curves(identification: float) -> Figure:
    figure = new_figure(10.4, 9.0)
    found = strategies(identification)
    panels = figure.subplots(len(found), 1, sharex=True)
    for axes, (strategy, couplings) in zip(panels, found.items(), strict=True):
        for label, coupling in couplings.items():
            time, envelope = learning_curve(coupling)
            look = {"color": "k", "linewidth": 2.0} if label == CHOSEN else {"linewidth": 1.2}
            axes.semilogy(time, np.clip(envelope, 1e-11, 1e3), label=label, **look)
        axes.set(ylim=(1e-9, 1.0), ylabel="gap, envelope [m]", xlim=(0, SECONDS))
        axes.set_title(f"{strategy}, identified for {identification:g} s")
        axes.legend(loc="upper right", ncols=5)
    panels[-1].set_xlabel("time since the excitation set in [s]")
    return figure


@styled
def guards() -> Figure:
    """Alg. 4 with and without the guards that are added here, all draws."""
    figure = new_figure(10.4, 4.2)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, as_printed in zip(panels, (True, False), strict=True):
        found = study.of_guards(100.0, 0.999, as_printed)
        time = WINDOW * np.arange(1, found.envelopes.shape[1] + 1)
        for envelope, when in zip(found.envelopes, found.settled, strict=True):
            axes.semilogy(time, envelope, color="tab:red" if np.isinf(when) else "tab:blue", linewidth=0.8)
        name = "Alg. 4 as printed" if as_printed else "with both guards"
        axes.set(title=f"{name}: {found.never} of {len(found.envelopes)} draws do not settle", xlim=(0, SECONDS))
        axes.axhline(1e-4, color="k", linewidth=0.8, linestyle=":")
        axes.set(ylim=(1e-9, 1.0), xlabel="time since the excitation set in [s]")
    panels[0].set_ylabel("gap, envelope [m]")
    return figure


@styled
def starts() -> Figure:
    """Started from nothing and from the model's drive; the excitation's gap from a twin and identified."""
    figure = new_figure(10.4, 4.2)
    axes = figure.subplots()
    curves = {
        "LMS, from nothing": study.started("LMS", "none"),
        "LMS, from the model's drive": study.started("LMS", "model"),
        "RLS, from nothing": study.started("RLS", "none"),
        "RLS, from the model's drive": study.started("RLS", "model"),
        "RLS, gap of the excitation identified": study.started("RLS", "none", "identified"),
        "the same, H identified for 20 s, specimen excited": study.specimen_excited(),
    }
    for label, envelope in curves.items():
        axes.semilogy(WINDOW * np.arange(1, len(envelope) + 1), np.clip(envelope, 1e-13, None), label=label)
    axes.set(xlim=(0, SECONDS), xlabel="time since the adaption began [s]", ylabel="gap, envelope [m]")
    axes.legend(ncols=2, fontsize=8)
    return figure


@styled
def tones_in_time() -> Figure:
    figure = new_figure(10.4, 3.6)
    axes = figure.subplots()
    for law in ("RLS", "LMS", "LMS, μ_c = 1 1/s"):
        found = ten_tones(law)
        axes.semilogy(found.time, found.gap, label=law, linewidth=1.4)
    axes.set(xlabel="time [s]", ylabel="gap, largest of a second [m]", title="Ten tones at once: the gap in time")
    axes.set_xlim(0, found.time[-1])
    axes.legend()
    return figure


@styled
def drifting() -> Figure:
    """The frequency that drifts, followed, and what a fixed harmonic does with it."""
    definition = halfreal.load(HERE / "following.toml")
    fixed = HarmonicRls(frequencies=[8.0], transfer="model")
    runs = {
        "followed": halfreal.rehearse(definition),
        "fixed at 8 Hz": halfreal.rehearse(definition.model_copy(update={"coupling": fixed})),
    }
    figure = new_figure(10.4, 4.6)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.6))
    run = runs["followed"]
    upper.plot(run.time, 8.0 + run.time / 100.0, color="0.7", linewidth=3, label="excitation")
    upper.plot(run.time, run.signals["excitation.frequency"].values, linewidth=1.0, label="followed")
    upper.set(ylabel="frequency [Hz]", xlim=(0, 100))
    upper.legend(loc="upper left")
    for label, one in runs.items():
        lower.semilogy(one.time, np.sqrt(one.signals["coupling.nmse"].values), label=label)
    lower.set(ylabel="gap / target", xlabel="time [s]", ylim=(1e-3, 10))
    lower.legend(loc="upper right")
    return figure


FIGURES = {
    "figure_11_learning_curves": lambda: learning_curves(100.0),
    "figure_12_short_identification": lambda: learning_curves(0.01),
    "guards": guards,
    "starts": starts,
    "figure_5_in_time": tones_in_time,
    "drifting_frequency": drifting,
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        draw().savefig(folder / f"{name}.png", dpi=100)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
