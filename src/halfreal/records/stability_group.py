"""The group ``/stability`` of a run file: its layout is told in ``run_file.py``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..runs.run import DelayEquation, InMotion, Stability
from ..stability.loci import Loci
from .datasets import array, text_of

POLES = ("frequency_hz", "damping", "magnitude")
MARGINS = ("delay_margin", "critical_delay", "phase_margin_deg", "gain_margin_db")
"""Written where they are known."""
IN_MOTION = ("exponent", "delay_margin", "gain_margin_db", "gain_reduction_db")
LOCI = ("frequency_hz", "values", "crossing_hz", "lag_deg", "harmful", "gain_hz", "gain_db")


def write(group: Any, known: Stability) -> None:
    """Write what is known of a loop's stability into an empty group."""
    group.attrs["spectral_radius"], group.attrs["stable"] = float(known.spectral_radius), bool(known.stable)
    group.attrs["text"] = text_of(known.text, "stability")
    group.attrs["holds"] = known.holds
    for key in MARGINS:
        if getattr(known, key) is not None:
            group.attrs[key] = float(getattr(known, key))
    _arrays(group, known, POLES)
    equation, loop = known.continuous, known.open_loop
    if equation is not None:
        inside = group.create_group("continuous")
        inside.attrs["text"] = text_of(equation.text, "stability")
        inside.attrs["verdict"] = equation.verdict
        inside.attrs["root_real"], inside.attrs["root_imaginary"] = equation.root.real, equation.root.imag
        if equation.delay_margin is not None:
            inside.attrs["delay_margin"] = float(equation.delay_margin)
    if known.in_motion is not None:
        inside = group.create_group("in_motion")
        inside.attrs["text"] = text_of(known.in_motion.text, "stability")
        for key in IN_MOTION:
            if getattr(known.in_motion, key) is not None:
                inside.attrs[key] = float(getattr(known.in_motion, key))
    if loop is not None:
        inside = group.create_group("open_loop")
        inside.attrs["text"] = text_of(loop.text, "stability")
        _arrays(inside, loop, LOCI)


def read(group: Any) -> Stability:
    """What is known of a loop's stability."""
    arrays: dict[str, Any] = {key: group[key][()] for key in POLES}
    margins: dict[str, Any] = {key: float(group.attrs[key]) for key in MARGINS if key in group.attrs}
    return Stability(
        spectral_radius=float(group.attrs["spectral_radius"]),
        stable=bool(group.attrs["stable"]),
        text=group.attrs["text"],
        continuous=_delay_equation(group["continuous"].attrs) if "continuous" in group else None,
        find_open_loop=_loci(group["open_loop"]) if "open_loop" in group else None,
        holds=str(group.attrs.get("holds", "")),
        in_motion=_in_motion(group["in_motion"].attrs) if "in_motion" in group else None,
        **arrays,
        **margins,
    )


def _delay_equation(facts: Any) -> DelayEquation:
    margin = float(facts["delay_margin"]) if "delay_margin" in facts else None
    return DelayEquation(facts["text"], facts["verdict"], complex(facts["root_real"], facts["root_imaginary"]), margin)


def _in_motion(facts: Any) -> InMotion:
    numbers: dict[str, Any] = {key: float(facts[key]) for key in IN_MOTION if key in facts}
    return InMotion(facts["text"], **numbers)


def _loci(group: Any) -> Callable[[], Loci]:
    arrays: dict[str, Any] = {key: group[key][()] for key in LOCI}
    return partial(Loci, text=group.attrs["text"], **arrays)


def _arrays(group: Any, known: Stability | Loci, names: tuple[str, ...]) -> None:
    for key in names:
        array(group, key, getattr(known, key))
