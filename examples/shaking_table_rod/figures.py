"""Draw what the paper's Figs. 5 to 8 and 10 to 12 show, and print the table of poles of the README.

python figures.py [FOLDER]        # pictures go to FOLDER, "results" if left out
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import oscillator
import study
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from halfreal.figures import BAD, QUIET, new_figure, styled
from halfreal.identification import Poles
from halfreal.stability import Tracks, delay_margin

COLOURS = ("tab:blue", "tab:red", "tab:green")  # as the paper's: mode 1, mode 2, the delay's pole
NAMES = ("mode 1", "mode 2", "the delay's pole")
HIGHEST_HZ, LONGEST = 32.0, 38e-3  # of the stability diagram
NEAR = 0.25  # part of its own size by which an identified pole may be off one that is computed
TOLD = (6e-3, 14e-3, 22e-3, 26e-3, 29e-3, 31e-3, 34e-3, 35e-3)  # s, delays of the README's table
SHOWN = 6.0  # s, of the histories


@styled
def table(found: study.Compensation) -> Figure:
    """How the table follows along x: as it was, tuned, compensated (Fig. 8)."""
    figure = new_figure(8, 5.6)
    above, below = figure.subplots(2, 1, sharex=True)
    parts = (found.initial, found.tuned, found.compensated)
    names = ("controllers as they were", "tuned controllers", "tuned, behind the inverse of the fit")
    for part, delay, name, colour in zip(parts, found.delays(), names, ("0.45", *COLOURS[1::-1]), strict=True):
        hz = part.frequency_hz
        above.plot(hz, np.abs(part.response), color=colour, label=name)
        below.plot(hz, np.degrees(np.unwrap(np.angle(part.response))), color=colour)
        band = np.array([0.0, study.BAND])
        below.plot(band, -360 * band * delay, ":", color=colour, linewidth=1.6, label=f"delay of {1e3 * delay:.1f} ms")
    for axes in (above, below):
        axes.axvspan(study.BAND, 50, color="0.95", zorder=0)
    above.set(ylabel="amplitude [m/m]", ylim=(0, 1.3), title="Table along x: measured displacement over target")
    above.annotate(f"beyond the band, {study.BAND:g} Hz", (study.BAND + 0.5, 1.2), color="0.4")
    above.legend(loc="lower left")
    below.set(xlabel="frequency [Hz]", ylabel="phase [°]", xlim=(0, 50), ylim=(-270, 10), yticks=range(-270, 1, 45))
    below.legend(loc="lower left", title="dotted, fitted up to 30 Hz:", alignment="left")
    return figure


@styled
def loop() -> Figure:
    """Open loop of rod and mass: amplitude, phase and Nyquist's curve (Fig. 10)."""
    model = study.open_loop(study.definition())
    margin = delay_margin(model)
    hz = np.geomspace(1.0, 60.0, 6000)
    value = model.response(2 * np.pi * hz)[:, 0, 0]
    crossings = model.response(margin.omega)[:, 0, 0]
    figure = new_figure(10, 5.0)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.15, 1))
    above, below, right = (figure.add_subplot(grid[place]) for place in ((0, 0), (1, 0), (slice(None), 1)))
    above.loglog(hz, np.abs(value), color=COLOURS[0])
    above.axhline(1.0, color=QUIET, linewidth=0.9)
    below.semilogx(hz, np.degrees(np.angle(value)), color=COLOURS[0])
    below.axhline(-180.0, color=QUIET, linewidth=0.9)
    for axes, heights in ((above, np.abs(crossings)), (below, np.degrees(np.angle(crossings)))):
        axes.plot(margin.frequency_hz, heights, "o", color=BAD, markersize=4.5)
        axes.set_xticks([1, 2, 5, 10, 20, 50], labels=["1", "2", "5", "10", "20", "50"])
        axes.set_xticks([], minor=True)
        axes.set_xlim(1, 60)
    for crossing, shift in zip(margin.frequency_hz, ((-5, 5), (5, 5), (6, -18), (5, 5)), strict=True):
        side = "left" if shift[0] > 0 else "right"
        above.annotate(f"{crossing:.2f} Hz", (crossing, 1.0), shift, textcoords="offset points", ha=side)
    last = margin.critical_frequency_hz
    phase = float(np.degrees(np.angle(crossings[-1])))
    below.annotate("", (last, phase), (last, -180), arrowprops={"arrowstyle": "<->", "color": BAD})
    told = f"phase margin {180 + phase:.1f}°\nat {last:.2f} Hz:\n{1e3 * margin.critical_delay:.2f} ms of delay"
    below.annotate(told, (1.06 * last, -150), color=BAD)
    above.set(ylabel="|L| [N/N]", title="Bode: rod and mass, two modes, no delay", ylim=(5e-3, 40))
    below.set(xlabel="frequency [Hz]", ylabel="phase of L [°]", ylim=(-200, 200), yticks=range(-180, 181, 90))
    limit = margin.critical_delay
    lines = ((0.0, "no delay", COLOURS[0]), (limit, f"{1e3 * limit:.2f} ms, the limit", COLOURS[1]))
    for delay, name, colour in lines:
        turned = value * np.exp(-2j * np.pi * hz * delay)
        right.plot(turned.real, turned.imag, color=colour, label=name)
    circle = np.exp(1j * np.linspace(0, 2 * np.pi, 200))
    right.plot(circle.real, circle.imag, color=QUIET, linewidth=0.9, label="unit circle")
    right.plot(-1, 0, "k+", markersize=11, markeredgewidth=1.6, label="−1")
    right.set(xlim=(-3, 3), ylim=(-3, 3), xlabel="Re L", ylabel="Im L", title="Nyquist", aspect="equal")
    right.legend(loc="upper right")
    return figure


