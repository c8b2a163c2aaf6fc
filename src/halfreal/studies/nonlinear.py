"""What a linearisation at rest does not tell of a nonlinear loop.

Along a rehearsal the loop is linearised at the operating points it reaches (with ideal sensors: a resolution has no
derivative).  An eigenvalue beyond one there says that small deviations grow while the loop dwells at that point, not
that the test must diverge; that is tried: the excitation is raised, with the limits lifted, until the rehearsal loses
stability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..definition.definition import Definition, SimulatedRig
from ..kernels.block import channels, names
from ..kernels.loop import Loop
from ..models.structure import Structure
from ..models.user import UserFunction
from ..rigs.specimen import Specimen
from ..runs.build import build
from ..safety.limits import Limits
from ..stability.linearise import Linearisation, derivative

POINTS = 60
LARGEST_FACTOR = 1024.0
GROWN = 3.0
"""The gap has lost its stability when its peak in the last quarter is this many times that of the quarter before …"""
RESTING = 1e-6
SHARE = 0.1
"""… and at least this share of the target's."""


@dataclass(frozen=True)
class Nonlinear:
    """Operating points along the rehearsal, and the amplitude at which the rehearsal loses stability."""

    time: np.ndarray
    spectral_radius: np.ndarray
    factor: float | None
    """Of the excitation as defined, at which stability is lost; None if it is not up to ``LARGEST_FACTOR``."""

    searched: bool = True
    """Whether that amplitude was looked for; not in a loop that is unstable already at rest."""

    def summary(self) -> str:
        text = "nonlinear: the rehearsal was too short for operating points"
        if self.time.size:
            worst = int(np.argmax(self.spectral_radius))
            text = (
                f"nonlinear: linearised at {self.time.size} operating points of the rehearsal, largest spectral radius "
                f"{self.spectral_radius[worst]:.6f} at {self.time[worst]:.3g} s"
            )
            if self.spectral_radius[worst] > 1.0 and self.searched and self.factor is None:
                text += ", where small deviations grow for the ticks that the loop spends there, and not over the test"
        if not self.searched:
            return text
        if self.factor is None:
            return f"{text}; no growth up to {LARGEST_FACTOR:g} times the excitation"
        return f"{text}; loses stability at {self.factor:.3g} times the excitation"


def is_nonlinear(definition: Definition) -> bool:
    """Whether anything in the loop may be nonlinear; a user's function counts as such."""
    virtual, rig = definition.virtual, definition.rig
    parts: list[Any] = [virtual, definition.coupling, rig]
    elements: tuple[Any, ...] = virtual.elements if isinstance(virtual, Structure) else ()
    if isinstance(rig, SimulatedRig):
        parts.append(rig.specimen)
        elements += rig.specimen.elements if isinstance(rig.specimen, Specimen) else ()
        if rig.actuator.stroke is not None or rig.actuator.speed is not None:
            return True
    return any(isinstance(part, UserFunction) for part in parts) or any(e.law.kind != "linear" for e in elements)


def examine(definition: Definition, stable_at_rest: bool = True) -> Nonlinear:
    """Linearise along a rehearsal and, if the loop is stable at rest, look for the amplitude at which it no more is."""
    loop = build(definition, ideal=True, endless=True)
    stretch = max(definition.timing.ticks // POINTS, 1)
    time, radius = [], []
    for _ in range(POINTS):
        loop.run(stretch)
        if loop.state("guard")["mode"] != 0.0:
            break
        time.append(loop.vector[0] * loop.dt)
        radius.append(moving_radius(loop))
    factor = critical_factor(definition) if stable_at_rest else None
    return Nonlinear(np.array(time), np.array(radius), factor, stable_at_rest)


def moving_radius(loop: Loop) -> float:
    """Spectral radius at the loop's present state, hysteretic memory included.

    A specimen that does not yield at the moment keeps its permanent set: a pole at λ = 1 that says nothing.  As many as
    there are memories may be left out.
    """
    memories = loop.memory_indices()
    indices = np.concatenate([loop.dynamic_indices(), memories])
    values = Linearisation(derivative(loop, indices, indices), loop.dt).eigenvalues
    kept = np.argsort(np.abs(values - 1.0))
    resting = [i for i in kept[: memories.size] if abs(values[i] - 1.0) < RESTING]
    return float(np.abs(np.delete(values, resting)).max())


def critical_factor(definition: Definition) -> float | None:
    """Factor on the excitation at which the rehearsal, without limits, loses stability."""
    if definition.excitation.virtual is None and definition.excitation.specimen is None:
        return None
    low, high = 0.0, 1.0
    while not diverges(definition, high):
        low, high = high, 2.0 * high
        if high > LARGEST_FACTOR:
            return None
    for _ in range(10):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if diverges(definition, middle) else (middle, high)
    return high


def diverges(definition: Definition, factor: float) -> bool:
    """Whether the rehearsal at ``factor`` times the excitation loses stability."""
    excitation = definition.excitation
    scaled = {
        side: None if part is None else part.model_copy(update={part.quantity: factor * part.amplitude})
        for side, part in (("virtual", excitation.virtual), ("specimen", excitation.specimen))
    }
    free = definition.model_copy(
        update={"excitation": excitation.model_copy(update=scaled), "limits": Limits(after_trip=0.0)}
    )
    loop = build(free, ideal=True, endless=True)
    ticks = max(definition.timing.ticks // 4, 1)
    n = definition.virtual.axes
    gap, target = names(channels("gap", "m", n)), names(channels("target", "m", n))
    peaks = []
    for _ in range(4):
        log = loop.run(ticks, record=(*gap, *target)).log[:, 1:]
        if loop.state("guard")["mode"] != 0.0 or not np.all(np.isfinite(log)):
            return True
        peaks.append(np.abs(log).max(axis=0))
    before, last = peaks[2], peaks[3]
    return bool(np.any((last[:n] > GROWN * before[:n]) & (last[:n] > SHARE * last[n:])))
