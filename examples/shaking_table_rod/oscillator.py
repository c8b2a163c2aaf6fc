"""A mass on a simulated oscillator with a late rig: what the paper's Figs. 5 to 7 show, and elements of a loop.

    L = μ s² / (s² + 2ζω₀ s + ω₀²)          μ = m_p/m_v, the ratio of the masses

Without delay the oscillator with both masses rings at f₀/√(1 + μ), and |L| = 1 is passed, hardly damped, at
f₀/√(1 + μ) and f₀/√(1 − μ).  The paper prints 4.5 Hz and 5.5 Hz, from which f₀ and μ follow.  At the upper crossover
L has a positive phase whatever ζ is: it bears more than 180°, so more than half a period of delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import study
from matplotlib.figure import Figure

import halfreal
from halfreal.contracts import StateSpace
from halfreal.figures import BAD, QUIET, new_figure, styled
from halfreal.models import discretise
from halfreal.stability import Tracks, delay_margin, track

HERE = Path(__file__).parent
WITHOUT, AT_LIMIT = 4.5, 5.5  # Hz, as printed with Fig. 7
STEP, LONGEST = 1e-3, 0.1  # s
COLOURS = ("tab:blue", "tab:red")  # as the paper's: the structure's pole, the delay's
TENFOLD = 10.0


def from_print() -> tuple[float, float]:
    """f₀ [Hz] and μ that give the printed frequencies."""
    squares = (WITHOUT / AT_LIMIT) ** 2
    ratio = (1.0 - squares) / (1.0 + squares)
    return WITHOUT * float(np.sqrt(1.0 + ratio)), ratio


def definition(changes: dict[str, Any] | None = None) -> halfreal.Definition:
    return halfreal.load(HERE / "oscillator.toml").with_values(changes or {})


def loop(damping: float | None = None) -> StateSpace:
    """L, without delay or sampling, with the definition's damping ratio or another."""
    return study.open_loop(definition({} if damping is None else {"virtual.damping": [damping]}))


def tracks() -> Tracks:
    """Poles against a delay of whole steps, as the paper computes them."""
    model = loop()
    transition, held, _ = discretise(model.a, model.b, STEP, "zero")
    return track(StateSpace(transition, held, model.c, model.d, STEP), round(LONGEST / STEP))


@dataclass(frozen=True)
class Late:
    """What Fig. 7 shows, each delay in s."""

    without_hz: float
    largest_damping: float
    largest_at: float
    limit: float
    limit_hz: float
    delays_pole_above: float
    """Delay from which the pole that the delay brings in is below 10 Hz."""


def late() -> Late:
    followed, margin = tracks(), delay_margin(loop())
    own, added = (_upper(followed, inside) for inside in (True, False))
    damping = followed.damping[:, own]
    largest = int(np.nanargmax(damping))
    entered = int(np.argmax(followed.frequency_hz[:, added] < 10.0))
    return Late(
        without_hz=float(followed.frequency_hz[0, own]),
        largest_damping=float(damping[largest]),
        largest_at=float(followed.delays_s[largest]),
        limit=margin.critical_delay,
        limit_hz=margin.critical_frequency_hz,
        delays_pole_above=float(followed.delays_s[entered]),
    )


def _upper(followed: Tracks, own: bool) -> int:
    """The track of the structure's pole, or the slowest of those that the delay brings in."""
    last = followed.rates[-1]
    places = np.flatnonzero(last.imag > 0)
    places = places[(places < followed.own) == own]
    return int(places[np.argmin(np.abs(last[places]))])


