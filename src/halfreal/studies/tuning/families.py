"""Which couplings apply to a definition, and what of each is tried: shapes, and the ranges of their numbers.

Settings are scaled to the motion and the rig of each axis.  Couplings of other kinds, such as those of installed
packages, define what to try of them (``Coupling.trials``).  How the best of each is found: ``search.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from ...contracts.coupling import Coupling
from ...contracts.tuning import Known
from ...couplings.narrow_band_table import LINES, given_in, outside
from ...definition.definition import Definition
from ...definition.kinds import kinds
from ...errors import HalfrealError
from .bench import Bench
from .plant import RigResponse, as_coupled, rig_responses
from .search import HOPELESS, Found, Refined, Search, Settings, Tried

CHOSEN = ("frequencies", "base_frequency", "harmonics")
"""Settings of a harmonic coupling that say what it works on."""
SEEN = 0.03
"""Cycles of the highest frequency of a band between two samples that a broad-band inverse weighs."""
LONGEST = 1.4
"""Times the rig's lag, up to which a prediction is tried."""
STILL = 1e-9
"""Rms motion [m or rad], and velocity, of an axis that is at rest."""


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
        shapes: list[Settings] = [{"transfer": "model"}, {"identification_time": 0.15 * duration}]
        learnt = (("identification_time",), 0.05 * duration, 0.5 * duration)
        found.append(hunt.family(kind, [{"kind": kind, **chosen, **shape} for shape in shapes], learnt))
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
    prediction = hunt.family("forward prediction", predicted, *on_axes("prediction", 0.0 * late, LONGEST * late))
    found.append(prediction)
    adaptive = adaptive_predictions(prediction, late, motion, step)
    found.append(hunt.family("adaptive forward prediction", adaptive, (("adaption_time",), 0.25, 4.0)))

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
    leads = on_axes("lead", 0.0 * late, np.maximum(0.1 * late, step))
    found.append(hunt.family("model inverse", inverses, *leads))
    corner = np.array([centre_hz(rig) for rig in rigs])
    cutoffs = [each(np.minimum(times * corner, 0.1 / step)) for times in (3.0, 6.0, 12.0)]
    of_cutoff = (("cutoff",), cutoffs[0], cutoffs[2])
    series = {
        "kind": "adaptive time series",
        "coefficients": inverse(rigs, 2),
        "cutoff": cutoffs[1],
        "least_amplitude": each(0.15 * rms),
    }
    found.append(hunt.family("adaptive time series", [series], of_cutoff))
    models = {
        "kind": "adaptive model based",
        "coefficients": inverse(rigs, 3),
        "cutoff": cutoffs[1],
        "memory": 3.0,
        "least_amplitude": each(0.015 * rms),
        "prior": each(1.5e-3 * rms),
    }
    found.append(hunt.family("adaptive model based", [models], of_cutoff, (("memory",), 1.0, 10.0)))
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


def on_axes(key: str, low: np.ndarray, high: np.ndarray) -> list[Refined]:
    """A setting refined on all axes together, and then on each of them if there are several."""
    together: list[Refined] = [((key,), each(low), each(high))]
    return together if len(low) == 1 else together + [((key, str(i)), low[i], high[i]) for i in range(len(low))]


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
            "noise_weight": 3e-3,
        }
        for high in highest
    ]
    return [*found, hunt.family("broad band inverse", bands, (("noise_weight",), 1e-4, 1e-1))]


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
            "adaption_time": 1.0,
            "amplitude_gain": gain,
            **slow,
        }
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
