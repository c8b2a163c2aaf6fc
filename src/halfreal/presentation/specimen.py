"""How far the specimen that a run met differs from the model, as text and as a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..runs.run import Property, Run
from .wording import NONE, number, percent

SHARES = ("equivalent damping", "not linear")
MEANINGS = {
    "stiffness": "force in phase with the motion",
    "damping": "all dissipation, viscous or hysteretic, as an equivalent viscous damper",
    "mass": "distinguished from the stiffness by the frequencies of the motion",
    "equivalent damping": "hysteresis: energy per cycle over 4π times the elastic energy",
    "energy per cycle": "hysteresis: mean dissipated energy",
    "not linear": "part of the force that no linear specimen explains",
}
MORE = {"stiffness": ("stiffer", "softer"), "damping": ("more damped", "less damped"), "mass": ("heavier", "lighter")}


@dataclass(frozen=True)
class MetRow:
    name: str
    met: str
    model: str
    difference: str
    meaning: str
    differs: bool


def headline(run: Run) -> str:
    """One sentence: how the specimen met differs from the model, or that it does not, or why that is not known."""
    found = run.specimen_met
    if found is None:
        return ""
    if not found.properties or all(np.isnan(one.model) for one in found.properties):
        return f"The difference between the tested specimen and its model is not known: {found.reason}."
    differs = found.differs
    if not differs:
        known = [one for one in found.properties if one.name == "stiffness" and np.isfinite(one.met)]
        if not known:
            return "The difference between the tested specimen and its model is not known: the motion was too small."
        return "The tested specimen agrees with its model within the accuracy of the record."
    told = [_told(one, several=len(run.interface) > 1) for one in differs[:3]]
    return f"The tested specimen is {', '.join(told)}: the fidelity error relative to the model is of little use."


def _told(one: Property, several: bool) -> str:
    axis = f" on axis {one.axes[0]}" if several else ""
    if one.name == "not linear":
        return f"less linear than the model{axis} ({percent(one.met)} of its force unexplained, {percent(one.model)})"
    if len(one.axes) > 1:
        return f"coupled differently from the model between axes {' and '.join(one.axes)} ({one.name})"
    more = MORE[one.name][one.met < one.model]
    if abs(one.model) > 4 * one.model_spread and one.met * one.model > 0:
        share, spread = one.met / one.model - 1, np.hypot(one.spread, one.model_spread) / abs(one.model)
        digits = 0 if spread >= 0.005 else 1 if spread >= 0.0005 else 2
        known = max(100 * spread, 10.0**-digits)
        return f"{100 * abs(share):.{digits}f} ± {known:.{digits}f} % {more} than the model{axis}"
    return f"{more} than the model{axis} ({value(one)} for {value(one, of_model=True)})"


def value(one: Property, of_model: bool = False) -> str:
    """A property with its 95 % interval."""
    found, spread = (one.model, one.model_spread) if of_model else (one.met, one.spread)
    if not np.isfinite(found):
        return "not known"
    if one.name in SHARES:
        return percent(found) + (f" ± {percent(spread)}" if np.isfinite(spread) else "")
    unit, factor = one.unit.replace("^2", "²"), 1.0
    if unit.startswith("N"):
        large = max(abs(found), abs(one.met), abs(one.model)) if np.isfinite([one.met, one.model]).all() else abs(found)
        factor, prefix = (1e-6, "M") if large >= 1e7 else (1e-3, "k") if large >= 1e4 else (1.0, "")
        unit = prefix + unit
    known = f" ± {number(factor * spread, 2)}" if np.isfinite(spread) else ""
    return f"{number(factor * found, 4)}{known} {unit}"


def table(run: Run) -> list[MetRow]:
    """All properties of the specimen met next to those of the model; none if nothing is known."""
    found = run.specimen_met
    rows = []
    for one in () if found is None else found.properties:
        axes = "" if len(run.interface) == 1 else f", axis {one.axes[0]}"
        axes = axes if len(one.axes) == 1 else f", force on {one.axes[0]} by {one.axes[1]}"
        known = one.name in SHARES or abs(one.model) > 4 * one.model_spread  # no share of what may be nothing
        change = np.nan if not known else one.met - one.model if one.name in SHARES else one.met / one.model - 1
        told = NONE
        if np.isfinite(change):
            told = percent(change, sign=True)
            told = told.replace("%", "pp") if one.name in SHARES else told
        rows.append(
            MetRow(one.name + axes, value(one), value(one, of_model=True), told, MEANINGS[one.name], one.differs)
        )
    return rows
