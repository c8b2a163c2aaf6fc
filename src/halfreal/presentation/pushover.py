"""A pushover for people and programs: its curve with the hinges in their order, as a picture, a text and a table."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..contracts.pushed import Pushed
from . import sketch as drawn
from .series import display
from .style import BAD, MEASURED, QUIET, REFERENCE, TARGET, new_figure, styled
from .wording import in_unit, number, percent

NUMBERED = 12
"""Hinges whose numbers are written into the picture."""
TOLD = 20


@styled
def curve(pushed: Pushed) -> Figure:
    """Base shear over displacement with the order in which places yielded, and the structure at the end."""
    sketch, order = pushed.inside.sketch, pushed.sequence
    wide, tall = drawn.room(sketch)
    figure = new_figure(6.2 + wide - 2.0, max(tall, 3.8))
    axes, shape = figure.subplots(1, 2, width_ratios=(6.2, wide - 2.0))
    x, y = display("m", float(np.abs(pushed.displacement).max())), display("N", float(np.abs(pushed.base_shear).max()))
    axes.plot(x.factor * pushed.displacement, y.factor * pushed.base_shear, color=TARGET, linewidth=1.6)
    for one in order:
        axes.plot(
            x.factor * pushed.displacement[one.step],
            y.factor * pushed.base_shear[one.step],
            marker="o",
            markersize=3.5,
            color=MEASURED,
        )
    most = int(np.argmax(np.abs(pushed.base_shear)))
    if most < len(pushed.base_shear) - 1:
        axes.axhline(y.factor * pushed.base_shear[most], color=BAD, linewidth=0.8, linestyle=(0, (4, 2)))
    axes.set(
        xlabel=f"displacement of {pushed.node} in {pushed.direction} [{x.label}]",
        ylabel=f"base shear [{y.label}]",
        title="Pushover; dots: yielding of hinges and springs",
    )
    motion = pushed.motion[-1]
    largest = max(float(np.abs(motion).max()), 1e-300)
    scale = drawn.DEFORMED * drawn.size_of(sketch) / largest
    nodes = drawn.moved(pushed.inside, motion, scale)
    drawn.members(shape, sketch, color=QUIET, linewidth=0.6)
    drawn.members(shape, sketch, nodes, color=REFERENCE)
    drawn.supports(shape, sketch)
    places = drawn.spots_at(sketch, nodes)
    for number_, one in enumerate(order, start=1):
        shape.plot(*places[one.spot], marker="o", markersize=5, color=MEASURED)
        if number_ <= NUMBERED:
            shape.annotate(str(number_), tuple(places[one.spot]), xytext=(3, 3), textcoords="offset points", fontsize=7)
    drawn.frame_of(shape, sketch)
    shape.set_title(f"At the end, × {scale:.3g}; in order of yielding")
    return figure


def as_text(pushed: Pushed) -> list[str]:
    """Lines for people."""
    sketch, order = pushed.inside.sketch, pushed.sequence
    most = int(np.argmax(np.abs(pushed.base_shear)))
    first = pushed.base_shear[1] / pushed.displacement[1]
    lines = [
        f"pushed in {pushed.direction} at {len(pushed.pattern)} node(s), {pushed.node} by "
        f"{in_unit(float(pushed.displacement[-1]), 'm')} in {len(pushed.displacement) - 1} steps",
        f"initial stiffness {number(1e-6 * float(first))} kN/mm; largest base shear "
        f"{in_unit(float(pushed.base_shear[most]), 'N')} at {in_unit(float(pushed.displacement[most]), 'm')}, "
        f"{in_unit(float(pushed.base_shear[-1]), 'N')} at the end",
    ]
    if len(sketch.storeys):
        shares = np.abs(pushed.drifts[-1]) / np.array([storey.height for storey in sketch.storeys])
        worst = int(np.argmax(shares))
        lines.append(f"largest drift at the end: storey {worst + 1}, {percent(float(shares[worst]))} of its height")
    lines.append(f"{len(order)} of {len(sketch.spots)} hinges and laws yielded{':' if order else ''}")
    lines += [
        f"  {i:3d}  {sketch.spots[one.spot].name}, at {in_unit(float(pushed.displacement[one.step]), 'm')} and "
        f"{in_unit(float(pushed.base_shear[one.step]), 'N')}"
        for i, one in enumerate(order[:TOLD], start=1)
    ]
    if len(order) > TOLD:
        lines.append(f"  … and {len(order) - TOLD} more (--json lists all)")
    return lines + ([f"note: {pushed.note}"] if pushed.note else [])


def as_numbers(pushed: Pushed) -> dict[str, Any]:
    """The same for programs, in SI units."""
    return {
        "node": pushed.node,
        "direction": pushed.direction,
        "pattern": {name: float(share) for name, share in pushed.pattern.items()},
        "displacement": pushed.displacement.tolist(),
        "base_shear": pushed.base_shear.tolist(),
        "drifts": pushed.drifts.tolist(),
        "sequence": [
            {
                "name": pushed.inside.sketch.spots[one.spot].name,
                "displacement": float(pushed.displacement[one.step]),
                "base_shear": float(pushed.base_shear[one.step]),
            }
            for one in pushed.sequence
        ],
        "note": pushed.note,
    }


def as_csv(pushed: Pushed) -> str:
    """Displacement, base shear and drifts, a row for each step."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    drifts = pushed.drifts
    table.writerow(["displacement (m)", "base shear (N)", *(f"drift {i + 1} (m)" for i in range(drifts.shape[1]))])
    for row in np.column_stack([pushed.displacement, pushed.base_shear, drifts]):
        table.writerow([f"{value:.10g}" for value in row])
    return out.getvalue()
