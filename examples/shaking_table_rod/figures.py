"""Draw what the paper's Figs. 8 and 10 to 12 show.

python figures.py [FOLDER]        # pictures go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import study
from matplotlib.figure import Figure

from halfreal.figures import BAD, QUIET, new_figure, styled
from halfreal.stability.margins import delay_margin

COLOURS = ("tab:blue", "tab:red", "tab:green")


@styled
def table(found: study.Compensation) -> Figure:
    """How the table follows along x: as it was, tuned, compensated (Fig. 8)."""
    figure = new_figure(8, 5.6)
    above, below = figure.subplots(2, 1, sharex=True)
    parts = (found.initial, found.tuned, found.compensated)
    names = ("controllers as they were", "tuned", "behind the inverse of its fit")
    for part, delay, name, colour in zip(parts, found.delays(), names, COLOURS, strict=True):
        hz = part.frequency_hz
        above.plot(hz, np.abs(part.response), color=colour, label=name)
        below.plot(hz, np.degrees(np.unwrap(np.angle(part.response))), color=colour)
        below.plot(hz[hz < 30], -360 * hz[hz < 30] * delay, ":", color=colour, linewidth=1)
        below.annotate(f"{1e3 * delay:.1f} ms", (31, -360 * 30 * delay + 8), color=colour, fontsize=9)
    above.set(ylabel="amplitude", ylim=(0, 1.3), title="Table along x, displacement over target")
    above.legend(loc="lower left")
    below.set(xlabel="frequency [Hz]", ylabel="phase [deg]", xlim=(0, 50), ylim=(-270, 10))
    return figure


@styled
def loop() -> Figure:
    """Open loop of rod and mass: amplitude, phase and Nyquist's curve (Fig. 10)."""
    model = study.open_loop(study.definition())
    margin = delay_margin(model)
    hz = np.geomspace(1.0, 60.0, 3000)
    value = model.response(2 * np.pi * hz)[:, 0, 0]
    figure = new_figure(9, 4.6)
    grid = figure.add_gridspec(2, 2)
    above, below, right = (figure.add_subplot(grid[place]) for place in ((0, 0), (1, 0), (slice(None), 1)))
    above.loglog(hz, np.abs(value))
    above.axhline(1.0, color=QUIET, linewidth=0.9)
    above.plot(margin.frequency_hz, np.ones(margin.omega.size), "o", color=BAD, markersize=4)
    below.semilogx(hz, np.degrees(np.angle(value)))
    below.plot(margin.frequency_hz, np.degrees(np.angle(model.response(margin.omega)[:, 0, 0])), "o", color=BAD, ms=4)
    above.set(ylabel="loop gain", title="Rod and mass, two modes, no delay")
    below.set(xlabel="frequency [Hz]", ylabel="phase [deg]", ylim=(-10, 190))
    total = study.facility_delay() + 28e-3
    for delay, name, colour in ((0.0, "no delay", "tab:blue"), (total, f"{1e3 * total:.0f} ms", "tab:red")):
        turned = value * np.exp(-2j * np.pi * hz * delay)
        right.plot(turned.real, turned.imag, color=colour, linewidth=1, label=name)
    circle = np.exp(1j * np.linspace(0, 2 * np.pi, 200))
    right.plot(circle.real, circle.imag, color=QUIET, linewidth=0.9)
    right.plot(-1, 0, "k+")
    right.set(xlim=(-3, 3), ylim=(-3, 3), xlabel="Re L", ylabel="Im L", title="Nyquist", aspect="equal")
    right.legend(loc="upper left")
    return figure


@styled
def poles(decays: list[study.Decay]) -> Figure:
    """Poles against the whole delay: computed for a pure delay, and identified from recorded decays (Fig. 11)."""
    tracks = study.tracks()
    figure = tracks.plot(below_hz=30.0)
    above, below = figure.axes
    figure.set_size_inches(8, 6.4)
    marks = (("found", "o", "LSCE, from decays"), ("from_response", "x", "LSCF, from responses"))
    for key, mark, name in marks:
        known = [(one.total_delay, getattr(one, key)) for one in decays if getattr(one, key) is not None]
        for i, (delay, found) in enumerate(known):
            kept = (found.damping < 0.4) & (found.frequency_hz < 30)
            label = name if i == 0 else None
            delays = np.full(kept.sum(), 1e3 * delay)
            above.plot(delays, found.frequency_hz[kept], f"k{mark}", markersize=5, fillstyle="none", label=label)
            below.plot(delays, 100 * found.damping[kept], f"k{mark}", markersize=5, fillstyle="none")
    above.set(ylim=(0, 30), title="Poles against the whole delay (dashed: brought in by it), and identified ones")
    above.legend(loc="upper left")
    below.set(ylim=(-5, 40), xlim=(0, 38))
    return figure


@styled
def histories(decays: list[study.Decay]) -> Figure:
    """Below and above the limit (Fig. 12)."""
    figure = new_figure(9, 3.4)
    for axes, one in zip(figure.subplots(1, 2), decays, strict=True):
        axes.plot(one.time, 1e3 * one.displacement, linewidth=0.6)
        axes.set(
            title=f"whole delay {1e3 * one.total_delay:.1f} ms", xlabel="time [s]", ylabel="table [mm]", xlim=(0, 6)
        )
    return figure


def main(folder: Path) -> None:
    decays = study.decays()
    figures = {
        "figure_8_table": table(study.compensation()),
        "figure_10_loop": loop(),
        "figure_11_poles": poles(decays),
        "figure_12_histories": histories([study.decay(28e-3, 3), study.decay(29e-3, 3)]),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=110)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
