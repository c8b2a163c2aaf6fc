"""How eigenvalue loci are drawn: Bode and Nyquist plots with the margins on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..figures import BAD, GOOD, MEASURED, QUIET, TARGET
from .loci import Loci

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (TARGET, "#1a7f4b", "#7b3294", "#9a6700", "#23272e", "#c2185b")
"""Of loci, one after another."""
FAINTEST_DB = -50.0
"""A Bode plot ends where all loci stay below this."""
PHASE_DB = -30.0
"""The phase is shown as far as the loci are above this."""
REACH = 4.0
"""Half-width of a Nyquist plot up to which the whole curve is shown in one panel."""
NEAR = 1.7
"""Half-width of the panel about −1."""


def bode(
    size: Axes, phase: Axes, loci: Loci, names: Sequence[str], *, measured: bool = False, marked: bool = True
) -> None:
    """Magnitude and phase of the loci, with margins of gain and phase where they are least."""
    hz, drawn = loci.frequency_hz, loci.phase_deg
    for i, name in enumerate(names):
        look = _look(i, measured)
        size.semilogx(hz, loci.magnitude_db[:, i], label=name, **look)
        phase.semilogx(hz, drawn[:, i], **look)
    size.axhline(0.0, color=QUIET, linewidth=0.9)
    if marked:
        _mark_phase(size, phase, loci)
        _mark_gains(size, loci)
    size.set_ylabel("magnitude |L| [dB]")
    phase.set_ylabel("phase [°]")
    phase.set_xlabel("frequency [Hz]")
    plain_numbers(size, phase)


def plain_numbers(*panels: Axes) -> None:
    """Label frequencies 0.1, 1, 10: shorter than powers of ten, for which matplotlib loads its formula parser."""
    from matplotlib.ticker import LogFormatter

    for panel in panels:
        panel.xaxis.set_major_formatter(LogFormatter())
        panel.xaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.0, 0.4)))


def limit_bode(size: Axes, phase: Axes, every: Sequence[Loci]) -> None:
    """Show the part of all loci that matters for stability."""
    loud = [one.frequency_hz[one.magnitude_db.max(axis=1) > FAINTEST_DB] for one in every]
    marks = [np.concatenate([one.crossing_hz, one.gain_hz]) for one in every]
    low = min(float(one.frequency_hz[0]) for one in every)
    found = np.concatenate([*loud, *marks])
    high = float(min(1.5 * found.max(initial=low), max(float(one.frequency_hz[-1]) for one in every)))
    low = max(low, 1e-12)
    size.set_xlim(low, high if high > low else 10.0 * low)
    shown = [(one.frequency_hz >= low) & (one.frequency_hz <= high) for one in every]
    heights = np.concatenate([one.magnitude_db[kept].ravel() for one, kept in zip(every, shown, strict=True)])
    turns = np.concatenate(
        [one.phase_deg[kept][one.magnitude_db[kept] > PHASE_DB] for one, kept in zip(every, shown, strict=True)]
    )
    turns = turns if turns.size else np.array([-180.0, 180.0])
    if heights.size:
        faintest = FAINTEST_DB - 10.0 if heights.max() > FAINTEST_DB else -np.inf
        size.set_ylim(max(float(heights.min()) - 5.0, faintest), max(float(heights.max()) + 8.0, 8.0))
        bottom, top = max(float(turns.min()) - 30.0, -1000.0), float(turns.max()) + 30.0
        phase.set_ylim(bottom, top)
        for turn in range(int(np.floor((bottom + 180.0) / 360.0)), int(np.ceil((top + 180.0) / 360.0)) + 1):
            if bottom < 360.0 * turn - 180.0 < top:
                phase.axhline(360.0 * turn - 180.0, color=BAD, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
        step = next(step for step in (45, 90, 180, 360) if top - bottom <= 8 * step or step == 360)
        phase.set_yticks(np.arange(step * np.ceil(bottom / step), top, step))


def _mark_phase(size: Axes, phase: Axes, loci: Loci) -> None:
    for number in loci.nearest:
        hz, lag = float(loci.crossing_hz[number]), float(loci.lag_deg[number])
        line = int(np.argmin(np.abs(loci.frequency_hz - hz)))
        # the locus that crosses there is the one whose phase is the lag above −180°
        away = np.mod(loci.phase_deg[line] - (lag - 180.0) + 180.0, 360.0) - 180.0
        at = int(np.argmin(np.abs(away) + 5.0 * np.abs(loci.magnitude_db[line])))
        top = float(loci.phase_deg[line, at] - away[at])
        size.plot(hz, 0.0, "o", color=BAD, markersize=4, zorder=4)
        phase.plot([hz, hz], [top - lag, top], color=BAD, linewidth=1.6, solid_capstyle="butt", zorder=4)
        phase.annotate(_lag_words(loci, number), (hz, top - lag / 2), **_beside(size, hz, loci))


def _lag_words(loci: Loci, number: int) -> str:
    lag, late, hz = loci.lag_deg[number], 1e3 * loci.delay_s[number], loci.crossing_hz[number]
    return f"{lag:.3g}°, {late:.3g} ms\nat {hz:.3g} Hz".replace("-", "−")


def _mark_gains(size: Axes, loci: Loci) -> None:
    for number in loci.nearest_gains:
        hz, gain = float(loci.gain_hz[number]), float(loci.gain_db[number])
        if hz <= 0.0 or abs(gain) > -FAINTEST_DB:
            continue
        size.plot([hz, hz], [-gain, 0.0], color=GOOD, linewidth=1.6, solid_capstyle="butt", zorder=4)
        size.plot(hz, -gain, "o", color=GOOD, markersize=4, zorder=4)
        size.annotate(f"{gain:.3g} dB\nat {hz:.3g} Hz".replace("-", "−"), (hz, -gain / 2), **_beside(size, hz, loci))


def _beside(axes: Axes, hz: float, loci: Loci) -> dict[str, Any]:
    """Where words stand: right of a mark, or left of one near the right end."""
    low, high = np.log(loci.frequency_hz[[0, -1]].clip(1e-12))
    left = np.log(hz) > low + 0.75 * (high - low)
    return {
        "xytext": (-6 if left else 6, 0),
        "textcoords": "offset points",
        "ha": "right" if left else "left",
        "va": "center",
        "fontsize": 7.5,
        "bbox": {"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.8, "linewidth": 0},
        "zorder": 5,
    }


def nyquist(
    axes: Axes, loci: Loci, names: Sequence[str], reach: float, *, measured: bool = False, marked: bool = True
) -> None:
    """The loci in the plane with −1, the unit circle, and the marks of margins."""
    for i, name in enumerate(names):
        look, values = _look(i, measured), loci.values[:, i]
        axes.plot(values.real, values.imag, label=name, **look)
        if not measured:
            axes.plot(values.real, -values.imag, **(look | {"linewidth": 0.6, "linestyle": (0, (4, 2))}))
    turn = np.linspace(0.0, 2 * np.pi, 181)
    axes.plot(np.cos(turn), np.sin(turn), color=QUIET, linewidth=0.8)
    axes.plot(-1.0, 0.0, "+", color=BAD, markersize=11, markeredgewidth=1.8, zorder=5)
    if marked:
        _mark_plane(axes, loci, reach)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="real part", ylabel="imaginary part")


def _mark_plane(axes: Axes, loci: Loci, reach: float) -> None:
    for number in loci.nearest:
        lag = np.radians(loci.lag_deg[number])
        arc = np.linspace(np.pi, np.pi + lag, 61)
        axes.plot(np.cos(arc), np.sin(arc), color=BAD, linewidth=1.6, zorder=4)
        axes.plot(np.cos(arc[-1]), np.sin(arc[-1]), "o", color=BAD, markersize=4, zorder=4)
        words = _lag_words(loci, number)
        axes.annotate(words, (np.cos(arc[-1]), np.sin(arc[-1])), xytext=(6, 6), textcoords="offset points", fontsize=7)
    for number in loci.nearest_gains:
        at = -(10.0 ** (-loci.gain_db[number] / 20.0))
        if abs(at) <= reach and abs(loci.gain_db[number]) < -FAINTEST_DB:
            axes.plot(at, 0.0, "o", color=GOOD, markersize=4, zorder=4)
            words = f"{loci.gain_db[number]:.3g} dB".replace("-", "−")
            axes.annotate(words, (at, 0.0), xytext=(2, -11), textcoords="offset points", fontsize=7)


def reach_of(every: Sequence[Loci]) -> float:
    """Half-width in which all of the loci are seen."""
    return 1.08 * max(1.4, *(float(np.abs(one.values).max(initial=0.0)) for one in every))


def _look(number: int, measured: bool) -> dict[str, Any]:
    if measured:
        return {"color": MEASURED, "marker": ".", "markersize": 3.5, "linewidth": 0.7}
    return {"color": COLOURS[number % len(COLOURS)]}
