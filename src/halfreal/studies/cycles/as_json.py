"""Limit cycles and bifurcation diagrams as programs receive them."""

from __future__ import annotations

from typing import Any

from .continuation import Branch, Continuation
from .periodic_motion import PeriodicMotion
from .specials import stability_of

SOME = 6
"""Largest multipliers of a cycle that are reported."""


def cycle_json(motion: PeriodicMotion) -> dict[str, Any]:
    return {
        "amplitude": motion.amplitude,
        "unit": motion.units[motion.axis],
        "channel": motion.channels[motion.axis],
        "frequency_hz": motion.frequency_hz,
        "stable": motion.stable,
        "multipliers": [{"real": one.real, "imaginary": one.imag} for one in motion.multipliers[:SOME].tolist()],
        "peaks": motion.peaks,
    }


def continuation_json(found: Continuation) -> dict[str, Any]:
    return {
        "parameter": found.place,
        "unit": found.unit,
        "from": found.low,
        "to": found.high,
        "operating_value": found.operating,
        "amplitude_unit": found.amplitude_unit,
        "hopf_points": [
            {
                "value": one.number,
                "frequency_hz": one.frequency_hz,
                "criticality": one.criticality,
                "linear_up_to": one.linear_up_to,
            }
            for one in found.hopf
        ],
        "branches": [branch_json(one) for one in found.branches],
    }


def branch_json(branch: Branch) -> dict[str, Any]:
    rows = zip(branch.numbers, branch.amplitudes, branch.frequencies_hz, branch.sizes, strict=True)
    return {
        "cycles": [
            {
                "value": float(number),
                "amplitude": float(amplitude),
                "frequency_hz": float(hz),
                "largest_multiplier": float(size),
                "stability": stability_of(float(size)),
            }
            for number, amplitude, hz, size in rows
        ],
        "special_points": [
            {"kind": one.kind, "value": one.number, "amplitude": one.amplitude} for one in branch.specials
        ],
    }
