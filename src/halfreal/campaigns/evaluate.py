"""What a worker does: points of a campaign in, their scores out.

A point costs little beyond its ticks.  Only the channels that the scores need are recorded, the emulated system is
integrated only if they compare with it, and the loop is linearised only if they ask for it; a check, or a run file,
needs all of that.  Blocks are compiled once for each layout, for any numbers.

Any error at a point is the result of that point.  A worker keeps nothing and writes nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ..definition.definition import Definition
from ..definition.load import from_json
from ..definition.user_code import user_code, user_files
from ..errors import HalfrealError
from ..records import run_file
from ..runs.alike import alike
from ..runs.in_motion import trials_of
from ..runs.lean import lean_rehearsal
from ..runs.loop_stability import LoopStability, linearised, loop_stability
from ..runs.margins_in_motion import MotionMargins, margins_in_motion
from ..runs.rehearse import rehearse
from ..runs.scored import without_scores
from ..studies.check.check import check
from ..studies.uncertainty.variation import Variation
from .plan import Plan
from .scores import IN_MOTION, LINEAR, MARGINS, Found, channels_for, criteria_of, score
from .store import Column, PointResult

Point = tuple[int, tuple[float, ...]]
"""A point's number and its values [SI]."""


@dataclass(frozen=True)
class Job:
    """What all points of a campaign have in common, ready to be sent to a worker."""

    definition: str
    """As JSON."""
    places: tuple[str, ...]
    scores: tuple[str, ...]
    channels: tuple[str, ...]
    from_time: float
    check: bool
    keep_runs: bool
    user_files: tuple[str, ...]
    ranges: tuple[tuple[float, float], ...] = ()
    """Least and largest value at each place, if they are known."""


def job_for(
    definition: Definition,
    plan: Plan,
    places: tuple[str, ...],
    scores: Sequence[Column],
    values: np.ndarray | None = None,
) -> Job:
    """The job of a campaign, at most with these values; what no score needs is left out of its definition."""
    names = tuple(score.name for score in scores)
    needed = channels_for(names, definition)
    if not plan.keep_runs:
        update: dict[str, object] = {"record": definition.record.unchecked_copy({"channels": needed})}
        # the verdict of a check may rest on criteria that the plan does not keep
        own = set(names) & set(criteria_of(definition)) or (plan.check and definition.acceptance.criteria)
        if not own:
            update |= {"criteria": None, "acceptance": definition.acceptance.unchecked_copy({"criteria": {}})}
        if not own and not any(name.startswith("fidelity") for name in names):
            update["reference"] = None
        definition = definition.unchecked_copy(update)
    elif definition.record.channels is not None:
        kept = tuple(dict.fromkeys((*definition.record.channels, *needed)))
        definition = definition.unchecked_copy({"record": definition.record.unchecked_copy({"channels": kept})})
    files = user_files(definition)
    ranges = () if values is None or files else tuple(zip(values.min(axis=0), values.max(axis=0), strict=True))
    text = definition.model_dump_json()
    return Job(text, places, names, needed, plan.from_time, plan.check, plan.keep_runs, files, ranges)


class _Points:
    """The variants of a job's definition."""

    def __init__(self, job: Job) -> None:
        self.definition = from_json(Definition, job.definition)
        self._variation = Variation(self.definition, job.places)
        if job.ranges:
            self._variation.expect(*np.transpose(job.ranges))
        self._lock = threading.Lock()  # a worker may have several threads

    def at(self, values: Sequence[float]) -> Definition:
        with self._lock:
            return self._variation.at(values)


BENIGN = ("warning", "note")
"""Severities of findings that change no verdict."""
_points = lru_cache(maxsize=4)(_Points)


def evaluate(job: Job, points: Sequence[Point]) -> list[PointResult]:
    """What came of some points."""
    with alike():
        return [replace(_evaluate(job, number, values), code=_code(job)) for number, values in points]


def _code(job: Job) -> dict[str, str]:
    """The user's code after a point; without content if it cannot be read or run any more."""
    try:
        return user_code(_points(job).definition) if job.user_files else {}
    except HalfrealError:
        return dict.fromkeys(job.user_files, "")


def _evaluate(job: Job, number: int, values: Sequence[float]) -> PointResult:
    began = time.perf_counter()
    try:
        found = _find(job, _points(job).at(values))
        scores = score(job.scores, found, job.from_time)
        content = run_file.content(found.run) if job.keep_runs else None
    except HalfrealError as error:
        return PointResult(number, "failed", reason=str(error), seconds=time.perf_counter() - began)
    except Exception as error:  # not foreseen, and still no reason to stop the others
        reason = f"{type(error).__name__}: {error}"
        return PointResult(number, "failed", reason=reason, seconds=time.perf_counter() - began)
    run, seconds = found.run, time.perf_counter() - began
    reason = run.reason or found.against or without_scores(run)
    return PointResult(number, "done", run.outcome, reason, scores, seconds, content)


def _find(job: Job, definition: Definition) -> Found:
    if job.check:
        answer = check(definition, remedies=False)
        against = next((one.text for one in answer.findings if one.severity not in BENIGN), "")
        return Found(
            answer.rehearsal,
            answer.linearisation,
            answer.stability,
            *_motion(job, definition, answer.stability),
            answer.verdict,
            against,
        )
    stability = loop_stability(definition) if job.keep_runs or {*MARGINS, *IN_MOTION} & set(job.scores) else None
    linearisation = None if stability is None else stability.linearisation
    if linearisation is None and set(LINEAR) & set(job.scores):
        linearisation = linearised(definition)
    run = rehearse(definition, stability=stability) if job.keep_runs else lean_rehearsal(definition, job.channels)
    return Found(run, linearisation, stability, *_motion(job, definition, stability))


def _motion(
    job: Job, definition: Definition, stability: LoopStability | None
) -> tuple[float | None, MotionMargins | None]:
    """Growth and margins in motion, as far as they are among the scores."""
    wanted = set(IN_MOTION) & set(job.scores)
    if not wanted or stability is None:
        return None, None
    trials = trials_of(definition, stability)
    defined = trials.attempt()
    growth = np.inf if defined.ran_away is not None else defined.exponent
    if wanted == {"growth in motion"}:
        return growth, None
    return growth, margins_in_motion(trials, stability.rig_lag or definition.timing.step, at_rest=stability.margin)
