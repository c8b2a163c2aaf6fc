"""Which couplings apply to a definition, and the search for their parameters on rehearsals.

Every coupling is tried with a few settings that its file suggests, scaled to the motion and the rig of each axis, and
the one number that matters most is then refined, axis by axis, by a bounded search (R. P. Brent, Algorithms for
Minimization without Derivatives, 1973).  What is minimised is the largest error of a few samples (``bench.py``), among
settings that leave the margins which [acceptance] requires; those that do not come behind all that do.  Couplings of
other kinds, such as those of installed packages, say themselves what to try of them (``Coupling.trials``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from pydantic import ValidationError

from ...contracts.coupling import Coupling
from ...contracts.tuning import Known
from ...couplings.narrow_band_table import LINES, given_in, outside
from ...definition.definition import Definition
from ...definition.kinds import kinds, reader
from ...errors import HalfrealError
from .bench import Bench
from .plant import RigResponse, as_coupled, rig_responses

SEARCHED = 5
"""The nominal rig and so many samples less one are rehearsed while a parameter is sought."""
REFINED = 8
"""Rehearsals of a refinement."""
HOPELESS = 2.0
"""Times the best error so far beyond which the samples are not rehearsed any more."""

CHOSEN = ("frequencies", "base_frequency", "harmonics")
"""Settings of a harmonic coupling that say what it works on."""
SEEN = 0.03
"""Cycles of the highest frequency of a band between two samples that a broad-band inverse weighs."""

Settings = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """The best of a kind of coupling; ``coupling`` is None if none of it could be run, for ``reason``."""

    name: str
    coupling: Coupling | None
    error: float
    reason: str = ""
    short: str = ""
    """Margins that [acceptance] requires and that it does not leave."""

    @property
    def worth(self) -> tuple[bool, bool, float]:
        """Less is better: whether it can be run, leaves the margins that are required, and its error."""
        return self.coupling is None, bool(self.short), self.error


@dataclass(frozen=True)
class Tried:
    """Settings that were tried, and what came of them."""

    name: str
    settings: Settings
    error: float
    reason: str
    """Why they cannot be run, or which margins they do not leave; empty if nothing speaks against them."""


STILL = 1e-9
"""Rms motion [m or rad], and velocity, of an axis that is at rest."""


class Search:
    """The search on one bench; ``on_progress`` receives a line of progress."""

    def __init__(self, bench: Bench, on_progress: Callable[[str], None]) -> None:
        self.bench, self.on_progress = bench, on_progress
        self.which = range(min(SEARCHED, len(bench.drawn)))
        self.tried: list[Tried] = []
        self.families = 0

    def judge(self, name: str, settings: Settings, least: float = math.inf) -> Found:
        """A coupling with its largest error; ``least`` is that of others of its kind."""
        found = self._judged(settings, least)
        self.tried.append(Tried(name, settings, found.error, found.reason or found.short))
        return found

    def _judged(self, settings: Settings, least: float) -> Found:
        try:
            coupling = reader("coupling").validate_python(settings, context={"stored": True})
        except ValidationError as error:
            return Found("", None, math.inf, str(error.errors()[0]["msg"]))
        reason = self.bench.refusal(coupling)
        if reason:
            return Found("", None, math.inf, reason)
        short = self.bench.short_of(coupling)
        # one that does not leave its margins is no more than a makeshift: the nominal rig is enough to rank it
        which = self.which[:1] if short else self.which
        give_up = HOPELESS * least if least >= 0.0 else math.inf  # a criterion may be negative
        return Found("", coupling, self.bench.robust(coupling, which, give_up), short=short)

    def family(self, name: str, grid: Sequence[Settings], *refined: tuple[tuple[str, ...], float, float]) -> Found:
        """The best of a grid of settings, with the number at each place ``refined`` between two values in turn; the
        last of a place's keys may be that of an axis."""
        self.families += 1
        self.on_progress(f"{name}: coupling {self.families}, {self.bench.rehearsals} rehearsals so far")
        if not name.startswith("as given"):
            grid = [rounded(tried) for tried in grid]
        best, settings = Found(name, None, math.inf), grid[0]
        for tried in grid:
            found = self.judge(name, tried, best.error)
            if best.coupling is None or found.worth < best.worth:
                best, settings = found, tried
        for place, low, high in refined:
            if best.coupling is not None:
                best, settings = self._refine(name, best, settings, place, low, high)
        return replace(best, name=name)

    def _refine(
        self, name: str, best: Found, settings: Settings, place: tuple[str, ...], low: float, high: float
    ) -> tuple[Found, Settings]:
        from scipy.optimize import minimize_scalar

        found = [(best, settings)]

        def tried(value: float) -> float:
            changed = _put(settings, place, rounded(float(value)))
            one = self.judge(name, changed, min(other.error for other, _ in found))
            found.append((one, changed))
            return min(one.error, 1e6) + (1e6 if one.short or one.coupling is None else 0.0)

        minimize_scalar(tried, bounds=(low, high), method="bounded", options={"maxiter": REFINED})
        return min(found, key=lambda one: one[0].worth)


