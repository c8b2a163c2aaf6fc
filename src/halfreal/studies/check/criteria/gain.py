"""Whether a stable loop bears but little more gain."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ....contracts.finding import Finding
from ....definition.definition import Definition
from ....runs.loop_stability import finite
from ....stability.margins import DelayMargin
from ..examined import Examined

LEAST_GAIN_DB = 3.0
"""Margin below which a warning is due."""


def gain(examined: Examined) -> Iterable[Finding]:
    margin = examined.stability.margin
    if not examined.sound or margin is None or finite(margin.critical_delay) is None:
        return []
    return little_gain(examined.definition, margin)


def little_gain(definition: Definition, margin: DelayMargin) -> list[Finding]:
    """A warning where the loop bears little more gain."""
    more = 10.0 ** (margin.gain_margin_db / 20.0) - 1.0
    if not margin.gain_margin_db < LEAST_GAIN_DB:
        return []
    down = np.floor(100.0 * margin.gain_margin_db) / 100.0  # never rounded up to the limit that it is below
    text = (
        f"a gain margin of {down:.2f} dB, below {LEAST_GAIN_DB:g} dB, is little: a specimen "
        f"{100 * more:.0f} % stiffer or heavier makes the loop unstable; {calmer(definition)}"
    )
    return [Finding("warning", text, margin.gain_margin_db, LEAST_GAIN_DB, "dB")]


def calmer(definition: Definition) -> str:
    """What may be changed so that the loop bears more gain, by what its coupling does."""
    coupling = definition.coupling
    if coupling.predicts:
        return "what the coupling predicts, it amplifies: less prediction, or a lower order, may help"
    smaller = "a lighter or softer specimen, or more mass and stiffness on the virtual side, helps"
    if not coupling.compensates:
        return smaller
    return (
        f"the coupling '{coupling.kind}' amplifies where it makes up for the rig: a milder one may help; else {smaller}"
    )
