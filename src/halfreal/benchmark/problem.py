"""A benchmark problem, and its scorecard: cases × motions × couplings, with nominal and perturbed plants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..contracts.excitation import Excitation
from ..definition.definition import Definition
from ..runs.alike import alike, alike_from_now

Criteria = tuple[float, ...]
"""Values of all criteria of a problem, in their order; NaN where one is not known."""
RECORDS = {"El Centro": (3.135, 41.18), "Kobe": (6.330, 50.94), "Morgan Hill": (2.389, 39.97)}
"""The records that the problems use: peak [m/s²] and length [s]."""


@dataclass(frozen=True)
class Motion:
    """A ground motion and how long it lasts [s]."""

    excitation: Excitation
    duration: float


@dataclass(frozen=True)
class Score:
    """One run: what was run, its criteria (not numbers if it was unstable), and the largest force [N]."""

    case: int
    motion: str
    coupling: str
    plant: int
    """0 is the nominal one, others are perturbed."""
    stable: bool
    criteria: np.ndarray
    largest_force: float
    floor: float
    """What noise alone makes of the first criteria of tracking [%]; NaN where it is listed in separate lines."""
    bound: bool = False
    """Whether it is no coupling's run, but what the best of all would have."""


@dataclass(frozen=True)
class Problem:
    """What a benchmark problem says of itself."""

    key: str
    title: str
    about: str
    """What its criteria are, for people."""
    reading: str
    """How to read its scorecard, for people."""
    papers: tuple[str, ...]
    """Keys of ``halfreal.citations``."""
    names: tuple[str, ...]
    """Of its criteria."""
    units: tuple[str, ...]
    cases: tuple[int, ...]
    force_limit: float
    """Of its actuators [N]."""
    shown: tuple[int, int]
    """Criteria that are drawn, by their place."""
    summed: tuple[int, ...]
    """Criteria of the table of couplings."""
    told: tuple[int, ...]
    """Criteria for the terminal."""
    case: Callable[[int], Definition]
    motions: Callable[[], dict[str, Motion]]
    """Those that come with halfreal."""
    couplings: Callable[[], dict[str, Any]]
    put: Callable[[Definition, Any], Definition]
    """A case with one of the couplings."""
    perturbed: Callable[[Definition, int], Definition]
    reference: Callable[[Definition], np.ndarray]
    score: Callable[[Definition, np.ndarray], tuple[bool, np.ndarray, float]]
    """Whether a run was stable, its criteria against the reference, and its largest force."""
    floor: Callable[[Definition, np.ndarray], float]
    published: Callable[[int, str, str], dict[str, Criteria]]
    """What others found for a nominal run, by its source: of a case, a motion and a coupling."""
    worst: Callable[[int, str, str], Criteria | None]
    """What others found for the worst of 20 perturbed plants."""
    bounds: Callable[[Definition, np.ndarray], dict[str, tuple[np.ndarray, float]]] = lambda definition, whole: {}
    """Criteria and largest force [N] of the best of all rigs, by what it is; the last is drawn."""
    out_of_reach: Callable[[Sequence[Score]], list[str]] = lambda scores: []
    """What no coupling can reach, with the numbers of these runs."""
    plants_with_every_motion: bool = False
    """Whether perturbed plants are run with every motion, or with the first alone."""


def with_motion(definition: Definition, motion: Motion) -> Definition:
    timing = definition.timing.unchecked_copy({"duration": motion.duration})
    excitation = definition.excitation.unchecked_copy({"virtual": motion.excitation})
    return definition.unchecked_copy({"timing": timing, "excitation": excitation})


def scorecard(
    problem: Problem,
    motions: Mapping[str, Motion] | None = None,
    couplings: Mapping[str, Any] | None = None,
    cases: Sequence[int] | None = None,
    plants: int = 0,
    workers: int = 2,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[Score]:
    """All runs: every case, motion and coupling, each with the nominal and ``plants`` perturbed plants.

    What is left out is all that there is.
    """
    moved = problem.motions() if motions is None else motions
    coupled = problem.couplings() if couplings is None else couplings
    tried = problem.cases if cases is None else cases
    perturbed = [plants if i == 0 or problem.plants_with_every_motion else 0 for i in range(len(moved))]
    total = len(tried) * len(coupled) * (len(moved) + sum(perturbed))
    scores: list[Score] = []
    done = 0

    # a compiled loop leaves the interpreter to others while it runs
    with alike(), ThreadPoolExecutor(workers, initializer=alike_from_now) as pool:
        for number in tried:
            for more, (motion_name, motion) in zip(perturbed, moved.items(), strict=True):
                bare = with_motion(problem.case(number), motion)
                whole = problem.reference(bare)
                floor = problem.floor(bare, whole)
                for name, (values, force) in problem.bounds(bare, whole).items():
                    scores.append(Score(number, motion_name, name, 0, True, values, force, np.nan, bound=True))
                tasks = [
                    (problem.put(problem.perturbed(bare, plant), coupling), plant, name)
                    for plant in range(1 + more)
                    for name, coupling in coupled.items()
                ]
                results = pool.map(lambda task, whole=whole: problem.score(task[0], whole), tasks)
                for (_, plant, name), found in zip(tasks, results, strict=True):
                    scores.append(Score(number, motion_name, name, plant, *found, floor))
                    done += 1
                    if on_progress is not None:
                        on_progress(done, total)
    return scores
