"""The answer of ``halfreal tune --from-run``: as text, as numbers for programs, and as a picture."""

from __future__ import annotations

import cmath
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..figures import MEASURED, QUIET, TARGET, new_figure, styled
from ..studies.tuning.from_runs import Correction, TableCorrection

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def as_text(found: TableCorrection) -> list[str]:
    """A row for each frequency, and what the numbers are."""
    lines = [
        f"{'':>9}{'as recorded':^34}{'compensator':^32}{'predicted':>10}",
        f"{'frequency':>9}{'amplitude':>11}{'phase':>10}{'scatter':>10}   {'before':>14}{'corrected':>16}{'error':>12}",
        *(_line(row) for row in found.rows),
        "",
        "As recorded: displacement against target, and the standard error of their ratio r. Compensator: P, command",
        "over target. Predicted error: |1 − r|, from the scatter and from the uncertainty of the slope G_c = dr/dP.",
    ]
    sources = sorted({row.slope_from for row in found.corrected})
    lines += [f"G_c from {source}: {_list(found, source)}" for source in sources]
    if "r/P" in sources:
        lines.append(
            "note: r/P (no model of the rig) is correct if the specimen does not load the rig; a second "
            "record determines G_c"
        )
    lines += [f"note: {text}" for text in found.notes]
    return lines


def _list(found: TableCorrection, source: str) -> str:
    return ", ".join(f"{row.hz:g}" for row in found.corrected if row.slope_from == source) + " Hz"


def _line(row: Correction) -> str:
    name = f"{row.hz:>6g} Hz"
    if cmath.isnan(row.ratio):
        return f"{name}   {row.note}"
    amplitude, phase = 100 * (abs(row.ratio) - 1.0), math.degrees(cmath.phase(row.ratio))
    after = "–" if row.after is None else _polar(row.after)
    left = "–" if math.isnan(row.left) else f"{100 * row.left:.2g} %"
    shown = f"{name}{amplitude:>+9.2f} %{phase:>+9.2f}°{100 * row.scatter:>8.2g} %   {_polar(row.before):>14}"
    return f"{shown}{after:>16}{left:>12}   {row.note}".rstrip()


def _polar(value: complex) -> str:
    return f"{abs(value):.3f}, {math.degrees(cmath.phase(value)):+.1f}°"


def as_numbers(found: TableCorrection) -> dict[str, Any]:
    """For programs; angles in degrees."""
    return {"frequencies": [_numbers(row) for row in found.rows], "notes": list(found.notes)}


def _numbers(row: Correction) -> dict[str, Any]:
    def polar(name: str, value: complex | None) -> dict[str, float | None]:
        known = value is not None and not cmath.isnan(value)
        angle = math.degrees(cmath.phase(value)) if value is not None and known else None
        return {name: abs(value) if value is not None and known else None, f"{name}_phase_deg": angle}

    return {
        "frequency_hz": row.hz,
        **polar("ratio", row.ratio),
        "scatter": row.scatter,
        **polar("compensator_before", row.before),
        **polar("compensator_after", row.after),
        **polar("slope", row.slope),
        "slope_from": row.slope_from,
        "predicted_error": row.left,
        "note": row.note,
    }


@styled
def figure(found: TableCorrection) -> Figure:
    """Error at every frequency as recorded and as predicted, and the compensator before and after."""
    drawn = new_figure(9, 3.8)
    left, *right = drawn.subplots(1, 3)
    rows = [row for row in found.rows if not cmath.isnan(row.ratio)]
    hz = np.array([row.hz for row in rows])
    left.plot(hz, [100 * abs(1 - row.ratio) for row in rows], "o-", color=MEASURED, label="as recorded", markersize=4)
    left.plot(hz, [100 * row.left for row in rows], "s-", color=TARGET, label="predicted", markersize=4)
    left.plot(hz, [100 * row.scatter for row in rows], ":", color=QUIET, label="scatter")
    left.set(yscale="log", ylabel="|1 − displacement/target| [%]", title="Error at the interface")
    left.legend()
    before = np.array([row.before for row in rows])
    after = np.array([row.before if row.after is None else row.after for row in rows])
    for values, name, style in ((before, "before", "o-"), (after, "corrected", "s--")):
        colour = MEASURED if name == "before" else TARGET
        right[0].plot(hz, np.abs(values), style, color=colour, label=name, markersize=4)
        right[1].plot(hz, np.degrees(np.unwrap(np.angle(values))), style, color=colour, markersize=4)
    right[0].set(ylabel="amplitude", title="Compensator, amplitude")
    right[0].legend()
    right[1].set(ylabel="phase [°]", title="Compensator, phase")
    for axes in (left, *right):
        axes.set_xlabel("frequency [Hz]")
    return drawn
