"""What a linearisation at rest does not tell of a nonlinear loop.

Along a rehearsal the loop is linearised at the operating points it reaches (with ideal sensors: a resolution has no
derivative).  An eigenvalue beyond one there says that small deviations grow while the loop dwells at that point, not
that the test must diverge; that is tried: the excitation is raised, with the limits lifted, until the rehearsal loses
stability.  A shaking table is judged up to the excitation from which on its actuators are at an end of their strokes,
forces or speeds: beyond it, its motion is no more what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...definition.definition import Definition
from ...definition.sections import SimulatedRig
from ...definition.user_code import remembered
from ...kernels.block import channels, names
from ...kernels.loop import Loop
from ...models.structures.structure import Structure
from ...models.structures.user import UserFunction
from ...rigs.shaking_table import ShakingTable
from ...rigs.specimen import Specimen
from ...runs.build import build
from ...safety.limits import Limits
from ...stability.linearise import Linearisation, derivative

POINTS = 60
LARGEST_FACTOR = 1024.0
GROWN = 3.0
"""The gap has lost its stability when its peak in the last quarter is this many times that of the quarter before …"""
RESTING = 1e-6
SHARE = 0.1
"""… and at least this share of the target's."""
SMALL = 1e-6
"""Times the excitation, where the loop moves as it does at rest."""


@dataclass(frozen=True)
class Nonlinear:
    """Operating points along the rehearsal, and the amplitude at which the rehearsal loses stability."""

    time: np.ndarray
    spectral_radius: np.ndarray
    factor: float | None
    """Of the excitation as defined, at which stability is lost; None if it is not up to ``LARGEST_FACTOR``."""

    searched: bool = True
    """Whether that amplitude was looked for; not in a loop that is unstable already at rest."""

    saturated: float | None = None
    """Factor from which on the rig's actuators saturate; None if they do not, or it is not known."""

    of: str = ""
    """What of them: stroke, force or speed."""

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
        if self.factor is None and self.saturated is not None:
            return f"{text}; from {self.saturated:.3g} times the excitation on the table saturates in {self.of}"
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
    if isinstance(rig, ShakingTable):  # strokes, forces and speeds have ends, and its kinematics are finite
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
    points = np.array(time), np.array(radius)
    if not stable_at_rest:
        return Nonlinear(*points, factor=None, searched=False)
    saturation = saturation_factors(definition)
    if saturation is None:
        return Nonlinear(*points, factor=critical_factor(definition))
    below, saturated = saturation
    return Nonlinear(*points, critical_factor(definition, below), True, saturated, tried(definition, saturated).end)


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


def critical_factor(definition: Definition, largest: float = LARGEST_FACTOR) -> float | None:
    """Factor on the excitation, up to ``largest``, at which the rehearsal, without limits, loses stability."""
    found = onset(lambda factor: diverges(definition, factor), definition, largest)
    return None if found is None else found[1]


def saturation_factors(definition: Definition) -> tuple[float, float] | None:
    """Factors on the excitation between which actuators of a shaking table come to saturate; None if they do not."""
    if not isinstance(definition.rig, ShakingTable):
        return None
    return onset(lambda factor: bool(tried(definition, factor).end), definition, LARGEST_FACTOR, bisections=4)


def onset(
    happens: Callable[[float], bool], definition: Definition, largest: float, bisections: int = 10
) -> tuple[float, float] | None:
    """Factors on the excitation, up to ``largest``, between which something comes to happen; None if it does not.

    They are found by doubling and bisection: at the first it does not happen, at the second it does.
    """
    if definition.excitation.virtual is None and definition.excitation.specimen is None:
        return None
    low, high = 0.0, min(1.0, largest)
    while not happens(high):
        if high >= largest:
            return None
        low, high = high, min(2.0 * high, largest)
    for _ in range(bisections):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if happens(middle) else (middle, high)
    return low, high


def diverges(definition: Definition, factor: float) -> bool:
    """Whether the rehearsal at ``factor`` times the excitation, without limits, loses stability.

    A gap that grows as it does in small motion, where the loop is stable, grows with the excitation.
    """
    run = tried(definition, factor)
    if run.peaks is None or run.end:
        return run.peaks is None
    small, n = tried(definition, SMALL).peaks, definition.virtual.axes
    (before, last), usual = run.peaks[2:], np.ones(n)
    if small is not None:
        usual = np.maximum(small[3][:n] / np.maximum(small[2][:n], np.finfo(float).tiny), 1.0)
    return bool(np.any((last[:n] > GROWN * usual * before[:n]) & (last[:n] > SHARE * last[n:])))


@dataclass(frozen=True)
class Tried:
    """A rehearsal without limits: peaks of gap and target in its quarters, None if it could not be run on; and what of
    the actuators of a table saturates, where it is not run to its end.
    """

    peaks: list[np.ndarray] | None
    end: str = ""


@remembered(maxsize=32)
def tried(definition: Definition, factor: float) -> Tried:
    """The rehearsal at ``factor`` times the excitation, without limits."""
    excitation, rig = definition.excitation, definition.rig
    scaled = {
        side: None if part is None else part.model_copy(update={part.quantity: factor * part.amplitude})
        for side, part in (("virtual", excitation.virtual), ("specimen", excitation.specimen))
    }
    free = definition.model_copy(
        update={"excitation": excitation.model_copy(update=scaled), "limits": Limits(after_trip=0.0)}
    )
    loop = build(free, ideal=True, endless=True)
    ticks = max(definition.timing.ticks // 4, 1)
    watched = [name for signal in ("gap", "target") for name in definition.interface.channels(signal)]
    ends = end_channels(rig) if isinstance(rig, ShakingTable) else ()
    peaks: list[np.ndarray] = []
    for _ in range(4):
        log = loop.run(ticks, record=(*watched, *ends)).log[:, 1:]
        if loop.state("guard")["mode"] != 0.0 or not np.all(np.isfinite(log)):
            return Tried(None)
        if isinstance(rig, ShakingTable) and (end := end_reached(rig, log[:, len(watched) :])):
            return Tried(peaks, end)
        peaks.append(np.abs(log[:, : len(watched)]).max(axis=0))
    return Tried(peaks)


def end_channels(rig: ShakingTable) -> tuple[str, ...]:
    m = len(rig.actuators)
    return (*names(channels("rig.stroke", "m", m)), *names(channels("rig.actuator_force", "N", m)), "rig.saturated")


def end_reached(rig: ShakingTable, log: np.ndarray) -> str:
    """What of a table's actuators comes to its end in rows of ``end_channels``; empty if nothing does."""
    saturated = np.abs(log[log[:, -1] > 0.0])
    if not len(saturated):
        return ""
    m = len(rig.actuators)
    found = {
        "stroke": np.any(saturated[:, :m] > [one.stroke for one in rig.actuators]),
        "force": np.any(saturated[:, m : 2 * m] >= [one.force for one in rig.actuators]),
    }
    return " and ".join(name for name, met in found.items() if met) or "speed"
