"""An identified rig as text, as numbers for programs, and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import units
from ..figures import ERROR, MEASURED, QUIET, REFERENCE, TARGET, new_figure, styled
from ..identification.rig_parameters import Fitted
from ..identification.rig_response import LEAST_COHERENCE
from ..studies.identifying.identify import Identified, OnAxis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NORMAL = 1.96
"""Standard deviations of a 95 % interval."""
MOST_AXES = 6
"""That are drawn: the first ones."""


def as_text(found: Identified) -> list[str]:
    """How the rig follows on each axis, its parameters, and what the records cannot determine."""
    lines = []
    for one in found.axes:
        lines += _axis(one, named=len(found.axes) > 1)
    if found.fit is not None:
        lines += ["", *_parameters(found.fit.parameters)]
        kept = [one for one in found.fit.parameters if not one.determined]
        if kept:
            lines += ["", "not determined by the records, kept as given:"]
            lines += [f"  {one.sought.name}: {one.why_not}" for one in kept]
    return [*lines, *([""] if found.notes else []), *(f"note: {text}" for text in found.notes)]


def _axis(one: OnAxis, named: bool) -> list[str]:
    response = one.response
    hz, used = response.lines.frequency_hz, response.used
    head = f"axis {response.axis}: " if named else ""
    if not used.any():
        return [f"{head}no spectral line of the response from command to displacement is usable"]
    coherence, deviation = response.lines.coherence[used], response.deviation()[used]
    told = [
        f"{head}response from command to displacement, {int(used.sum())} lines from {hz[used][0]:.3g} to "
        f"{hz[used][-1]:.3g} Hz ({one.record})",
        f"  coherence            {coherence.min():.4f} to {coherence.max():.4f}",
        f"  uncertainty          {_percent(NORMAL * float(np.median(deviation)))} (95 %, median of the lines)",
    ]
    if response.fit is not None:
        fit, half = response.fit, response.delay_half_width
        width = (
            f" ± {units.text(half, 's', 2)}"
            if _is_determined(half, fit.delay)
            else ", not distinguishable from a zero of the fit"
        )
        told += [
            f"  rational fit         {_poles(fit.poles)}, stable; misfit {_percent(fit.error)}",
            f"  delay of this fit    {units.text(fit.delay, 's')}{width}",
            f"  low-frequency delay  {units.text(response.slow_lag(), 's')}",
        ]
    return told


def _is_determined(half: float, delay: float) -> bool:
    return bool(half < 0.5 * delay)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _poles(poles: np.ndarray) -> str:
    if not len(poles):
        return "gain only, no poles"
    upper = [one for one in poles if one.imag >= 0.0]
    texts = [
        f"{abs(one) / (2 * np.pi):.3g} Hz" + (f" ({-one.real / abs(one):.2g} damped)" if one.imag > 0.0 else " (real)")
        for one in sorted(upper, key=abs)
    ]
    return f"{len(poles)} pole(s): {', '.join(texts)}"


def _parameters(parameters: tuple[Fitted, ...]) -> list[str]:
    rows = [["parameter", "given", "found", "95 % interval", "bounds"]]
    for one in parameters:
        sought = one.sought
        given = sought.text(sought.given) if sought.given else "—"
        ends = [sought.text(end) if np.isfinite(end) else "any" for end in (sought.least, sought.most)]
        bounds = " to ".join(ends) if ends != ["any", "any"] else "any"
        if not one.determined:
            rows.append([sought.name, given, "—", "not determined", bounds])
            continue
        rows.append([sought.name, given, *_with_interval(one), bounds])
    widths = [max(len(row[i]) for row in rows) + 2 for i in range(5)]
    return ["".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _with_interval(one: Fitted) -> tuple[str, str]:
    size = max(abs(one.value), one.half_width, 1e-300)
    digits = 2 + max(0, int(np.ceil(np.log10(size / max(one.half_width, 1e-12 * size)))))
    texts = [units.text(value, one.sought.unit, digits) for value in (one.value, one.low, one.high)]
    return texts[0], f"{texts[1]} to {texts[2]}"


def as_numbers(found: Identified) -> dict[str, Any]:
    """For programs."""
    fit = found.fit
    return {
        "axes": [_axis_numbers(one) for one in found.axes],
        "parameters": [] if fit is None else [_parameter_numbers(one) for one in fit.parameters],
        "left_rms": [] if fit is None else fit.left.tolist(),
        "left_share": [] if fit is None else fit.share.tolist(),
        "depend_on_each_other": [] if fit is None else [list(one) for one in fit.depend],
        "notes": list(found.notes),
    }


def _axis_numbers(one: OnAxis) -> dict[str, Any]:
    response, lines = one.response, one.response.lines
    fit = response.fit
    return {
        "axis": response.axis,
        "record": one.record,
        "unit": response.unit,
        "frequency_hz": lines.frequency_hz.tolist(),
        "response_real": lines.response.real.tolist(),
        "response_imaginary": lines.response.imag.tolist(),
        "coherence": lines.coherence.tolist(),
        "relative_deviation": response.deviation().tolist(),
        "used": response.used.tolist(),
        "rational_fit": None
        if fit is None
        else {
            "poles_real_per_s": fit.poles.real.tolist(),
            "poles_imaginary_per_s": fit.poles.imag.tolist(),
            "residues_real_per_s": fit.residues.real.tolist(),
            "residues_imaginary_per_s": fit.residues.imag.tolist(),
            "constant": fit.constant,
            "delay_s": fit.delay,
            "delay_half_width_s": response.delay_half_width
            if _is_determined(response.delay_half_width, fit.delay)
            else None,
            "misfit": fit.error,
            "lag_in_slow_motion_s": response.slow_lag(),
        },
    }


def _parameter_numbers(one: Fitted) -> dict[str, Any]:
    sought = one.sought
    return {
        "place": sought.name,
        "unit": sought.unit,
        "given": sought.given,
        "value": one.value if one.determined else None,
        "low": one.low if one.determined else None,
        "high": one.high if one.determined else None,
        "least": sought.least,
        "most": sought.most,
        "why_not": one.why_not,
    }


@styled
def figure(found: Identified, title: str) -> Figure:
    """Response, phase, coherence and misfit of each axis."""
    shown = found.axes[:MOST_AXES]
    drawn = new_figure(max(7.5, 4.2 * len(shown)), 8.5)
    drawn.suptitle(title, x=0.01, ha="left", fontsize=10)
    grid = drawn.subplots(4, max(len(shown), 1), squeeze=False, sharex="col", height_ratios=[1.5, 1.5, 0.9, 1.1])
    for column, one in enumerate(shown):
        _draw(grid[:, column], one, first=column == 0, named=len(found.axes) > 1)
    return drawn


def _draw(panels: Any, one: OnAxis, first: bool, named: bool) -> None:
    response, fit = one.response, one.response.fit
    hz, value, used = response.lines.frequency_hz, response.lines.response, response.used
    size, turned, coherence, misfit = panels
    band = NORMAL * response.deviation()
    shown = np.where(used, np.abs(value), np.nan)
    size.fill_between(hz, shown * (1 - band), shown * (1 + band), color=TARGET, alpha=0.25, linewidth=0)
    size.plot(hz, shown, ".", color=TARGET, markersize=3, label="measured, 95 %")
    phase = np.full(hz.shape, np.nan)
    phase[used] = np.degrees(np.unwrap(np.angle(value[used])))
    turned.plot(hz, phase, ".", color=TARGET, markersize=3)
    for name, colour, style, fitted in _fits(one):
        size.plot(hz, np.abs(fitted), style, color=colour, label=name)
        angle = np.degrees(np.unwrap(np.angle(fitted)))
        offset = 360.0 * np.round(np.nanmedian(phase - angle) / 360.0) if used.any() else 0.0
        turned.plot(hz, angle + offset, style, color=colour)
        misfit.semilogy(hz, np.where(used, np.abs(value / fitted - 1.0), np.nan), ".", color=colour, markersize=3)
    misfit.semilogy(
        hz, np.where(used, band, np.nan), color=QUIET, linewidth=0.8, label="95 % uncertainty of the measurement"
    )
    coherence.plot(hz, response.lines.coherence, ".", color=TARGET, markersize=3)
    coherence.axhline(LEAST_COHERENCE, color=QUIET, linewidth=0.8, linestyle="--")
    coherence.set_ylim(min(0.75, float(response.lines.coherence.min())), 1.01)
    delay = f": delay {units.text(fit.delay, 's')}, {_poles(fit.poles)}" if fit is not None else ""
    size.set_title(f"Axis {response.axis}" if named else "From command to measured displacement")
    turned.set_title(f"Phase{delay}")
    coherence.set_title("Coherence")
    misfit.set_title("Misfit over response")
    size.set_ylim(0.0, None)
    misfit.set_xlabel("frequency [Hz]")
    if first:
        size.set_ylabel(f"gain [{response.unit}]")
        turned.set_ylabel("phase [°]")
        size.legend(loc="best")
        misfit.legend(loc="best")


def _fits(one: OnAxis) -> list[tuple[str, str, str, np.ndarray]]:
    hz, fit = one.response.lines.frequency_hz, one.response.fit
    found = []
    if fit is not None:
        found.append(("rational fit", MEASURED, "-", fit.response(2 * np.pi * hz)))
    if one.model is not None and one.model.frequency_hz.shape == hz.shape:
        found.append(("identified rig of the definition", ERROR, "--", one.model.response))
    return found or [("1", REFERENCE, ":", np.ones(hz.shape, dtype=complex))]
