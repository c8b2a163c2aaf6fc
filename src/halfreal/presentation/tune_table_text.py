"""The answer of ``halfreal tune`` for a shaking table: as text, as numbers for programs, and as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import units
from ..figures import QUIET, new_figure, styled
from ..rigs.interface_geometry import AXES
from ..rigs.table_tuning import FLAT
from ..studies.tuning.table import ALIKE, AxisFollowing, TableTuning, Tried

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST_HZ = 2.0
"""Below which a delay is not drawn: a phase of nothing over a frequency of nothing."""


def as_text(tuning: TableTuning) -> list[str]:
    """A row for each axis, the gains, and what the loop of the test gains by it."""
    lines = []
    gains = tuning.controller
    if tuning.tuned:
        lines.append(
            f"controllers for {units.text(tuning.band_hz, 'Hz')}: proportional {gains.proportional:g} 1/s, integral "
            f"{gains.integral:g} 1/s^2, derivative {gains.derivative:g}; set them on the table too"
        )
    else:
        lines.append(
            f"controllers unchanged, usable up to {units.text(tuning.band_hz, 'Hz', 3)}; --bandwidth tunes them for "
            "another bandwidth"
        )
    lines += [
        "",
        f"{'':>6}{'measured':^22}{'fit':>9}{'inverse':>10}{'':>12}{'through the coupling':^32}",
        f"{'axis':>6}{'flat to':>11}{'delay':>11}{'error':>9}{'delay':>10}{'prediction':>12}"
        f"{'flat to':>11}{'delay':>11}{'amplitude':>15}",
        *(_line(one, float(ahead)) for one, ahead in zip(tuning.axes, _predictions(tuning), strict=True)),
        "",
        f"flat: amplitude within 10 %. Delays and amplitudes up to {units.text(tuning.band_hz, 'Hz', 3)}, each axis "
        "measured separately.",
        "",
        f"{'prediction':<24}{'largest error up to ' + units.text(tuning.band_hz, 'Hz', 3):>28}   loop of the test",
        *(f"{_shape(one):<24}{100 * one.left:>26.3g} %   {_stability(one)}" for one in tuning.tried),
    ]
    keeps, least = tuning.tried[0].keeps(tuning.best), tuning.best.acceptance.least("gain_margin")
    if keeps:
        lines.append(
            f"first: of those with a gain margin of at least {least:g} dB that tolerate one more step of delay, "
            f"the most accurate; differences up to {100 * ALIKE:g} % are ignored, and the one with "
            "the largest margin comes "
            "first. Then the others, by error"
        )
        lines += uneven(tuning)
    elif not tuning.stable:
        lines += hopeless(tuning)
    else:
        lines.append(
            f"warning: with none of these the loop has a gain margin of {least:g} dB and tolerates "
            "one more step of delay; "
            "the most accurate stable one is chosen. Use a lighter specimen, or fewer modes of the virtual part"
        )
        lines += uneven(tuning)
    if tuning.best.uncertainty:
        lines.append("note: valid for the table as described; 'halfreal check' includes its uncertainty")
    return lines


def uneven(tuning: TableTuning) -> list[str]:
    """A warning for axes whose amplitude is not flat within the bandwidth."""
    far = [one for one in tuning.axes if max(abs(size - 1.0) for size in one.amplitudes) > FLAT]
    if not far:
        return []
    low, high = min(one.amplitudes[0] for one in far), max(one.amplitudes[1] for one in far)
    within = f"{100 * FLAT:.0f} % below {units.text(tuning.band_hz, 'Hz', 3)}"
    return [
        f"warning: through the coupling the amplitude of {', '.join(one.name for one in far)} leaves {within}: "
        f"{low:.3f} … {high:.3f}, so modes near there are distorted. A flatter response reduces the "
        "margin of the loop; use a "
        "bandwidth above that of the test, or a lighter specimen"
    ]


def hopeless(tuning: TableTuning) -> list[str]:
    """What there is to say if the loop is unstable with every prediction."""
    plain = next(one for one in tuning.tried if not np.any(one.coupling.prediction))
    return [
        f"no prediction makes this loop stable. With the inverse filters alone it is {plain.linearisation.summary()}",
        "'halfreal check' of the definition shows the cause. Use a lighter or better damped specimen, "
        "more virtual mass and stiffness at the interface, fewer modes of the virtual part, or another "
        "bandwidth",
    ]


def _predictions(tuning: TableTuning) -> np.ndarray:
    return np.broadcast_to(tuning.coupling.prediction, len(tuning.axes))


def _line(one: AxisFollowing, ahead: float) -> str:
    bands = [_band(value, one) for value in one.bands]
    before, inverted, after = (units.text(value, "s", 3) for value in one.delays)
    low, high = one.amplitudes
    size = f"{low:.3f} … {high:.3f}"
    return (
        f"{one.name:>6}{bands[0]:>11}{before:>11}{100 * one.fit.error:>7.2g} %{inverted:>10}"
        f"{units.text(ahead, 's', 3):>12}{bands[1]:>11}{after:>11}{size:>17}"
    )


def _band(value: float, one: AxisFollowing) -> str:
    if math.isinf(value):
        return f"> {one.before.frequency_hz[-1]:.3g} Hz"
    return units.text(value, "Hz", 3)


def _shape(one: Tried) -> str:
    if not np.any(one.coupling.prediction):
        return "none"
    return f"order {one.coupling.order}, {one.coupling.points} points"


def _stability(one: Tried) -> str:
    if not one.linearisation.stable:
        return f"unstable, spectral radius {one.linearisation.spectral_radius:.6g}"
    if one.margin is None:
        return "stable"
    further, gain = one.margin.critical_delay, one.margin.gain_margin_db
    tolerated = "any additional delay" if math.isinf(further) else f"{units.text(further, 's', 3)} of additional delay"
    return f"stable, tolerates {tolerated} and {'any gain' if math.isinf(gain) else f'{gain:.1f} dB of gain'}"


def as_numbers(tuning: TableTuning) -> dict[str, Any]:
    """For programs."""
    margin = tuning.tried[0].margin
    return {
        "bandwidth_hz": tuning.band_hz,
        "controller": tuning.controller.model_dump(mode="json"),
        "coupling": tuning.coupling.model_dump(mode="json"),
        "largest_error": tuning.tried[0].left,
        "axes": [_numbers(one) for one in tuning.axes],
        "stable": tuning.stable,
        "delay_margin_s": None if margin is None else margin.critical_delay,
        "gain_margin_db": None if margin is None else margin.gain_margin_db,
    }


def _numbers(one: AxisFollowing) -> dict[str, Any]:
    keys = ("delay_before_s", "delay_behind_inverse_s", "delay_s")
    return {
        "name": one.name,
        **dict(zip(keys, one.delays, strict=True)),
        "flat_before_hz": one.bands[0],
        "flat_hz": one.bands[1],
        "least_amplitude": one.amplitudes[0],
        "largest_amplitude": one.amplitudes[1],
        "fit_error": one.fit.error,
    }


@styled
def figure(tuning: TableTuning) -> Figure:
    """Amplitude and delay of every axis: dotted as it follows, solid through the coupling."""
    drawn = new_figure(9, 3.6)
    left, right = drawn.subplots(1, 2)
    for one in tuning.axes:
        colour = f"C{AXES.index(one.name)}"
        for part, line in ((one.before, ":"), (one.after, "-")):
            hz = part.frequency_hz
            left.plot(hz, np.abs(part.response), line, color=colour, linewidth=1)
            late = -1e3 * np.unwrap(np.angle(part.response)) / (2 * np.pi * hz)
            right.plot(hz[hz >= LEAST_HZ], late[hz >= LEAST_HZ], line, color=colour, linewidth=1)
        left.plot([], [], color=colour, label=one.name)
    for axes in (left, right):
        axes.axvline(tuning.band_hz, color=QUIET, linewidth=0.8)
        axes.set(xlabel="frequency [Hz]", xlim=(0.0, tuning.axes[0].before.frequency_hz[-1]))
    left.axhspan(0.9, 1.1, color=QUIET, alpha=0.12, linewidth=0)
    left.set(ylabel="amplitude", ylim=(0.5, 1.5), title="Tracking of each axis")
    left.legend(ncols=3)
    right.axhline(0.0, color=QUIET, linewidth=0.8)
    right.set(ylabel="delay [ms]", title="Dotted: without, solid: with the coupling")
    return drawn