def rounded(value: Any) -> Any:
    """Settings as one would write them down: 4 digits of a number, 6 of each in an array."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return np.array([float(f"{item:.6g}") for item in value.ravel()]).reshape(value.shape)
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _put(settings: Settings, place: tuple[str, ...], value: float) -> Settings:
    """The settings with a number at a place: keys, of which the last may count the axes from 0."""
    key, *rest = place
    if not rest:
        return {**settings, key: value}
    inner = settings.get(key)
    if isinstance(inner, dict):
        return {**settings, key: _put(dict(inner), tuple(rest), value)}
    changed = np.array(inner, dtype=float)
    changed[int(rest[0])] = value
    return {**settings, key: changed}


# --- what applies -----------------------------------------------------------------------------------------------------


def search(bench: Bench, on_progress: Callable[[str], None]) -> tuple[list[Found], list[Tried]]:
    """Every coupling that applies, at its best, and all that was tried."""
    hunt = Search(bench, on_progress)
    found = harmonic(hunt) if bench.nominal.commands == "force" else by_displacement(hunt)
    return found, hunt.tried


def harmonic(hunt: Search) -> list[Found]:
    """Adaptive feed-forward for a rig that is driven by forces; what is not given is chosen from plant and limits.

    Frequencies that the test gives its coupling are kept: which harmonics are worth it is the user's choice.
    """
    given = hunt.bench.nominal.coupling
    duration = hunt.bench.nominal.timing.duration
    settings = given.model_dump(mode="json")
    found = [hunt.family(f"as given ({given.kind})", [settings])]
    chosen = {key: settings[key] for key in CHOSEN if settings.get(key) is not None}
    for kind in ("harmonic rls", "harmonic lms"):
        known = [{"kind": kind, **chosen, "transfer": "model"}]
        learnt = [{"kind": kind, **chosen, "identification_time": part * duration} for part in (0.1, 0.25)]
        found.append(hunt.family(kind, known + learnt))
    return found


def by_displacement(hunt: Search) -> list[Found]:
    """Couplings for a rig that is commanded in displacement."""
    definition = hunt.bench.nominal
    rigs, motion = measured_rigs(hunt.bench)
    rms, step = np.maximum(np.sqrt(np.mean(motion**2, axis=0)), STILL), definition.timing.step
    late = np.array([rig.lag + 0.5 * step for rig in rigs])
    found = [hunt.family("none", [{"kind": "none"}])]
    if definition.coupling.compensates:
        found.append(hunt.family(f"as given ({definition.coupling.kind})", [definition.coupling.model_dump()]))

    shapes = [(1, 12), (2, 12), (3, 12), (2, 40), (3, 40), (2, 80)]
    predicted = [
        {"kind": "forward prediction", "prediction": each(late), "order": order, "points": points}
        for order, points in shapes
    ]
    ahead = [(("prediction", *axis), 0.6 * late[i], 1.4 * late[i]) for i, axis in on_axes(len(rigs))]
    prediction = hunt.family("forward prediction", predicted, *ahead)
    found.append(prediction)
    found.append(hunt.family("adaptive forward prediction", adaptive_predictions(prediction, late, motion, step)))

    inverses = [
        {
            "kind": "model inverse",
            "coefficients": inverse(rigs, order),
            "lead": each(np.zeros(len(rigs))),
            "points": points,
        }
        for order in (2, 3)
        for points in (12, 24)
    ]
    leads = [(("lead", *axis), 0.0, max(0.1 * late[i], step)) for i, axis in on_axes(len(rigs))]
    found.append(hunt.family("model inverse", inverses, *leads))
    corner = np.array([centre_hz(rig) for rig in rigs])
    cutoffs = [each(np.minimum(times * corner, 0.1 / step)) for times in (3.0, 6.0, 12.0)]
    series = [
        {
            "kind": "adaptive time series",
            "coefficients": inverse(rigs, 2),
            "cutoff": cutoff,
            "least_amplitude": each(0.15 * rms),
        }
        for cutoff in cutoffs
    ]
    found.append(hunt.family("adaptive time series", series))
    models = [
        {
            "kind": "adaptive model based",
            "coefficients": inverse(rigs, 3),
            "cutoff": cutoff,
            "memory": memory,
            "least_amplitude": each(0.015 * rms),
            "prior": each(1.5e-3 * rms),
        }
        for cutoff in cutoffs
        for memory in (2.0, 5.0)
    ]
    found.append(hunt.family("adaptive model based", models))
    top = 0.5 * max(float(rig.omega[-1]) for rig in rigs) / (2 * np.pi)
    for kind, part in kinds("coupling").items():
        for trial in cast("type[Coupling]", part).trials(Known(definition, tuple(rigs), motion, dict(told(found)))):
            found.append(hunt.family(trial.name or kind, trial.grid, *trial.refined))
    return found + with_force_prediction(hunt, found) + ideal_compensators(hunt, top)


def told(found: Sequence[Found]) -> Iterator[tuple[str, Settings]]:
    """The best settings so far, by the name of their coupling."""
    for one in found:
        if one.coupling is not None:
            yield one.name, one.coupling.model_dump()


def on_axes(count: int) -> list[tuple[int, tuple[str, ...]]]:
    """Axes by their number, and the key behind that of a setting which has a number for each; none if there is one."""
    return [(0, ())] if count == 1 else [(i, (str(i),)) for i in range(count)]


def each(values: np.ndarray) -> Any:
    """A number for each axis; a plain one if there is one axis."""
    return float(values[0]) if len(values) == 1 else values


def inverse(rigs: Sequence[RigResponse], order: int) -> np.ndarray:
    """Coefficients of the inverse, a row for each axis; a plain list if there is one axis."""
    rows = np.array([rig.inverse(order) for rig in rigs])
    return rows[0] if len(rows) == 1 else rows


def ideal_compensators(hunt: Search, top_hz: float) -> list[Found]:
    """For a rig that its specimen pushes back, if its actuator and the device it plays have models: P_id at the
    frequencies of the test, if it stays at some, and in the band up to its highest one, ``top_hz`` if it names none."""
    test = hunt.bench.nominal
    step = test.timing.step
    try:
        actuator = test.rig.follower(step)
        test.virtual.device(step)
    except HalfrealError:
        return []
    if not np.any(actuator.responses(np.array([2 * np.pi * top_hz]))[1]):
        return []  # its inverse is tried above
    found, given = [], given_in(test)
    if given is not None:
        table: Settings = {"kind": "narrow band table"}
        if any(outside(LINES, hz) for hz in given.frequencies):
            low, high = min(given.frequencies), max(given.frequencies)
            table["frequencies"] = np.union1d(np.linspace(0.5 * low, 2.0 * high, len(LINES)), given.frequencies)
        found.append(hunt.family("narrow band table", [table]))
    driven = [one for one in (test.excitation.specimen, test.excitation.virtual) if one is not None]
    named = [hz for one in driven if (hz := one.highest_frequency) is not None]
    highest = [times * max(named, default=top_hz) for times in (1.0, 1.5, 3.0)]
    bands = [
        {
            "kind": "broad band inverse",
            "highest": high,
            "lowest": min(0.25, 0.1 * high),
            "spacing": min(max(round(SEEN / (high * step)), 1), 32),
            "noise_weight": weight,
        }
        for high in highest
        for weight in (1e-3, 1e-2)
    ]
    return [*found, hunt.family("broad band inverse", bands)]


def adaptive_predictions(fixed: Found, late: np.ndarray, motion: np.ndarray, step: float) -> list[Settings]:
    """Forward prediction that adapts on every axis, from the best that does not."""
    best = (
        {"prediction": each(late), "order": 2, "points": 40} if fixed.coupling is None else fixed.coupling.model_dump()
    )
    start, order, points = np.atleast_1d(best["prediction"]), best["order"], best["points"]
    slow = {}
    if len(late) > 1:  # axes of different units: each by its own motion
        velocity = np.sqrt(np.mean(np.diff(motion, axis=0) ** 2, axis=0)) / step
        slow = {"least_velocity": np.maximum(0.05 * velocity, STILL)}
    return [
        {
            "kind": "adaptive forward prediction",
            "prediction": each(start),
            "order": order,
            "highest_order": order,
            "points": points,
            "longest_prediction": each(np.maximum(3.0 * start, 0.05)),
            "adaption_time": time,
            "amplitude_gain": gain,
            **slow,
        }
        for time in (0.5, 2.0)
        for gain in (0.0, 0.1)
    ]


def with_force_prediction(hunt: Search, found: Sequence[Found]) -> list[Found]:
    """The measured force predicted too, on top of what has room for it."""
    definition = hunt.bench.nominal
    step = definition.timing.step
    sensors = definition.rig.known_sensors
    late = 0.0 if sensors is None else sensors.force.slow_delay
    usable = [
        (one, predicted)
        for one in found
        if one.coupling is not None and not one.name.startswith("as given")
        if (predicted := one.coupling.with_force_prediction(late)) is not None
    ]
    added = []
    for one, predicted in usable:
        if one.error > HOPELESS * min(other.error for other, _ in usable):
            continue
        settings = predicted.model_dump(exclude_none=True)
        place = ("force_prediction", "prediction")
        added.append(hunt.family(f"{one.name}, force predicted", [settings], (place, 0.0, 2.0 * (late + step))))
    return added


def measured_rigs(bench: Bench) -> tuple[list[RigResponse], np.ndarray]:
    """The rig on each of what the coupling works on, and the motion that it was weighted with, (ticks, these): of the
    emulated system, or of a rigid interface."""
    motion = as_coupled(bench.nominal, bench.motion)
    return rig_responses(bench.nominal, motion), motion


def centre_hz(rig: RigResponse) -> float:
    return float(np.sum(rig.omega * rig.power) / np.sum(rig.power) / (2 * np.pi))


def applies(definition: Definition) -> str:
    """Why a definition has nothing to tune; empty if it has."""
    if definition.slow is not None:
        return "a slow test waits until its rig has settled: there is nothing to tune"
    if definition.targets == "force":
        return (
            f"a virtual substructure of kind '{definition.virtual.kind}' gives forces, which no coupling here improves"
        )
    if definition.rig.as_table is not None:
        return f"a rig of kind '{definition.rig.kind}' is tuned axis by axis; use halfreal.tune_table"
    return ""
