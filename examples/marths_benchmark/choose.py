"""A search for the numbers of ``adaptive_inverse.toml`` that uses no earthquake record.

    python choose.py [CANDIDATES.csv]

Every candidate is run with 20 s of the shipped synthetic record and with actuators that are perturbed by draws which
the scorecard does not use.  It is judged by what the laboratory cannot see and a simulation can: the true pose.  For
each axis, with σ the noise that unfiltered sensors would leave in its pose:

    e² = mean over all plants of [ std(true pose − target)² + std(measured pose − true pose)² ] / σ²

and the mean of both axes counts.  The second part keeps an estimator from trusting its model more than it should; the
benchmark's own J₅ would reward it for that.  Candidates are the points of a Halton sequence in ``RANGES``; those that
are best with few plants are run with all of them, and further points are drawn about the best, in smaller and smaller
ranges.  The same seeds give the same choice.  ``readme_numbers.py`` runs the search and stops if
``adaptive_inverse.toml`` has other numbers.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import qmc

from halfreal import Definition, build
from halfreal.benchmark import Motion, with_motion
from halfreal.couplings import AdaptiveFir
from halfreal.marths import problem as marths
from halfreal.rigs import StrokeEstimator
from halfreal.runs import alike

RANGES = {
    "band": (15.0, 80.0),
    "corner": (0.5, 5.0),
    "effort": (1e-6, 1e-3),
    "covariance": (1e3, 1e8),
    "memory": (3.0, 100.0),
    "command_noise": (5e-5, 2e-3),
}
"""Hz, Hz, 1, 1/m², s, m; all on a logarithmic scale."""
FILTERS = ((2, 24), (3, 12), (4, 8))
"""Taps of the filters that adapt, and steps between them: all look back for 24 steps."""
FIRST, FEW, KEPT, ROUNDS, NEXT = 48, 2, 8, 2, 12
"""Candidates of the first round, plants for them, how many of them go on, rounds about the best, candidates of each."""
PLANTS = tuple(range(1001, 1007))
SEED, SECONDS = 101, 20.0
Ranked = tuple[float, int, dict[str, float], tuple[int, int]]
"""Error, round, values of ``RANGES``, taps and spacing."""
CHANNELS = (
    *("rig.pose.x", "rig.pose.rz", "measured.displacement.x", "measured.displacement.rz", "target.x", "target.rz"),
)


def bare() -> Definition:
    """The benchmark without a coupling of its own, under the shipped record."""
    shipped = marths.motions()["synthetic"]
    return marths.with_seed(with_motion(marths.case(), Motion(shipped.excitation, SECONDS)), SEED)


def entry(values: dict[str, float], taps: int, spacing: int) -> marths.Entry:
    """The coupling and the estimator of a candidate."""
    settings: dict[str, Any] = {
        "kind": "adaptive fir",
        "cross": True,
        "taps": taps,
        "spacing": spacing,
        "covariance": [values["covariance"]],
        "memory": values["memory"],
        "inverse": {
            "kind": "decoupling inverse",
            "taps": 40,
            "band": values["band"],
            "corner": values["corner"],
            "effort": values["effort"],
        },
    }
    estimator = StrokeEstimator(command_noise=values["command_noise"], measurement_noise=12.39354e-6)
    return marths.Entry(AdaptiveFir.model_validate(settings), estimator)


def error(test: Definition, candidate: marths.Entry, plant: int) -> float:
    """e² of one plant, mean of both axes; infinite if the run is unstable."""
    perturbed = marths.put(marths.perturbed(test, plant), candidate)
    log = build(perturbed).run(perturbed.timing.ticks, record=CHANNELS).log[:, 1:]
    if len(log) < perturbed.timing.ticks or not np.all(np.isfinite(log)) or np.abs(log).max() > 1.0:
        return math.inf
    true, read, wanted = log[:, :2], log[:, 2:4], log[:, 4:]
    assert test.kinematics is not None
    noise = marths.bench(test).sensors.stroke[0].noise
    sigma = noise * np.linalg.norm(np.linalg.inv(test.kinematics.jacobian(np.zeros(2))), axis=1)
    return float(np.mean((np.var(true - wanted, axis=0) + np.var(read - true, axis=0)) / sigma**2))


def choose(report: Callable[[str], None]) -> list[Ranked]:
    """All candidates that were run with all plants, the best first: their error, round, values and filters."""
    test = bare()
    low, high = (np.log([span[end] for span in RANGES.values()]) for end in (0, 1))
    drawn = qmc.Halton(len(RANGES) + 1, seed=SEED)
    found: list[Ranked] = []

    def candidate(point: np.ndarray, about: np.ndarray, width: float) -> tuple[np.ndarray, dict[str, float]]:
        place = np.clip(about + width * (point - 0.5) * (high - low), low, high)
        return place, {name: rounded(math.exp(one)) for name, one in zip(RANGES, place, strict=True)}

    def judged(values: dict[str, float], filters: tuple[int, int], plants: tuple[int, ...]) -> float:
        one = entry(values, *filters)
        return math.sqrt(float(np.mean([error(test, one, plant) for plant in plants])))

    with alike.alike(), ThreadPoolExecutor(2, initializer=alike.alike_from_now) as pool:
        middle = 0.5 * (low + high)
        points = drawn.random(FIRST)
        tried = [(candidate(point[:-1], middle, 1.0), FILTERS[int(3 * point[-1])]) for point in points]
        few = list(pool.map(lambda one: judged(one[0][1], one[1], PLANTS[:FEW]), tried))
        report(f"{FIRST} candidates with {FEW} plants: best {min(few):.3f}, {sum(map(math.isinf, few))} unstable")
        going = [tried[i] for i in np.argsort(few, kind="stable")[:KEPT]]
        best, filters, width = middle, FILTERS[0], 1.0
        for number in range(ROUNDS + 1):
            errors = list(pool.map(lambda one: judged(one[0][1], one[1], PLANTS), going))
            found += [(e, number, one[0][1], one[1]) for e, one in zip(errors, going, strict=True)]
            if min(errors) <= min(e for e, *_ in found):
                (best, _), filters = going[int(np.argmin(errors))]
            report(f"{len(going)} candidates with {len(PLANTS)} plants: best so far {min(e for e, *_ in found):.3f}")
            width *= 0.4
            going = [(candidate(point[:-1], best, width), filters) for point in drawn.random(NEXT)]
    return sorted(found, key=lambda one: one[0])


def rounded(value: float) -> float:
    """Two digits."""
    return float(f"{value:.1e}")


def write(found: list[Ranked], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["error", "round", *RANGES, "taps", "spacing"])
        writer.writerows([f"{e:.4f}", number, *values.values(), *filters] for e, number, values, filters in found)


if __name__ == "__main__":
    ranked = choose(print)
    if len(sys.argv) > 1:
        write(ranked, Path(sys.argv[1]))
    e, _, values, (taps, spacing) = ranked[0]
    print(f"chosen, with an error of {e:.3f} times the noise: taps = {taps}, spacing = {spacing}")
    for name, value in values.items():
        print(f"    {name} = {value:g}")