@styled
def damping_doubled() -> Figure:
    """Bode's and Nyquist's plots of L (Fig. 5), and with the damping doubled (Fig. 6)."""
    figure = new_figure(10, 4.6)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.15, 1))
    above, below, right = (figure.add_subplot(grid[place]) for place in ((0, 0), (1, 0), (slice(None), 1)))
    nominal = float(definition().virtual.damping[0])
    hz = np.geomspace(2.0, 12.0, 6000)
    for damping, colour, line in ((nominal, "tab:cyan", "--"), (2 * nominal, COLOURS[0], "-")):
        model = loop(damping)
        margin, value = delay_margin(model), model.response(2 * np.pi * hz)[:, 0, 0]
        crossing = model.response(margin.omega)[:, 0, 0]
        # 0 to 360°, so that the curve is not torn where it passes 180°
        degrees, crossed = (np.mod(np.degrees(np.angle(one)), 360.0) for one in (value, crossing))
        name = f"ζ = {100 * damping:g} %: bears {margin.phases_deg[-1]:.1f}° at {margin.frequency_hz[-1]:.2f} Hz"
        above.loglog(hz, np.abs(value), line, color=colour)
        below.semilogx(hz, degrees, line, color=colour)
        right.plot(value.real, value.imag, line, color=colour, label=name)
        above.plot(margin.frequency_hz, np.abs(crossing), "o", color=BAD, markersize=4)
        below.plot(margin.frequency_hz, crossed, "o", color=BAD, markersize=4)
        right.plot(crossing.real, crossing.imag, "o", color=BAD, markersize=4)
    for axes in (above, below):
        axes.set_xticks([2, 3, 4, 5, 6, 8, 10], labels=["2", "3", "4", "5", "6", "8", "10"])
        axes.set_xticks([], minor=True)
    above.axhline(1.0, color=QUIET, linewidth=0.9)
    above.set(ylabel="|L| [N/N]", title="Bode: a mass on an oscillator, no delay; red: |L| = 1")
    below.set(xlabel="frequency [Hz]", ylabel="phase of L [°]", ylim=(-190, 190), yticks=range(-180, 181, 90))
    below.axhline(-180.0, color=BAD, linewidth=1.0)
    below.annotate("−180°: the limit", (2.05, -172), color=BAD)
    circle = np.exp(1j * np.linspace(0, 2 * np.pi, 200))
    right.plot(circle.real, circle.imag, color=QUIET, linewidth=0.9, label="unit circle")
    right.plot(-1, 0, "k+", markersize=11, markeredgewidth=1.6, label="−1")
    right.set(xlim=(-6.5, 6.5), ylim=(-2, 11), xlabel="Re L", ylabel="Im L", title="Nyquist", aspect="equal")
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)
    return figure


@styled
def stability_diagram() -> Figure:
    """Frequency and damping against the delay (Fig. 7), with the printed delays times ten."""
    followed, found = tracks(), late()
    figure = new_figure(8.6, 5.6)
    above, below = figure.subplots(2, 1, sharex=True)
    delays = 1e3 * followed.delays_s
    names = ("the structure's pole", "the pole that the delay brings in")
    for own, colour, name in zip((True, False), COLOURS, names, strict=True):
        place = _upper(followed, own)
        above.plot(delays, followed.frequency_hz[:, place], color=colour, label=name)
        below.plot(delays, 100 * followed.damping[:, place], color=colour)
    for axes in (above, below):
        axes.axvspan(1e3 * found.limit, 1e3 * LONGEST, facecolor=BAD, alpha=0.10)
        axes.axvline(1e3 * found.limit, color=BAD)
        for printed in (7.0, 9.0):
            axes.axvline(TENFOLD * printed, color=QUIET, linestyle=":")
    told = f"unstable from {1e3 * found.limit:.1f} ms, at {found.limit_hz:.2f} Hz"
    above.annotate(told, (1e3 * found.limit - 1, 11), color=BAD, ha="right")
    above.set(ylim=(3, 12), ylabel="frequency [Hz]", title="Mass on an oscillator: poles against the delay")
    above.legend(loc="upper left")
    below.set(ylim=(-3, 25), xlim=(0, 1e3 * LONGEST), ylabel="damping ratio [%]", xlabel="delay [ms]")
    below.axhline(0.0, color=QUIET, linewidth=0.9)
    largest = (1e3 * found.largest_at, 100 * found.largest_damping)
    below.plot(*largest, "o", color=COLOURS[0], markersize=5)
    below.annotate(f"largest at {largest[0]:.0f} ms", largest, (0, 7), textcoords="offset points", ha="center")
    below.annotate("dotted: ten times the 7 ms and 9 ms printed", (TENFOLD * 7 - 1, 21), color="0.4", ha="right")
    return figure


def turned(model: StateSpace, degrees: float = 45.0) -> StateSpace:
    """The same loop told in two axes, x and y, the structure lying at an angle to them."""
    along = np.array([[np.cos(np.radians(degrees))], [np.sin(np.radians(degrees))]])
    return StateSpace(model.a, model.b @ along.T, along @ model.c, along @ model.d @ along.T)
