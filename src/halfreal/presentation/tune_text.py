"""The answer of ``halfreal tune`` in words, and as numbers for programs."""

from __future__ import annotations

import math
from typing import Any

from .. import units
from ..studies.tuning.parts import Parts
from ..studies.tuning.tune import ALIKE, Tuning, TuningRow

WIDEST = 44
LEAST = 1e-5
"""Part below which an error is not told in digits."""


def as_text(tuning: Tuning) -> list[str]:
    """The ranked table, and where the best one's error comes from."""
    worst = f"worst of {tuning.samples + 1}" if tuning.samples else "error"
    lines = [
        f"{'':>3} {'coupling':<{WIDEST}} {worst:>11} {'nominal':>9} {'sync.':>9} {'fidelity':>9} {'further delay':>13} "
        f"{'phase':>6} {'gain':>8} {'noise':>6}  effort"
    ]
    lines += [_line(place, row, tuning) for place, row in enumerate(tuning.rows, start=1)]
    lines += [
        "",
        "errors of the specimen's true motion: against the emulated system; sync. behind the target; fidelity of the",
        "virtual part. Further delay, phase and gain: margins of the loop. Noise: in the command over that measured.",
        "Effort: largest command and rate, and the limit that leaves least room.",
        f"Ranked by the first error. Those within {percent(ALIKE)} of the least are alike: first those that bear at",
        "least half as much further delay as any of them, fixed ones before those that adapt, the simplest first.",
    ]
    best = tuning.rows[0] if tuning.best is not None and tuning.rows else None
    if best is not None and best.parts is not None:
        lines += ["", f"what is left with '{best.name}', nominal rig:", *(f"  {text}" for text in about(best.parts))]
    if best is None:
        lines += ["", "no coupling can run this test"]
    lines += [f"note: {text}" for text in tuning.notes]
    return lines


def _line(place: int, row: TuningRow, tuning: Tuning) -> str:
    name = f"{place:>3} {row.name:<{WIDEST}}"
    if row.nominal.reason:
        return f"{name}   fails: {row.nominal.reason}"
    margin = None if row.stability is None else row.stability.margin
    phase = "" if margin is None else _margin(margin.phase_margin_deg, ".0f", "°")
    gain = "" if margin is None else _margin(margin.gain_margin_db, ".1f", " dB")
    noise = "" if row.parts is None or math.isnan(row.parts.noise_gain) else f"{row.parts.noise_gain:.2f}"
    further = "any" if math.isinf(row.delay_margin) else units.text(row.delay_margin, "s", 3)
    unit = "N" if tuning.commands == "force" else "m"
    effort = f"{units.text(row.nominal.command, unit, 3)}, {units.text(row.nominal.command_rate, unit + '/s', 3)}"
    if row.nominal.used is not None:
        effort += f"; {100 * row.nominal.used[1]:.0f} % of {row.nominal.used[0]}"
    worst = f"{row.failed} fail" if row.failed else percent(row.worst)
    errors = (row.nominal.error, row.nominal.synchronisation, row.nominal.fidelity)
    shown = "{:>9} {:>9} {:>9}".format(*map(percent, errors))
    return f"{name} {worst:>11} {shown} {further:>13} {phase:>6} {gain:>8} {noise:>6}  {effort}".rstrip()


def _margin(value: float, digits: str, unit: str) -> str:
    return f"{value:{digits}}{unit}" if math.isfinite(value) else "any" if value > 0 else "—"


def percent(part: float) -> str:
    if 0.0 < part < LEAST:
        return f"<{100 * LEAST:g} %"
    return f"{100 * part:.3g} %" if math.isfinite(part) else "—"


def about(parts: Parts) -> list[str]:
    """The parts of the error, in words."""
    late = "leads" if parts.delay < 0 else "is late"
    told = [
        f"measured against the emulated system    {percent(parts.whole)}, mostly {parts.largest}",
        f"noise floor                             {percent(parts.noise)}",
        f"delay of the measured force             "
        f"{'not known' if parts.feedback_delay is None else percent(parts.feedback_delay)}",
        f"delay of the rig                        {percent(parts.tracking_delay)} "
        f"(it {late} by {units.text(abs(parts.delay), 's', 3)})",
        f"amplitude of the rig                    {percent(parts.amplitude)}",
        f"the rig's other dynamics                {percent(parts.tracking_rest)}",
    ]
    told.append(f"virtual part, by these through the loop {percent(parts.fidelity)}")
    if parts.integration is not None:
        told.append(f"integration                             {percent(parts.integration)}")
    return told


def as_numbers(tuning: Tuning) -> dict[str, Any]:
    """For programs."""
    return {
        "samples": tuning.samples,
        "rehearsals": tuning.rehearsals,
        "notes": list(tuning.notes),
        "couplings": [_numbers(row) for row in tuning.rows],
    }


def _numbers(row: TuningRow) -> dict[str, Any]:
    margin = None if row.stability is None else row.stability.margin
    return {
        "name": row.name,
        "settings": None if row.coupling is None else row.coupling.model_dump(mode="json"),
        "reason": row.nominal.reason,
        "worst_error": row.worst,
        "error": row.nominal.error,
        "synchronisation": row.nominal.synchronisation,
        "fidelity": row.nominal.fidelity,
        "failed_samples": row.failed,
        "largest_command": row.nominal.command,
        "largest_command_rate": row.nominal.command_rate,
        "limit_used": None if row.nominal.used is None else dict([row.nominal.used]),
        "delay_margin_s": None if margin is None else margin.critical_delay,
        "phase_margin_deg": None if margin is None else margin.phase_margin_deg,
        "gain_margin_db": None if margin is None else margin.gain_margin_db,
        "parts": None if row.parts is None else dict(row.parts.__dict__),
    }
