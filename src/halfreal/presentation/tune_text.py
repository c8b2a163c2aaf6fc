"""The answer of ``halfreal tune`` as text, and as numbers for programs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import units
from ..studies.tuning.bench import REJECTED, WIDENED
from ..studies.tuning.from_records import TunedFromRecords
from ..studies.tuning.parts import Parts
from ..studies.tuning.tune import ALIKE, Tuning, TuningRow

WIDEST = 44
LEAST = 1e-5
"""Part below which an error is not shown in digits."""


def as_text(tuning: Tuning) -> list[str]:
    """The ranked table, and where the best one's error comes from."""
    worst = f"worst of {tuning.samples + 1}" if tuning.samples else "error"
    lines = [
        f"{'':>3} {'coupling':<{WIDEST}} {worst:>11} {'nominal':>9} {'predicted':>9} {'sync.':>9} {'fidelity':>9} "
        f"{'delay margin':>13} {'phase':>6} {'gain':>8} {'noise':>6}  effort"
    ]
    if tuning.criterion:
        lines.insert(0, f"worst and nominal: the criterion {tuning.criterion}{in_unit(tuning.unit)}")
    lines += [_line(place, row, tuning) for place, row in enumerate(tuning.rows, start=1)]
    lines += [
        "",
        "errors of the specimen's true motion (largest of all axes): relative to the emulated "
        "system; sync. relative to",
        "the target, and as predicted by the linear model; fidelity of the virtual part. Delay, "
        "phase, gain: margins of",
        "the loop. Noise: RMS in the command over RMS in the measurement.",
        "Effort: largest command and rate, and the limit with the smallest margin.",
        "Couplings that meet the margins of [acceptance] come first.",
        f"Ranked by the first error. Differences up to {percent(ALIKE)} are ignored: then come "
        "first those that tolerate at",
        "least half the largest delay margin among them, fixed before adaptive ones, the simplest first.",
    ]
    beaten = [(row.name, row.lost) for row in tuning.rows if row.lost and not row.nominal.reason]
    if beaten:
        lines += ["", f"why the others were rejected ({len(tuning.tried)} settings evaluated):"]
        lines += [f"  {name:<{WIDEST}} {why}" for name, why in beaten]
    lines += rejections(tuning)
    best = tuning.rows[0] if tuning.best is not None and tuning.rows else None
    if best is not None and len(tuning.axes) > 1:
        told = ", ".join(f"{n} {percent(e)}" for n, e in zip(tuning.axes, best.nominal.on_axes, strict=True))
        lines += ["", f"errors of '{best.name}' on each axis, nominal rig: {told}"]
    if best is not None and best.short:
        lines += ["", f"warning: none meets the margins of [acceptance]; the best has {best.short}"]
    if best is not None and best.parts is not None:
        lines += [
            "",
            f"remaining errors with '{best.name}', nominal rig:",
            *(f"  {text}" for text in about(best.parts)),
        ]
    if best is None:
        lines += ["", "no coupling can run this test"]
    lines += [f"note: {text}" for text in tuning.notes]
    return lines


def _line(place: int, row: TuningRow, tuning: Tuning) -> str:
    name = f"{place:>3} {row.name:<{WIDEST}}"
    if row.nominal.reason:
        return f"{name}   {'' if row.nominal.reason.startswith(REJECTED) else 'fails: '}{row.nominal.reason}"
    margin, gains = (None, None) if row.stability is None else (row.stability.margin, row.stability.gains)
    phase = "" if margin is None else _margin(margin.phase_margin_deg, ".0f", "°")
    gain = "" if gains is None else _margin(gains.gain_margin_db, ".1f", " dB")
    noise = "" if row.parts is None or math.isnan(row.parts.noise_gain) else f"{row.parts.noise_gain:.2f}"
    further = "any" if math.isinf(row.delay_margin) else units.text(row.delay_margin, "s", 3)
    unit = "N" if tuning.commands == "force" else "m"
    effort = f"{units.text(row.nominal.command, unit, 3)}, {units.text(row.nominal.command_rate, unit + '/s', 3)}"
    if row.nominal.used is not None:
        effort += f"; {100 * row.nominal.used[1]:.0f} % of {row.nominal.used[0]}"
    sized = (lambda value: f"{value:.4g}" if math.isfinite(value) else "—") if tuning.criterion else percent
    worst = f"{row.failed} fail" if row.failed else sized(row.worst)
    errors = (row.predicted, row.nominal.synchronisation, row.nominal.fidelity)
    shown = "{:>9} {:>9} {:>9} {:>9}".format(sized(row.nominal.error), *map(percent, errors))
    return f"{name} {worst:>11} {shown} {further:>13} {phase:>6} {gain:>8} {noise:>6}  {effort}".rstrip()