def attributed(found: Poles | None, computed: np.ndarray) -> list[int | None]:
    """Which identified pole is that of mode 1, of mode 2 and of the delay: the nearest, if there is one near."""
    near: list[int | None] = []
    for pole in computed:
        away = np.abs(found.poles - pole) / abs(pole) if found is not None and not np.isnan(pole) else np.ones(1)
        best = int(np.argmin(away))
        near.append(best if away[best] < NEAR and found is not None else None)
    return near


def three(one: study.Decay) -> np.ndarray:
    """Computed poles of mode 1, mode 2 and the delay, with all of the table; not a number where one is beyond."""
    slow = one.computed[:3]
    return np.concatenate([slow, np.full(3 - slow.size, np.nan)])


def three_tracks(tracks: Tracks) -> list[int]:
    """Tracks of mode 1, mode 2 and the slowest pole of the delay."""
    upper = np.flatnonzero(np.nanmax(tracks.poles.imag[-1:], axis=0, initial=-1.0) > 0)
    slowest = upper[np.argsort(tracks.frequency_hz[-1, upper])][:3]
    return sorted(slowest, key=lambda i: (i >= tracks.own, tracks.frequency_hz[-1, i]))


@styled
def poles(decays: list[study.Decay]) -> Figure:
    """Poles against the whole delay: computed for a pure delay, and identified from recorded motions (Fig. 11)."""
    tracks = study.tracks(round(LONGEST / study.STEP))
    margin = delay_margin(study.open_loop(study.definition()))
    figure = new_figure(8.6, 7.4)
    above, below = figure.subplots(2, 1, sharex=True)
    delays = 1e3 * tracks.delays_s
    for track, colour in zip(three_tracks(tracks), COLOURS, strict=True):
        line = "-" if track < tracks.own else "--"
        hz = tracks.frequency_hz[:, track]
        inside = np.where(hz < HIGHEST_HZ, 1.0, np.nan)
        above.plot(delays, inside * hz, line, color=colour)
        below.plot(delays, inside * 100 * tracks.damping[:, track], line, color=colour)
    for one in decays:
        _marks(above, below, one)
    for axes in (above, below):
        axes.axvspan(1e3 * margin.critical_delay, 1e3 * LONGEST, facecolor=BAD, alpha=0.10)
        axes.axvline(1e3 * margin.critical_delay, color=BAD, linewidth=1.2)
        axes.axvline(delays[tracks.first_unstable], color=BAD, linewidth=1.2, linestyle=":")
    below.axhline(0.0, color=QUIET, linewidth=0.9)
    handles = [
        *(Line2D([], [], color=c, linestyle="--" if c == COLOURS[2] else "-") for c in COLOURS),
        Line2D([], [], color="0.25", marker="o", linestyle="", fillstyle="none"),
        Line2D([], [], color="0.25", marker="x", linestyle=""),
        Line2D([], [], color=BAD),
        Line2D([], [], color=BAD, linestyle=":"),
    ]
    names = [
        *(f"{name}, computed" for name in NAMES),
        "identified from the decay (LSCE)",
        "identified from the response (LSCF)",
        f"limit: {1e3 * margin.critical_delay:.2f} ms, continuous (Nyquist)",
        f"limit: {delays[tracks.first_unstable]:.0f} ms, sampled in steps of 1 ms",
    ]
    figure.legend(handles, names, loc="outside lower center", ncols=3)
    above.set(ylim=(0, HIGHEST_HZ), ylabel="frequency [Hz]", title="Poles of rod and mass against the whole delay")
    below.set(ylim=(-5, 40), xlim=(0, 1e3 * LONGEST), ylabel="damping ratio [%]", xlabel="whole delay [ms]")
    above.annotate("unstable", (36.3, 27), color=BAD, ha="center")
    return figure


