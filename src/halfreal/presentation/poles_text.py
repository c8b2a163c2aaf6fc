"""Poles of a loop as text and as numbers for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import units

if TYPE_CHECKING:
    from ..studies.poles.identified import IdentifiedPoles
    from ..studies.poles.poles import LoopPoles


def as_text(found: LoopPoles) -> list[str]:
    """Lines for people: a table of one loop, a summary of a sweep."""
    lines = [found.summary()]
    if found.over is None:
        lines += ["", *_table(found.poles[0], found.tick)]
        if found.equation is not None:
            lines += ["", "Delay equation, rightmost roots:", *_table(found.equation.roots[0], found.tick)]
    elif found.equation is not None:
        limits = ", ".join(units.text(one, found.over.unit) for one in found.equation.limits)
        lines.append(f"delay equation: {f'stability changes at {limits}' if limits else 'no change of stability'}")
    for one in found.identified:
        lines += _identified(one, found)
    return [*lines, *(f"note: {text}" for text in found.notes)]


def _table(poles: np.ndarray, tick: float) -> list[str]:
    rows = [f"{'frequency':>14}{'damping':>12}{'growth':>14}{'|λ|':>12}"]
    for s in poles[np.argsort(-poles.real, kind="stable")]:
        ratio = f"{-100 * s.real / abs(s):.3f} %" if abs(s) > 0.0 else "—"
        cells = f"{abs(s) / (2 * np.pi):.4f} Hz", ratio, f"{s.real:.4g} 1/s", f"{np.exp(s.real * tick):.6f}"
        rows.append("".join(cell.rjust(width) for cell, width in zip(cells, (14, 12, 14, 12), strict=True)))
    return rows


def _identified(one: IdentifiedPoles, found: LoopPoles) -> list[str]:
    at = "" if found.over is None else f" at {units.text(one.value, found.over.unit)}"
    if one.why_none:
        return [f"'{one.title}'{at}: no poles identified: {one.why_none}"]
    listed = zip(one.frequency_hz, one.damping, strict=True)
    return [f"'{one.title}'{at}: identified " + ", ".join(f"{hz:.4g} Hz {100 * ratio:.3g} %" for hz, ratio in listed)]


def as_numbers(found: LoopPoles) -> dict[str, Any]:
    """For programs; places without a pole are null."""
    over = found.over
    return {
        "over": None if over is None else over.place,
        "unit": None if over is None else over.unit,
        "values": None if over is None else over.values.tolist(),
        "stable": found.stable.tolist(),
        "growth_per_s": found.growth.tolist(),
        "limits": found.limits.tolist(),
        "frequency_hz": found.frequency_hz.tolist(),
        "damping": found.damping.tolist(),
        "delay_equation": None if found.equation is None else _roots(found.equation.roots, found.equation.limits),
        "identified": [
            {
                "title": one.title,
                "value": None if over is None else one.value,
                "frequency_hz": one.frequency_hz.tolist(),
                "damping": one.damping.tolist(),
                "why_none": one.why_none,
            }
            for one in found.identified
        ],
        "notes": list(found.notes),
    }


def _roots(roots: np.ndarray, limits: np.ndarray) -> dict[str, Any]:
    size = np.abs(roots)
    damping = -roots.real / np.where(size > 0.0, size, np.nan)
    return {"limits": limits.tolist(), "frequency_hz": (size / (2 * np.pi)).tolist(), "damping": damping.tolist()}