def rejections(tuning: Tuning) -> list[str]:
    """Of each coupling how many settings were rejected, and by which limits."""
    lines = []
    for name in dict.fromkeys(one.name for one in tuning.tried):
        tried = [one for one in tuning.tried if one.name == name]
        found = []
        for limit in dict.fromkeys(one.limit for one in tried if one.limit):
            shares = [one.share for one in tried if one.limit == limit]
            near = [f"{100 * one:.4g}" for one in sorted(shares) if one < WIDENED]
            if near:
                span = near[0] if near[0] == near[-1] else f"{near[0]} to {near[-1]}"
                found.append(f"{len(near)} by {limit} ({span} %)")
            if len(near) < len(shares):
                found.append(f"{len(shares) - len(near)} by more than {WIDENED:g} times {limit}")
        others = sum(1 for one in tried if one.reason and not one.limit)
        found += [f"{others} unstable, short of margins or not possible"] if others else []
        if found:
            lines.append(f"  {name:<{WIDEST}} of {len(tried)} evaluated {', '.join(found)}")
    return ["", "settings that were rejected:", *lines] if lines else []


def _margin(value: float, digits: str, unit: str) -> str:
    return f"{value:{digits}}{unit}" if math.isfinite(value) else "any" if value > 0 else "—"


def in_unit(unit: str) -> str:
    return "" if unit == "1" else f" [{unit}]"


def percent(part: float) -> str:
    if 0.0 < part < LEAST:
        return f"<{100 * LEAST:g} %"
    return f"{100 * part:.3g} %" if math.isfinite(part) else "—"


def about(parts: Parts) -> list[str]:
    """The parts of the error, as text."""
    late = "leads" if parts.delay < 0 else "is late"
    told = [
        f"measured relative to the emulated system {percent(parts.whole)}, mostly {parts.largest}",
        f"noise floor                              {percent(parts.noise)}",
        *([f"resolution and bounds of sensors, drives {percent(parts.bounds)}"] if parts.bounds else []),
        f"delay of the measured force              "
        f"{'not known' if parts.feedback_delay is None else percent(parts.feedback_delay)}",
        f"delay of the rig                         {percent(parts.tracking_delay)} "
        f"(it {late} by {units.text(abs(parts.delay), 's', 3)})",
        f"amplitude of the rig                     {percent(parts.amplitude)}",
        f"other dynamics of the rig                {percent(parts.tracking_rest)}",
    ]
    told.append(f"virtual part, due to these via the loop  {percent(parts.fidelity)}")
    if parts.integration is not None:
        told.append(f"integration                             {percent(parts.integration)}")
    return told


def as_numbers(tuning: Tuning) -> dict[str, Any]:
    """For programs."""
    return {
        "samples": tuning.samples,
        "rehearsals": tuning.rehearsals,
        "notes": list(tuning.notes),
        "criterion": tuning.criterion or None,
        "criterion_unit": tuning.unit if tuning.criterion else None,
        "axes": list(tuning.axes),
        "tried": [
            {
                "name": one.name,
                "settings": plain(one.settings),
                "error": one.error,
                "reason": one.reason,
                "limit": one.limit or None,
                "limit_used": one.share,
            }
            for one in tuning.tried
        ],
        "couplings": [_numbers(row) for row in tuning.rows],
    }


def plain(value: Any) -> Any:
    """Settings for JSON."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def _numbers(row: TuningRow) -> dict[str, Any]:
    margin = None if row.stability is None else row.stability.margin
    return {
        "name": row.name,
        "settings": None if row.coupling is None else row.coupling.model_dump(mode="json"),
        "reason": row.nominal.reason,
        "worst_error": row.worst,
        "error": row.nominal.error,
        "errors_on_axes": list(row.nominal.on_axes),
        "predicted_synchronisation": row.predicted,
        "synchronisation": row.nominal.synchronisation,
        "fidelity": row.nominal.fidelity,
        "failed_samples": row.failed,
        "margins_not_left": row.short,
        "lost_because": row.lost,
        "largest_command": row.nominal.command,
        "largest_command_rate": row.nominal.command_rate,
        "limit_used": None if row.nominal.used is None else dict([row.nominal.used]),
        "delay_margin_s": None if margin is None else margin.critical_delay,
        "phase_margin_deg": None if margin is None else margin.phase_margin_deg,
        "gain_margin_db": None if margin is None else margin.gain_margin_db,
        "parts": None if row.parts is None else dict(row.parts.__dict__),
    }


def records_as_text(found: TunedFromRecords) -> list[str]:
    """What records show of the rig, and how well that predicts them."""
    lines = []
    fit = found.identified.fit
    for one in () if fit is None else fit.parameters:
        if one.determined:
            value, low, high = (units.text(number, one.sought.unit) for number in (one.value, one.low, one.high))
            lines.append(f"identified: {one.sought.name} = {value}, 95 % interval {low} to {high}")
    for record in found.against:
        if record.reason:
            lines.append(f"{record.name}: not predicted: {record.reason}")
        else:
            errors = f"{percent(record.achieved)} achieved, {percent(record.predicted)} predicted on the identified rig"
            lines.append(f"{record.name}: synchronisation error {errors}")
    return [*lines, *(f"note: {text}" for text in found.identified.notes), ""]


def records_as_numbers(found: TunedFromRecords) -> dict[str, Any]:
    """For programs, next to ``as_numbers``."""
    fit = found.identified.fit
    return {
        "identified": {
            one.sought.name: {"value": one.value, "low": one.low, "high": one.high, "unit": one.sought.unit}
            for one in (() if fit is None else fit.parameters)
            if one.determined
        },
        "records": [dict(one.__dict__) for one in found.against],
    }
