"""Draw the paper's Figs. 3, 4 and 5: where the delay differential equation of this test is stable.

python stability.py [FOLDER]      # pictures go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import halfreal
from halfreal import chart
from halfreal.couplings import weights
from halfreal.figures import new_figure, styled
from halfreal.stability import DelaySystem, limit, sweep

HERE = Path(__file__).parent
M, C, K, KS = 2.2, 15.0, 2250.0, 2250.0
DELAY, STEP, POINTS = 9.4e-3, 1e-3, 12


def with_delay(delay: float) -> DelaySystem:
    """m z¨ + c z˙ + k z + k_s z(t − τ) = 0."""
    return DelaySystem.second_order([[M]], [[C]], [[K]], [(delay, [[KS]], None, None)])


def with_prediction(order: int, rho: float) -> DelaySystem:
    """The same with the least-squares polynomial, ρ ahead: one delay for each of its samples (Eq. 14)."""
    terms = [
        (DELAY + j * STEP, [[KS * weight]], None, None) for j, weight in enumerate(weights(order, POINTS, rho / STEP))
    ]
    return DelaySystem.second_order([[M]], [[C]], [[K]], terms)


@styled
def figure_4() -> Figure:
    """Real parts of the leading roots against the delay."""
    found = sweep(with_delay, np.linspace(1e-4, 0.1, 300), most=8)
    figure = new_figure(8, 4)
    axes = figure.subplots()
    axes.plot(1e3 * found.values, found.roots.real, color="tab:blue", linewidth=1.2)
    axes.axhline(0, color="k", linewidth=0.8)
    critical = 1e3 * limit(with_delay, 5e-3, 10e-3)
    axes.axvline(critical, color="tab:red", linestyle="--", linewidth=1, label=f"critical delay {critical:.5f} ms")
    axes.set(xlabel="delay τ [ms]", ylabel="Re s [1/s]", ylim=(-150, 20), xlim=(0, 100), title="Roots of the test")
    axes.legend()
    return figure


@styled
def figure_5() -> Figure:
    """The rightmost root against the prediction, for two orders and for exact prediction."""
    figure = new_figure(8, 4)
    axes = figure.subplots()
    values = np.linspace(0.0, 45e-3, 181)
    for order in (2, 3):
        found = sweep(lambda rho, order=order: with_prediction(order, rho), values, most=4)
        low, high = 1e3 * found.limits
        axes.plot(
            1e3 * values, found.abscissa, label=f"N = {order}, n = {POINTS}: stable from {low:.2f} to {high:.1f} ms"
        )
    exact = [
        sweep(with_delay, np.array([max(DELAY - rho, 1e-6)]), most=2).abscissa[0] for rho in values[values < DELAY]
    ]
    axes.plot(1e3 * values[values < DELAY], exact, color="0.6", linewidth=3, zorder=0, label="exact prediction")
    axes.axhline(0, color="k", linewidth=0.8)
    axes.axvline(1e3 * DELAY, color="k", linestyle="--", linewidth=0.8)
    axes.set(xlabel="prediction ρ [ms]", ylabel="rightmost Re s [1/s]", ylim=(-20, 30), xlim=(0, 45))
    axes.legend(fontsize=8)
    return figure


def main(folder: Path) -> None:
    uncompensated = halfreal.load(HERE / "uncompensated.toml")
    figure_3 = chart(
        uncompensated,
        x=("rig.actuator.delay", 1e-3, 15 / np.sqrt(K / M)),
        y=("rig.specimen.stiffness", 1.0, K),
        continuous=True,
    )
    print(figure_3.summary())
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in {"figure_3": figure_3.plot(), "figure_4": figure_4(), "figure_5": figure_5()}.items():
        figure.savefig(folder / f"{name}.png", dpi=130)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