def _marks(above: Any, below: Any, one: study.Decay) -> None:
    for found, mark in ((one.found, "o"), (one.from_response, "x")):
        for k, colour in zip(attributed(found, three(one)), COLOURS, strict=True):
            if k is not None and found is not None and found.frequency_hz[k] < HIGHEST_HZ:
                style = {"color": colour, "marker": mark, "markersize": 6, "fillstyle": "none", "linestyle": ""}
                above.plot(1e3 * one.total_delay, found.frequency_hz[k], **style)
                below.plot(1e3 * one.total_delay, 100 * found.damping[k], **style)


@styled
def histories(below: study.Decay, above: study.Decay) -> Figure:
    """Below and above the limit (Fig. 12), with the envelope of the delay's pole as it is identified."""
    figure = new_figure(10, 3.8)
    sides = figure.subplots(1, 2)
    for axes, one, verdict in zip(sides, (below, above), ("stable", "unstable"), strict=True):
        axes.plot(one.time, 1e3 * one.displacement, linewidth=0.7, color=COLOURS[0], label="measured")
        k = attributed(one.found, three(one))[2]
        if one.found is not None and k is not None:
            rate, hz, ratio = one.found.poles[k].real, one.found.frequency_hz[k], 100 * one.found.damping[k]
            middle = (one.time > 1.5) & (one.time < 2.5)
            size = np.abs(one.displacement[middle] * np.exp(-rate * one.time[middle])).max()
            drawn = one.time[(one.time > 0.8) & (size * np.exp(rate * one.time) < 20e-3)]
            label = f"envelope of {hz:.2f} Hz, {ratio:.2f} % (LSCE)".replace("-", "−")
            for sign in (1, -1):
                envelope = 1e3 * sign * size * np.exp(rate * drawn)
                axes.plot(drawn, envelope, "--", color=BAD, linewidth=1.3, label=label if sign > 0 else None)
        axes.set(title=f"whole delay {1e3 * one.total_delay:.1f} ms: {verdict}", xlabel="time [s]", xlim=(0, SHOWN))
        axes.set_ylabel("table along x [mm]")
        axes.legend(loc="upper right" if verdict == "stable" else "upper left")
    sides[0].set_ylim(-3.2, 3.2)
    sides[1].set_ylim(-30, 60)
    top = int(np.argmax(above.displacement))
    sides[1].annotate(
        "command beyond 45 mm: the\nguard holds and returns it",
        (above.time[top], 1e3 * above.displacement[top]),
        (above.time[top] + 0.5, 34),
        arrowprops={"arrowstyle": "->", "color": "0.3"},
    )
    sides[1].annotate("valves saturate (1 m/s)", (3.0, -23), ha="center", va="top")
    return figure


def rows(decays: list[study.Decay]) -> list[str]:
    """The README's table: identified from decays and responses, and computed with all of the table."""
    told = []
    for one in decays:
        if np.abs(np.array(TOLD) - one.total_delay).min() > 0.1e-3:
            continue
        cells = [f"{1e3 * one.total_delay:.0f} ms"]
        ours = three(one)
        for i, pole in enumerate(ours):
            for found in (one.found, one.from_response):
                k = attributed(found, ours)[i]
                missing = found is None or k is None
                cells.append("–" if missing else _told(found.frequency_hz[k], found.damping[k]))  # type: ignore[union-attr]
            cells.append("–" if np.isnan(pole) else _told(abs(pole) / 2 / np.pi, -pole.real / abs(pole)))
        told.append(f"| {' | '.join(cells)} |")
    return told


def _told(hz: float, ratio: float) -> str:
    return f"{hz:.2f} Hz {100 * ratio:.2f} %".replace("-", "−")


def main(folder: Path) -> None:
    decays = study.decays()
    draw(folder, decays)
    print("\n".join(rows(decays)))


def draw(folder: Path, decays: list[study.Decay]) -> None:
    figures = {
        "figures_5_and_6_damping": oscillator.damping_doubled(),
        "figure_7_oscillator": oscillator.stability_diagram(),
        "figure_8_table": table(study.compensation()),
        "figure_10_loop": loop(),
        "figure_11_poles": poles(decays),
        "figure_12_histories": histories(study.decay(28e-3, 3), study.decay(29e-3, 3)),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=110)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results"))
