"""Rehearsals that couplings are judged by: the definition's own, and samples of what is uncertain in it.

Judged is where the specimen is, r the emulated system and x the rig's true displacement (a simulated rig knows it):

    error  ‖x − r‖/‖r‖        synchronisation  ‖x − z‖/‖z‖        fidelity  ‖z − r‖/‖r‖

with z the target; where the emulated system is not known, r is z.  Each axis is measured by its own motion, so that
metres and radians are never added, and the worst of those that move counts.  Where the definition names a criterion to
be minimised (section [criteria]), that takes the place of the error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
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
from ...rigs.noise_table import share_noise
from ...runs.alike import alike_from_now
from ...runs.build import build
from ...runs.error_measures import nrmse
from ...runs.events import how_it_ended, limit_exceeded, limits_used
from ...runs.loop_stability import linearised
from ...runs.measures import MOVES, MOVES_BESIDE_ALL
from ...runs.opaque_models import check_known
from ...runs.reference import can_emulate, emulate
from ...runs.run import Run, Signal
from ...runs.scored import emulated_run, score
from ...safety.limits import Limits
from ..check.criteria.acceptance import UNKNOWN, of_margins
from ..check.examined import Examined
from ..uncertainty.variation import Variation
from .journal import Journal
from .plant import undisturbed

LONGEST = 60.0
"""Seconds of a test that are rehearsed."""
LEARNT = 0.75
"""Part of the test after which a coupling that learns harmonics is judged."""
MEASURED, MOVED = "measured.displacement", "rig.displacement"
REJECTED = "rejected: "
WIDENED = 10.0
"""Times the limits at which a rehearsal ends, so that it shows by how much it exceeds them."""
SIGNALS = ("target", MEASURED, MOVED)
"""Recorded; the measured displacement replaces it where a rig does not provide its true one."""


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
    """The limit that leaves the smallest margin, and the share of it that was used."""
    on_axes: tuple[float, ...] = ()
    """The error of each axis that counts."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Outcome:
        used = found["used"]
        return cls(**{**found, "used": None if used is None else tuple(used), "on_axes": tuple(found["on_axes"])})


@dataclass(frozen=True)
class Signals:
    """Columns (ticks, axes that count) of a rehearsal from where it is judged on, and of the emulated system if it is
    known; all commands."""

    target: np.ndarray
    measured: np.ndarray
    moved: np.ndarray
    command: np.ndarray
    due: np.ndarray


