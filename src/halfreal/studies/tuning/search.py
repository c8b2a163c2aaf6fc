"""Which couplings apply to a definition, and the search for their parameters on rehearsals.

Every coupling is tried with a few settings that its file suggests, scaled to the motion and the rig, and the one number
that matters most is then refined by a bounded search (R. P. Brent, Algorithms for Minimization without Derivatives,
1973).  What is minimised is the largest error of a few samples (``tune_bench.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pydantic import ValidationError

from ...contracts.coupling import Coupling
from ...couplings.narrow_band_table import LINES, given_in, outside
from ...definition.definition import Definition
from ...definition.kinds import reader
from ...errors import HalfrealError
from .bench import Bench
from .plant import RigResponse, rig_response, undisturbed

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


class Search:
    """The search on one bench; ``said`` is told what is tried."""

    def __init__(self, bench: Bench, said: Callable[[str], None]) -> None:
        self.bench, self.said = bench, said
        self.which = range(min(SEARCHED, len(bench.drawn)))

    def judge(self, settings: Settings, least: float = math.inf) -> Found:
        """A coupling with its largest error; ``least`` is that of others of its kind."""
        try:
            coupling = reader("coupling").validate_python(settings, context={"stored": True})
        except ValidationError as error:
            return Found("", None, math.inf, str(error.errors()[0]["msg"]))
        reason = self.bench.refusal(coupling)
        if reason:
            return Found("", None, math.inf, reason)
        return Found("", coupling, self.bench.robust(coupling, self.which, HOPELESS * least))

    def family(
        self, name: str, grid: Sequence[Settings], refined: tuple[tuple[str, ...], float, float] | None = None
    ) -> Found:
        """The best of a grid of settings, with the number at a place ``refined`` between two values."""
        self.said(name)
        if not name.startswith("as given"):
            grid = [rounded(tried) for tried in grid]
        best, settings = Found(name, None, math.inf), grid[0]
        for tried in grid:
            found = self.judge(tried, best.error)
            if best.coupling is None or found.error < best.error:
                best, settings = found, tried
        if best.coupling is not None and refined is not None:
            best = self._refine(best, settings, *refined)
        return replace(best, name=name)

    def _refine(self, best: Found, settings: Settings, place: tuple[str, ...], low: float, high: float) -> Found:
        from scipy.optimize import minimize_scalar

        found = [best]

        def tried(value: float) -> float:
            found.append(self.judge(_put(settings, place, rounded(float(value))), min(one.error for one in found)))
            return min(found[-1].error, 1e6)

        minimize_scalar(tried, bounds=(low, high), method="bounded", options={"maxiter": REFINED})
        return min(found, key=lambda one: one.error)


def rounded(value: Any) -> Any:
    """Settings as one would write them down: 4 digits of a number, 6 of each in an array."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return np.array([float(f"{item:.6g}") for item in value.ravel()]).reshape(value.shape)
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _put(settings: Settings, place: tuple[str, ...], value: float) -> Settings:
    key, *rest = place
    return {**settings, key: value if not rest else _put(dict(settings[key]), tuple(rest), value)}


# --- what applies -----------------------------------------------------------------------------------------------------


def search(bench: Bench, said: Callable[[str], None]) -> list[Found]:
    """Every coupling that applies, at its best."""
    if bench.nominal.commands == "force":
        return harmonic(Search(bench, said))
    return by_displacement(Search(bench, said))


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
    rig, motion = measured_rig(hunt.bench)
    rms, step = float(np.sqrt(np.mean(motion**2))), definition.timing.step
    late = rig.lag + 0.5 * step
    found = [hunt.family("none", [{"kind": "none"}])]
    if definition.coupling.compensates:
        found.append(hunt.family(f"as given ({definition.coupling.kind})", [definition.coupling.model_dump()]))

    shapes = [(1, 12), (2, 12), (3, 12), (2, 40), (3, 40), (2, 80)]
    predicted = [
        {"kind": "forward prediction", "prediction": late, "order": order, "points": points} for order, points in shapes
    ]
    prediction = hunt.family("forward prediction", predicted, (("prediction",), 0.6 * late, 1.4 * late))
    found.append(prediction)
    found.append(hunt.family("adaptive forward prediction", adaptive_predictions(prediction, late)))

    inverses = [
        {"kind": "model inverse", "coefficients": rig.inverse(order), "points": points}
        for order in (2, 3)
        for points in (12, 24)
    ]
    found.append(hunt.family("model inverse", inverses, (("lead",), 0.0, max(0.1 * late, step))))
    corner = centre_hz(rig)
    cutoffs = [min(times * corner, 0.1 / step) for times in (3.0, 6.0, 12.0)]
    series = [
        {
            "kind": "adaptive time series",
            "coefficients": rig.inverse(2),
            "cutoff": cutoff,
            "least_amplitude": 0.15 * rms,
        }
        for cutoff in cutoffs
    ]
    found.append(hunt.family("adaptive time series", series))
    models = [
        {
            "kind": "adaptive model based",
            "coefficients": rig.inverse(3),
            "cutoff": cutoff,
            "memory": memory,
            "least_amplitude": 0.015 * rms,
            "prior": 1.5e-3 * rms,
        }
        for cutoff in cutoffs
        for memory in (2.0, 5.0)
    ]
    found.append(hunt.family("adaptive model based", models))
    top = 0.5 * float(rig.omega[-1]) / (2 * np.pi)
    return found + with_force_prediction(hunt, found) + ideal_compensators(hunt, top)


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


def adaptive_predictions(fixed: Found, late: float) -> list[Settings]:
    """Forward prediction that adapts, from the best that does not."""
    best = {"prediction": late, "order": 2, "points": 40} if fixed.coupling is None else fixed.coupling.model_dump()
    start, order, points = best["prediction"], best["order"], best["points"]
    return [
        {
            "kind": "adaptive forward prediction",
            "prediction": start,
            "order": order,
            "highest_order": order,
            "points": points,
            "longest_prediction": max(3.0 * start, 0.05),
            "adaption_time": time,
            "amplitude_gain": gain,
        }
        for time in (0.5, 2.0)
        for gain in (0.0, 0.1)
    ]


def with_force_prediction(hunt: Search, found: Sequence[Found]) -> list[Found]:
    """The measured force predicted too, on top of what has room for it."""
    definition = hunt.bench.nominal
    step = definition.timing.step
    sensors = definition.rig.known_sensors
    late = 0.0 if sensors is None else sensors.force.delay
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


def measured_rig(bench: Bench) -> tuple[RigResponse, np.ndarray]:
    """The rig's response, and the motion that it was weighted with: of the emulated system, or of a rigid interface."""
    motion = bench.due
    if motion is None:
        motion = undisturbed(bench.nominal)
    largest = int(np.argmax(np.sum(motion**2, axis=0)))
    return rig_response(bench.nominal, motion[:, largest]), motion[:, largest]


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
    if definition.passive or definition.kinematics is not None:
        return "it is not known yet how to tune a coupling where commands are not along the axes, each of them"
    if definition.rig.as_table is not None:
        return f"a rig of kind '{definition.rig.kind}' is tuned axis by axis; use halfreal.tune_table"
    return ""
