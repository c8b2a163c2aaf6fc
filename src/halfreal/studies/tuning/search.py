"""The search for a coupling's settings on rehearsals: every shape of it, each refined in its continuous numbers.

A trial is rehearsed on the nominal rig, and on a few samples of the uncertain one where the nominal error is not
hopeless.  Only one that would be the best so far is analysed further, as that takes longer: whether its loop is stable
at rest, and leaves the margins which [acceptance] requires.  Rehearsals continue beyond the limits, so that a trial
shows which limit it exceeds and by how much, and the search (``line_search.py``) finds the way back.

What is minimised is the largest error of the samples (``bench.py``) among trials that are stable, keep the limits and
leave the margins; then come those that do not leave the margins, and last those that exceed limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pydantic import ValidationError

from ...contracts.coupling import Coupling
from ...definition.kinds import reader
from .bench import Bench
from .line_search import Place, line_search

SEARCHED = 5
"""The nominal rig and so many samples less one are rehearsed while a parameter is sought."""
REFINED = 8
"""Rehearsals of a refinement."""
HOPELESS = 2.0
"""Times the best error so far beyond which the samples are not rehearsed, and further numbers are not refined."""
WIDE = 3.0
"""Ratio of its ends from which on a range is searched by ratios."""
ACCEPTED, SHORT, BEYOND, FAILED = range(4)
"""Grades of a trial: less is better."""

Settings = dict[str, Any]
Refined = tuple[tuple[str, ...], Any, Any]
"""The place of a number, as keys of which the last may be that of an axis, and the ends of its range; arrays for all
axes together."""


@dataclass(frozen=True)
class Found:
    """A coupling that was tried, or the best of its kind; ``coupling`` is None if it cannot be run, for ``reason``."""

    name: str
    coupling: Coupling | None
    error: float
    reason: str = ""
    short: str = ""
    """Margins that [acceptance] requires and that it does not leave."""
    grade: int = ACCEPTED
    excess: float = 0.0
    """The part of a margin that is missing, or of a limit that is exceeded."""
    share: float = math.nan
    """Of the limit that it uses most."""
    limit: str = ""
    """The limit that it exceeds most."""
    before: tuple[Coupling, ...] = ()
    """Accepted ones that it has replaced, the latest first."""

    @property
    def worth(self) -> tuple[int, float]:
        """Less is better: whether it can be run, leaves the margins that are required, and its error."""
        return self.grade, self.error if self.grade <= SHORT else self.excess

    def at(self, place: float) -> Place:
        """For the search along a number."""
        return Place(place, self.grade, self.error if self.grade == ACCEPTED else self.excess, self.share)


@dataclass(frozen=True)
class Tried:
    """Settings that were tried, and what came of them."""

    name: str
    settings: Settings
    error: float
    reason: str
    """Why they cannot be run, or which margins they do not leave; empty if nothing was found against them."""
    limit: str = ""
    """The limit that they exceed most, if they do."""
    share: float = math.nan
    """Of that limit, or of the one that they use most."""


class Search:
    """The search on one bench; ``on_progress`` receives a line of progress."""

    def __init__(self, bench: Bench, on_progress: Callable[[str], None]) -> None:
        self.bench, self.on_progress = bench, on_progress
        self.which = range(min(SEARCHED, len(bench.drawn)))
        self.tried: list[Tried] = []
        self.families = 0

    def judge(self, name: str, settings: Settings, best: Found) -> Found:
        """A coupling with its largest error, analysed only as far as its place against the ``best`` of its kind
        requires."""
        found = replace(self._judged(settings, best), name=name)
        self.tried.append(Tried(name, settings, found.error, found.reason or found.short, found.limit, found.share))
        return found

    def _judged(self, settings: Settings, best: Found) -> Found:
        try:
            coupling = reader("coupling").validate_python(settings, context={"stored": True})
        except ValidationError as error:
            return Found("", None, math.inf, str(error.errors()[0]["msg"]), grade=FAILED, excess=math.inf)
        reason = self.bench.misfit(coupling)
        if reason:
            return Found("", None, math.inf, reason, grade=FAILED, excess=math.inf)
        least = best.error if best.grade == ACCEPTED else math.inf
        give_up = HOPELESS * least if least >= 0.0 else math.inf  # a criterion may be negative
        outcome = self.bench.robust(coupling, self.which, give_up)
        share = math.nan if outcome.used is None else outcome.used[1]
        if outcome.reason:
            if outcome.used is None:
                return Found("", coupling, math.inf, outcome.reason, grade=FAILED, excess=math.inf)
            limit, excess = outcome.used[0], share - 1.0
            return Found("", coupling, math.inf, outcome.reason, "", BEYOND, excess, share, limit)
        found = Found("", coupling, outcome.error, share=share)
        return self.analysed(found) if found.worth < best.worth else found

    def analysed(self, found: Found) -> Found:
        """A trial with what its linearised loop shows: unstable, or short of margins."""
        assert found.coupling is not None
        unstable = self.bench.instability(found.coupling)
        if unstable:
            return replace(found, coupling=None, error=math.inf, reason=unstable, grade=FAILED, excess=1.0)
        short, part = self.bench.short_of(found.coupling)
        return replace(found, short=short, grade=SHORT, excess=part) if short else found

    def family(self, name: str, grid: Sequence[Settings], *refined: Refined) -> Found:
        """The best of a grid of settings, each with the numbers at the places ``refined`` that it has, in turn."""
        self.families += 1
        self.on_progress(f"{name}: coupling {self.families}, {self.bench.rehearsals} rehearsals so far")
        given = name.startswith("as given")
        one = Family(self, name)
        for settings in grid:
            one.refine(settings if given else rounded(settings), refined)
        best = one.best
        if best.grade == BEYOND and best.coupling is not None and self.bench.instability(best.coupling):
            best = self.analysed(best)  # that is why it exceeds its limits
        return replace(best, before=tuple(one.before))


class Family:
    """The search for the best of one kind."""

    def __init__(self, search: Search, name: str) -> None:
        self.search, self.name = search, name
        self.best = Found(name, None, math.inf, "nothing was tried", grade=FAILED, excess=math.inf)
        self.before: list[Coupling] = []

    def judge(self, settings: Settings) -> Found:
        found = self.search.judge(self.name, settings, self.best)
        if found.worth < self.best.worth or self.best.reason == "nothing was tried":
            if self.best.grade == ACCEPTED and self.best.coupling is not None:
                self.before.insert(0, self.best.coupling)
            self.best = found
        return found

    def refine(self, settings: Settings, refined: Sequence[Refined]) -> None:
        """A shape, with its numbers refined one after the other; a hopeless one in the first of them only."""
        shape, start = settings, self.judge(settings)
        for i, (place, low, high) in enumerate(refined):
            hopeless = start.grade > self.best.grade or start.error > HOPELESS * self.best.error
            if place[0] in shape and not (i and hopeless):
                shape, start = self._along(shape, start, place, low, high)

    def _along(
        self, settings: Settings, start: Found, place: tuple[str, ...], low: Any, high: Any
    ) -> tuple[Settings, Found]:
        """The best settings along one number, and what was found there."""
        scale, found = Scale(np.asarray(low, dtype=float), np.asarray(high, dtype=float)), {}

        def judge(at: float) -> Place:
            changed = put(settings, place, rounded(scale.value(at)))
            found[at] = changed, self.judge(changed)
            return found[at][1].at(at)

        at = scale.place(taken(settings, place))
        found[at] = settings, start
        first = start.at(at)
        places = [first] if first.grade == ACCEPTED or at == 0.0 else [judge(0.0), first]  # there it does least
        best = line_search(judge, places, REFINED, lambda: self.best.error if self.best.grade == ACCEPTED else math.inf)
        return found[best.at]


@dataclass(frozen=True)
class Scale:
    """Places 0 to 1 in a range, or in that of each axis; by ratios if it is wide."""

    low: np.ndarray
    high: np.ndarray

    @property
    def by_ratios(self) -> bool:
        return bool(np.all(self.low > 0.0) and np.all(self.high > WIDE * self.low))

    def value(self, at: float) -> Any:
        """A number, or one for each axis."""
        found = self.low * (self.high / self.low) ** at if self.by_ratios else self.low + at * (self.high - self.low)
        return float(found) if found.ndim == 0 else found

    def place(self, value: np.ndarray) -> float:
        """Where a value is; of those of several axes their mean."""
        if self.by_ratios:
            places = np.log(value / self.low) / np.log(self.high / self.low)
        else:
            places = (value - self.low) / np.where(self.high > self.low, self.high - self.low, 1.0)
        return float(np.clip(np.mean(places), 0.0, 1.0))


def rounded(value: Any) -> Any:
    """Settings as one would write them down: 4 digits of a number, 6 of each in an array."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return np.array([float(f"{item:.6g}") for item in value.ravel()]).reshape(value.shape)
    return float(f"{value:.4g}") if isinstance(value, float) else value


def put(settings: Settings, place: tuple[str, ...], value: Any) -> Settings:
    """The settings with a number, or an array, at a place: keys, of which the last may count the axes from 0."""
    key, *rest = place
    if not rest:
        return {**settings, key: value}
    inner = settings.get(key)
    if isinstance(inner, dict):
        return {**settings, key: put(dict(inner), tuple(rest), value)}
    changed = np.array(inner, dtype=float)
    changed[int(rest[0])] = value
    return {**settings, key: changed}


def taken(settings: Settings, place: tuple[str, ...]) -> np.ndarray:
    """What is at a place of the settings."""
    found: Any = settings
    for key in place:
        found = found[key] if isinstance(found, dict) else np.asarray(found, dtype=float)[int(key)]
    return np.asarray(found, dtype=float)