class Bench:
    """A definition ready to be rehearsed with one coupling after another."""

    def __init__(self, definition: Definition, samples: int, workers: int = 2, journal: Journal | None = None) -> None:
        self.journal = Journal(None, "") if journal is None else journal
        self.nominal = prepared(definition)
        minimised = None if self.nominal.criteria is None else self.nominal.criteria.minimise
        self.criterion = minimised or ""
        """What is minimised in place of the error."""
        self.unlinearised = ""
        """Why the loop could not be linearised, if it could not: then rehearsals alone speak."""
        self.uncertain = parameters(definition)
        self.refused = 0
        drawn = [self.nominal, *self._draw(definition, samples)]
        learns = definition.commands == "force"  # for which there are harmonic couplings alone
        self.first = round(LEARNT * self.nominal.timing.ticks) if learns else 0
        self._pool = ThreadPoolExecutor(workers, initializer=alike_from_now)
        self._due = list(self._pool.map(self._emulated, drawn))
        self._compared: dict[int, Run | None] = {}
        self._widened: dict[int, tuple[Limits, Limits]] = {}
        self.drawn = drawn
        self.counted = counted_axes(self.nominal, self.motion)
        """Where among the axes those stand that move, and by which couplings are judged."""
        self.rehearsals = 0
        self.by_sensors = False
        """Whether the measured displacement has replaced the rig's true one."""

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _draw(self, definition: Definition, samples: int) -> list[Definition]:
        if not self.uncertain or not samples:
            return []
        from scipy.stats import qmc

        part = qmc.LatinHypercube(len(self.uncertain), seed=definition.timing.seed).random(samples)
        values = np.column_stack([p.quantile(part[:, i]) for i, p in enumerate(self.uncertain)])
        variation, found = Variation(self.nominal, [p.place for p in self.uncertain]), list[Definition]()
        variation.expect([p.low for p in self.uncertain], [p.high for p in self.uncertain])
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

    @property
    def motion(self) -> np.ndarray:
        """Motion of the interface that the test is about, (ticks, axes): emulated, or of a rigid interface."""
        return undisturbed(self.nominal) if self.due is None else self.due

    # --- rehearsals ---------------------------------------------------------------------------------------------------

    def with_coupling(self, coupling: Coupling, which: int = 0) -> Definition:
        return self.drawn[which].unchecked_copy({"coupling": coupling})

    def misfit(self, coupling: Coupling) -> str:
        """Why a coupling does not fit the definition; empty if it does."""
        return str(self.journal.recalled("misfit", coupling, lambda: self._misfit(coupling)))

    def _misfit(self, coupling: Coupling) -> str:
        definition = self.with_coupling(coupling)
        try:
            from_json(Definition, definition.model_dump(mode="json"))
            build(definition)
        except HalfrealError as error:
            return str(error)
        return ""

    def instability(self, coupling: Coupling) -> str:
        """How a loop that is unstable at rest grows; empty if it is stable, or cannot be linearised."""

        def found() -> str:
            try:
                definition = self.with_coupling(coupling)
                check_known(definition)
                linearisation = linearised(definition)
            except HalfrealError as error:
                self.unlinearised = str(error)
                return ""
            return "" if linearisation.stable else linearisation.summary()

        return str(self.journal.recalled("instability", coupling, found))

    def short_of(self, coupling: Coupling) -> tuple[str, float]:
        """Which margins that [acceptance] requires a coupling does not leave, and the largest part of one that is
        missing; empty and 0 if it leaves them all."""

        def found() -> tuple[str, float]:
            examined = Examined(self.with_coupling(coupling), tries_remedies=False)
            try:
                missing = [one for one in of_margins(examined) if one.text != UNKNOWN]
            except HalfrealError as error:
                self.unlinearised = str(error)
                return "", 0.0
            parts = [1.0 - one.value / one.limit if one.limit and one.value is not None else 1.0 for one in missing]
            return "; ".join(one.text for one in missing), max(parts, default=0.0)

        text, part = self.journal.recalled("margins left", coupling, found)
        return str(text), float(part)

    def run(self, definition: Definition, which: int = 0, *, ideal: bool = False) -> tuple[Outcome, Signals | None]:
        """Rehearse a definition and judge it against the ``which``-th emulated system."""
        self.rehearsals += 1
        axes, dt, at = definition.interface, definition.timing.step, list(self.counted)
        n = len(axes)
        loop = build(definition.unchecked_copy({"limits": self._wide(definition.limits)}), Purpose(ideal=ideal))
        share_noise(loop, definition.timing.ticks)
        self.by_sensors = not tells(definition, loop)
        recorded = [MEASURED if signal == MOVED and self.by_sensors else signal for signal in SIGNALS]
        wanted = [*(name for signal in recorded for name in axes.channels(signal)), *axes.actuators.channels("command")]
        names = [channel.name for channel in loop.channels] if self.criterion else list(dict.fromkeys(wanted))
        stretch = loop.run(definition.timing.ticks, record=names)
        outcome, reason = how_it_ended(definition, loop, stretch.ended)
        whole, columns = stretch.log[:, 1:], {name: 1 + i for i, name in enumerate(names)}
        log = stretch.log[:, [columns[name] for name in wanted]]
        exceeded = None if ideal else limit_exceeded(definition, loop)
        if exceeded is not None:
            key, values, share = exceeded
            percent = f"{100 * share:.{3 if share > 1.005 else 4}g}" if share < WIDENED else f"over {100 * WIDENED:g}"
            return Outcome(f"{REJECTED}{key} {percent} % ({values})", math.inf, used=(key, share)), None
        if outcome != "completed" or len(log) < definition.timing.ticks or not np.all(np.isfinite(log)):
            return Outcome(reason or "its numbers are not finite", math.inf), None
        parts = np.split(log[self.first :], [n, 2 * n, 3 * n], axis=1)
        target, measured, moved, command = (*(part[:, at] for part in parts[:3]), parts[3])
        emulated = self._due[which]
        due = target if emulated is None else emulated[self.first :, at]
        signals = Signals(target, measured, moved, command, due)
        shares = limits_used(definition, loop)
        closest = max(shares, key=lambda name: shares[name]) if shares else None
        turns = axes.actuators.rotations
        pushed = command if turns.all() else command[:, ~turns]
        on_axes = tuple(distance(due[:, [i]], moved[:, [i]]) for i in range(len(at)))
        error = max(on_axes)
        if self.criterion and not ideal:
            try:
                error = self._scored(definition, which, loop, dict(zip(names, whole.T, strict=True)))
            except HalfrealError as problem:
                return Outcome(f"no criteria: {problem}", math.inf), None
            if not math.isfinite(error):
                return Outcome(f"its criterion '{self.criterion}' is not a finite number", math.inf), None
        found = Outcome(
            "",
            error,
            distance(target, moved),
            distance(due, target),
            float(np.abs(pushed).max()),
            float(np.abs(np.diff(pushed, axis=0)).max() / dt) if len(pushed) > 1 else 0.0,
            None if closest is None else (closest, shares[closest]),
            on_axes,
        )
        return found, signals

    def _wide(self, limits: Limits) -> Limits:
        """Wider limits, with which the test ends at once where they are exceeded too; the same for the same ones."""
        if id(limits) not in self._widened:
            self._widened[id(limits)] = limits, limits.widened(WIDENED).unchecked_copy({"after_trip": 0.0})
        return self._widened[id(limits)][1]

    def _scored(self, definition: Definition, which: int, loop: Loop, log: dict[str, np.ndarray]) -> float:
        """The criterion that is minimised, of a rehearsal."""
        units = {channel.name: channel.unit for channel in loop.channels}
        time = definition.timing.step * np.arange(definition.timing.ticks)
        run = Run(
            title=definition.title,
            kind="rehearsal",
            definition={"timing": {"duration": definition.timing.duration}},
            definition_text="",
            step=definition.timing.step,
            time=time,
            signals={name: Signal(units[name], values) for name, values in log.items()},
            events=(),
            outcome="completed",
            reason="",
            seed=definition.timing.seed,
            started="",
            interface=definition.interface,
        )
        if which not in self._compared:
            self._compared[which] = emulated_run(self.drawn[which], run)
        assert definition.criteria is not None
        return score(definition.criteria, run, self._compared[which])[self.criterion].value

    def outcomes(self, coupling: Coupling, which: Sequence[int]) -> list[Outcome]:
        """Of several samples; 0 is the nominal rig."""

        def one(i: int) -> Outcome:
            found = self.journal.recalled(
                f"outcome {i}", coupling, lambda: self.run(self.with_coupling(coupling, i), i)[0].as_json()
            )
            return Outcome.from_json(found)

        return list(self._pool.map(one, which))

    def stable(self, coupling: Coupling, which: Sequence[int]) -> int:
        """How many of some samples are stable at rest; one that cannot be linearised counts as such."""

        def one(i: int) -> bool:
            try:
                definition = self.with_coupling(coupling, i)
                check_known(definition)
                return linearised(definition).stable
            except HalfrealError as error:
                self.unlinearised = str(error)
                return True

        return sum(
            bool(found)
            for found in self._pool.map(lambda i: self.journal.recalled(f"stable {i}", coupling, lambda: one(i)), which)
        )

    def robust(self, coupling: Coupling, which: Sequence[int], give_up: float = math.inf) -> Outcome:
        """The outcome of the sample that fails, exceeds a limit, or has the largest error; that of the nominal rig
        alone if its error is beyond ``give_up``."""
        (first,) = self.outcomes(coupling, [0])
        if not first.error <= give_up or len(which) < 2:
            return first
        return worst_of([first, *self.outcomes(coupling, [i for i in which if i])])


