"""Learning curves of three adaption strategies (the paper's Figs. 11 and 12), and a frequency that drifts.

python figures.py [FOLDER]        # pictures go to FOLDER, "results" if left out

Every curve is a run of the definition's own loop.  The identification comes first, with the excitation silent; the
excitation sets in when it ends.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import halfreal
from halfreal import build
from halfreal.contracts import Purpose
from halfreal.couplings import Harmonic, HarmonicLms, HarmonicRls
from halfreal.definition import Excitations
from halfreal.figures import new_figure, styled
from halfreal.kernels import Block
from halfreal.models import Sine
from halfreal.safety import Limits

HERE = Path(__file__).parent
SECONDS, WINDOW = 60.0, 0.25
GAINS, FACTORS = (1.0, 10.0, 30.0, 100.0), (0.9, 0.99, 0.999, 0.9999)
"""The paper varies both over four values that it does not print."""
SEEDS = range(5, 21)
"""Draws by which gains are compared: not those on which the rule that chooses memories was settled."""
DRAWN = {"frequencies": [8.0], "random_interval": 2.0, "amplitude": 1.0}
"""Random drives of the identification, as in the paper: uniform within ±1 N, changed every 2 s."""


class Later(Sine):
    """A sine that sets in later."""

    begins: float = 0.0

    def block(self, name: str, shift: float = 0.0) -> Block:
        return super().block(name, shift - self.begins)


def learning_curve(coupling: Harmonic, seconds: float = SECONDS) -> tuple[np.ndarray, np.ndarray]:
    """Time since the end of the identification [s], and envelope of the gap [m] in windows of 0.25 s."""
    start = coupling.identification_time
    definition = halfreal.load(HERE / "lms.toml")
    sine = Later(force=1.0, frequency=8.0, phase=np.pi / 2, begins=start)
    definition = definition.model_copy(update={"coupling": coupling, "excitation": Excitations(virtual=sine)})
    step = definition.timing.step
    loop = build(definition.model_copy(update={"limits": Limits()}), Purpose(endless=True))
    log = loop.run(round((start + seconds) / step), record=("target", "measured.displacement")).log
    gap = (log[:, 2] - log[:, 1])[round(start / step) :]
    length = round(WINDOW / step)
    windows = np.abs(gap[: len(gap) // length * length]).reshape(-1, length).max(axis=1)
    return WINDOW * np.arange(1, len(windows) + 1), windows


def strategies(identification: float, seed: int = 1) -> dict[str, dict[str, Harmonic]]:
    """Couplings by strategy and label; the last of each leaves its memories to be chosen."""
    common: dict[str, Any] = {**DRAWN, "identification_time": identification, "seed": seed}
    rls = {**common, "identification_forgetting": 0.99}
    return {
        "LMS": {
            **{f"μ = {mu:g}": HarmonicLms(**common, gain=mu, identification_gain=0.01) for mu in GAINS},
            "chosen": HarmonicLms(**common),
        },
        **{
            f"RLS, {mode}": {
                **{f"μ = {mu:g}": HarmonicRls(**rls, mode=mode, forgetting=mu) for mu in FACTORS},
                "chosen": HarmonicRls(**common, mode=mode),
            }
            for mode in ("sequential", "simultaneous")
        },
    }


def settled(time: np.ndarray, envelope: np.ndarray, level: float = 1e-4) -> float:
    """When the gap falls below a level [m] for good; NaN if it does not."""
    above = np.flatnonzero(~(envelope < level))
    return float("nan") if above.size and above[-1] == len(time) - 1 else float(time[above[-1]]) if above.size else 0.0


@styled
def learning_curves(identification: float) -> Figure:
    figure = new_figure(10.4, 9.0)
    found = strategies(identification)
    panels = figure.subplots(len(found), 1, sharex=True)
    for axes, (strategy, couplings) in zip(panels, found.items(), strict=True):
        for label, coupling in couplings.items():
            time, envelope = learning_curve(coupling)
            look = {"color": "k", "linewidth": 2.0} if label == "chosen" else {"linewidth": 1.2}
            axes.semilogy(time, np.clip(envelope, 1e-11, 1e3), label=label, **look)
        axes.set(ylim=(1e-9, 1.0), ylabel="gap, envelope [m]", xlim=(0, SECONDS))
        axes.set_title(f"{strategy}, identified for {identification:g} s")
        axes.legend(loc="upper right", ncols=5)
    panels[-1].set_xlabel("time since the excitation set in [s]")
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


def main(folder: Path) -> None:
    figures = {
        "figure_11_learning_curves": learning_curves(100.0),
        "figure_12_short_identification": learning_curves(0.01),
        "drifting_frequency": drifting(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=130)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
