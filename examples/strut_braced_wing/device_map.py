"""Map of the peak displacement over the device's stiffness and damping, under a single gust of 5 Hz.

python device_map.py [FOLDER]     # results.sqlite and the picture go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import halfreal
from halfreal.figures import new_figure, styled

HERE = Path(__file__).parent
PEAK = "peak rig.displacement"


def plan(points: int) -> halfreal.Plan:
    """A grid of devices as the paper explored them; c_n from 200 N s/m up, its lowest in the hybrid tests."""
    return halfreal.Plan(
        title="Strut-braced wing: stiffness and damping of the device",
        vary={
            "virtual.stiffness": {"low": 100.0, "high": 10000.0, "count": points, "scale": "log"},
            "virtual.damping": {"low": 200.0, "high": 1000.0, "count": points, "scale": "log"},
        },
        scores=(PEAK, "synchronisation nrmse", "growth rate"),
        minimise=PEAK,
        check=False,
    )


@styled
def drawn(results: object) -> Figure:
    stiffness, damping, peak = (results[name] for name in ("virtual.stiffness", "virtual.damping", PEAK))  # type: ignore[index]
    shape = (np.unique(stiffness).size, np.unique(damping).size)
    figure = new_figure(6.5, 4.5)
    axes = figure.subplots()
    k, c, d = (np.asarray(values).reshape(shape) for values in (stiffness, damping, 1e3 * peak))
    filled = axes.contourf(k, c, d, levels=14, cmap="viridis_r")
    lines = axes.contour(k, c, d, levels=7, colors="white", linewidths=0.6)
    axes.clabel(lines, fmt="%.0f mm", fontsize=7)
    figure.colorbar(filled, label="peak displacement of the strut root [mm]")
    axes.set(xscale="log", yscale="log", xlabel="k_n [N/m]", ylabel="c_n [N s/m]", title="One gust of 5 Hz")
    return figure


def main(folder: Path, points: int = 9) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    results = halfreal.sweep(halfreal.load(HERE / "single_gust.toml"), plan(points), folder / "device_map.sqlite")
    print(f"largest growth rate of a loop: {results['growth rate'].max():.3g} 1/s")
    drawn(results).savefig(folder / "device_map.png", dpi=130)
    print(folder / "device_map.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