def worst_of(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome that fails for another reason than a limit, else that which exceeds one most, else that with the
    largest error; of those that keep the limits, what the one closest to them has used."""
    rejected = [one for one in outcomes if one.reason]
    if rejected:
        return max(rejected, key=lambda one: math.inf if one.used is None else one.used[1])
    used = [one.used for one in outcomes if one.used is not None]
    worst = max(outcomes, key=lambda one: one.error)
    return replace(worst, used=max(used, key=lambda one: one[1])) if used else worst


def tells(definition: Definition, loop: Loop) -> bool:
    """Whether the rig of a loop writes its true displacement, one for each axis."""
    there = {channel.name for channel in loop.channels if channel.of == "axis"}
    return there.issuperset(definition.interface.channels(MOVED))


def distance(reference: np.ndarray, signal: np.ndarray) -> float:
    """NRMSE of the worst of some axes, (ticks, axes); endless if it is not a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = max(nrmse(reference[:, i], signal[:, i]) for i in range(reference.shape[1]))
    return found if np.isfinite(found) else math.inf


def counted_axes(definition: Definition, motion: np.ndarray) -> tuple[int, ...]:
    """Commanded axes that move enough, next to others of their unit and all others, for their errors to mean something;
    all of them if none does."""
    axes = definition.interface
    peaks = np.abs(motion).max(axis=0)
    turns = axes.rotations
    most = np.array([peaks[turns == one].max() for one in turns])
    moves = (peaks >= MOVES * most) & (peaks >= MOVES_BESIDE_ALL * peaks.max()) & (peaks > 0.0)
    return tuple(i for i in axes.commanded_at if moves[i]) or axes.commanded_at


def prepared(definition: Definition) -> Definition:
    """The definition as it is rehearsed here: no way to the start and back, not too long, with its emulated system."""
    timing = definition.timing.unchecked_copy(
        {"soft_start": 0.0, "soft_stop": 0.0, "duration": min(definition.timing.duration, LONGEST)}
    )
    update: dict[str, Any] = {"timing": timing, "uncertainty": {}, "online_identification": None}
    known = definition.virtual.system("none") is not None and definition.rig.known_specimen is not None
    if definition.reference is None and known:
        update["reference"] = Reference()
    found = definition.unchecked_copy(update)
    return found if found.reference is None or can_emulate(found) else found.unchecked_copy({"reference": None})
