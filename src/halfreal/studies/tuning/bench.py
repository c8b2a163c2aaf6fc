"""Rehearsals that couplings are judged by: the definition's own, and samples of what is uncertain in it.

Judged is where the specimen is, r the emulated system and x the rig's true displacement (a simulated rig knows it):

    error  ‖x − r‖/‖r‖        synchronisation  ‖x − z‖/‖z‖        fidelity  ‖z − r‖/‖r‖

with z the target; where the emulated system is not known, r is z.  Several axes count as one long signal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contracts.context import Purpose
from ...contracts.coupling import Coupling
from ...definition.definition import Definition
from ...definition.faults import DefinitionError
from ...definition.load import from_json
from ...definition.sections import Reference
from ...definition.uncertainty import parameters
from ...errors import HalfrealError
from ...kernels.loop import Loop
from ...runs.build import build
from ...runs.error_measures import nrmse
from ...runs.events import how_it_ended, limits_used
from ...runs.loop_stability import linearised
from ...runs.reference import can_emulate, emulate
from ..uncertainty.variation import Variation

LONGEST = 60.0
"""Seconds of a test that are rehearsed."""
LEARNT = 0.75
"""Part of the test after which a coupling that learns harmonics is judged."""
MEASURED, MOVED = "measured.displacement", "rig.displacement"
SIGNALS = ("target", MEASURED, MOVED)
"""Recorded; the measured displacement stands in where a rig does not tell its true one."""


@dataclass(frozen=True)
class Outcome:
    """What a rehearsal came to."""

    reason: str
    """Why it failed; empty if it did not."""
    error: float
    synchronisation: float = math.nan
    fidelity: float = math.nan
    command: float = math.nan
    """Largest command."""
    command_rate: float = math.nan
    used: tuple[str, float] | None = None
    """The limit that leaves least room, and the share of it that was used."""


@dataclass(frozen=True)
class Signals:
    """Columns (ticks, axes) of a rehearsal from where it is judged on, and of the emulated system if it is known."""

    target: np.ndarray
    measured: np.ndarray
    moved: np.ndarray
    command: np.ndarray
    due: np.ndarray


class Bench:
    """A definition ready to be rehearsed with one coupling after another."""

    def __init__(self, definition: Definition, samples: int, workers: int = 2) -> None:
        self.nominal = prepared(definition)
        self.uncertain = parameters(definition)
        self.refused = 0
        drawn = [self.nominal, *self._draw(definition, samples)]
        learns = definition.commands == "force"  # for which there are harmonic couplings alone
        self.first = round(LEARNT * self.nominal.timing.ticks) if learns else 0
        self._pool = ThreadPoolExecutor(workers)
        self._due = list(self._pool.map(self._emulated, drawn))
        self.drawn = drawn
        self.rehearsals = 0
        self.by_sensors = False
        """Whether the measured displacement has stood in for the rig's true one."""

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _draw(self, definition: Definition, samples: int) -> list[Definition]:
        if not self.uncertain or not samples:
            return []
        from scipy.stats import qmc

        part = qmc.LatinHypercube(len(self.uncertain), seed=definition.timing.seed).random(samples)
        values = np.column_stack([p.quantile(part[:, i]) for i, p in enumerate(self.uncertain)])
        variation, found = Variation(self.nominal, [p.place for p in self.uncertain]), list[Definition]()
        for row in values:
            try:
                found.append(variation.at(row))
            except DefinitionError:
                self.refused += 1
        return found

    def _emulated(self, definition: Definition) -> np.ndarray | None:
        return emulate(definition, definition.timing.ticks, 1)

    @property
    def due(self) -> np.ndarray | None:
        """Motion of the nominal emulated system, (ticks, axes); None if it is not known."""
        return self._due[0]

    # --- rehearsals ---------------------------------------------------------------------------------------------------

    def with_coupling(self, coupling: Coupling, which: int = 0) -> Definition:
        return self.drawn[which].unchecked_copy({"coupling": coupling})

    def refusal(self, coupling: Coupling) -> str:
        """Why a coupling cannot be rehearsed: it does not fit the definition, or its loop is unstable at rest."""
        definition = self.with_coupling(coupling)
        try:
            from_json(Definition, definition.model_dump(mode="json"))
            linearisation = linearised(definition)
        except HalfrealError as error:
            return str(error)
        return "" if linearisation.stable else linearisation.summary()

    def run(self, definition: Definition, which: int = 0, *, ideal: bool = False) -> tuple[Outcome, Signals | None]:
        """Rehearse a definition and judge it against the ``which``-th emulated system."""
        self.rehearsals += 1
        axes, dt = definition.interface, definition.timing.step
        n = len(axes)
        loop = build(definition, Purpose(ideal=ideal))
        self.by_sensors = not tells(definition, loop)
        recorded = [MEASURED if signal == MOVED and self.by_sensors else signal for signal in SIGNALS]
        names = [*(name for signal in recorded for name in axes.channels(signal)), *axes.actuators.channels("command")]
        stretch = loop.run(definition.timing.ticks, record=names)
        outcome, reason = how_it_ended(definition, loop, stretch.ended)
        log = stretch.log[:, 1:]
        if outcome != "completed" or len(log) < definition.timing.ticks or not np.all(np.isfinite(log)):
            return Outcome(reason or "its numbers are not finite", math.inf), None
        target, measured, moved, command = np.split(log[self.first :], [n, 2 * n, 3 * n], axis=1)
        emulated = self._due[which]
        signals = Signals(target, measured, moved, command, target if emulated is None else emulated[self.first :])
        shares = limits_used(definition, loop)
        closest = max(shares, key=lambda name: shares[name]) if shares else None
        found = Outcome(
            "",
            distance(signals.due, moved),
            distance(target, moved),
            distance(signals.due, target),
            float(np.abs(command).max()),
            float(np.abs(np.diff(command, axis=0)).max() / dt) if len(command) > 1 else 0.0,
            None if closest is None else (closest, shares[closest]),
        )
        return found, signals

    def outcomes(self, coupling: Coupling, which: Sequence[int]) -> list[Outcome]:
        """Of several samples; 0 is the nominal rig."""
        return list(self._pool.map(lambda i: self.run(self.with_coupling(coupling, i), i)[0], which))

    def stable(self, coupling: Coupling, which: Sequence[int]) -> int:
        """How many of some samples are stable at rest."""
        return sum(self._pool.map(lambda i: linearised(self.with_coupling(coupling, i)).stable, which))

    def robust(self, coupling: Coupling, which: Sequence[int], give_up: float = math.inf) -> float:
        """The largest error of some samples; that of the nominal rig alone if it is beyond ``give_up``."""
        first = self.outcomes(coupling, [0])[0].error
        if not first <= give_up or len(which) < 2:
            return first
        return max(first, *(one.error for one in self.outcomes(coupling, [i for i in which if i])))


def tells(definition: Definition, loop: Loop) -> bool:
    """Whether the rig of a loop writes its true displacement, one for each axis."""
    there = {channel.name for channel in loop.channels if channel.of == "axis"}
    return there.issuperset(definition.interface.channels(MOVED))


def distance(reference: np.ndarray, signal: np.ndarray) -> float:
    """NRMSE of all axes together; endless if it is not a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = nrmse(reference.ravel(), signal.ravel())
    return found if np.isfinite(found) else math.inf


def prepared(definition: Definition) -> Definition:
    """The definition as it is rehearsed here: no way to the start and back, not too long, with its emulated system."""
    timing = definition.timing.unchecked_copy(
        {"soft_start": 0.0, "soft_stop": 0.0, "duration": min(definition.timing.duration, LONGEST)}
    )
    update: dict[str, Any] = {"timing": timing, "uncertainty": {}}
    known = definition.virtual.system("none") is not None and definition.rig.known_specimen is not None
    if definition.reference is None and known:
        update["reference"] = Reference()
    found = definition.unchecked_copy(update)
    return found if found.reference is None or can_emulate(found) else found.unchecked_copy({"reference": None})
