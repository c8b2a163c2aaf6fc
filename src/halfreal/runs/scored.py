"""The criteria of a test, by what its record and the emulated system show (``halfreal.contracts.criteria``)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..contracts.criteria import Criteria
from ..definition.acceptance import Acceptance
from ..definition.definition import EXCITATION, Definition
from ..errors import HalfrealError
from ..kernels.patience import TookTooLongError, within
from ..kernels.user import told
from .judged_samples import judged
from .reference import as_heard, as_released, emulated_channels
from .run import Event, Run, Scored, Signal

LONGEST = 60.0
"""Seconds that a function of criteria may take."""
CHANNEL = "criteria"
"""Of the event that says why there are none."""


class CriteriaError(HalfrealError):
    """Criteria that cannot be had of a run."""


def with_scores(definition: Definition, run: Run) -> Run:
    """The run with the criteria that its definition names; one without, or with an event that says why there are none.

    The record stands by itself: regardless of the criteria, it is kept.
    """
    if definition.criteria is None:
        return run
    try:
        return replace(run, scores=scores(definition, run))
    except HalfrealError as error:
        return replace(run, events=(*run.events, Event(0.0, CHANNEL, f"no criteria: {error}")))


def scores(definition: Definition, run: Run, reference: Run | None = None) -> dict[str, Scored]:
    """The criteria of a run; ``reference`` is the emulated system if it is known already."""
    criteria = definition.criteria
    assert criteria is not None
    if run.outcome != "completed":
        raise CriteriaError(f"the test was {run.outcome}; criteria are computed for completed tests only")
    inside = test_itself(run)
    due = emulated_run(definition, inside) if reference is None else reference
    return score(criteria, inside, due)


def score(criteria: Criteria, run: Run, reference: Run | None) -> dict[str, Scored]:
    """The criteria of the record of a test itself, with their units; any failure is a ``CriteriaError``."""
    named = dict(criteria.units)
    try:
        with within(LONGEST), np.errstate(all="ignore"):
            found = criteria.score(run, reference)
    except HalfrealError as error:
        raise CriteriaError(str(error)) from error
    except TookTooLongError:
        raise CriteriaError(f"they did not finish within {LONGEST:g} s") from None
    except KeyError as error:
        names = ", ".join(run.signals)
        raise CriteriaError(f"there is no {error} here; the record has the signals {names}") from error
    except Exception as error:  # whatever a user's function does
        file = getattr(criteria, "file", None)
        raise CriteriaError(told(error, Path(__file__) if file is None else file)) from error
    return _with_units(found, named)


def _with_units(found: Mapping[str, float], named: Mapping[str, str]) -> dict[str, Scored]:
    strange = [name for name in found if name not in named]
    if strange:
        raise CriteriaError(f"they returned '{strange[0]}', whose unit is not stated; UNITS has {', '.join(named)}")
    values: dict[str, Scored] = {}
    for name, unit in named.items():
        try:
            values[name] = Scored(float(found.get(name, math.nan)), unit)
        except (TypeError, ValueError):
            raise CriteriaError(f"'{name}' is {found[name]!r} where a number is expected") from None
    return values


def test_itself(run: Run) -> Run:
    """A record from 0 s to the end of the test, without the ways there and back."""
    kept = judged(run)
    if kept.all():
        return run
    signals = {name: Signal(one.unit, one.values[kept]) for name, one in run.signals.items()}
    return replace(run, time=run.time[kept], signals=signals)


def emulated_run(definition: Definition, run: Run) -> Run | None:
    """The emulated system at the times of a run; None where it is not known."""
    if definition.reference is None or not len(run.time):
        return None
    if run.kind != "rehearsal" or definition.excitation.release_by is not None:
        definition = as_released(definition, run.events)
    driven = run.signals.get(EXCITATION)
    heard = as_heard(definition, None if driven is None else driven.values)
    found = emulated_channels(heard, round(float(run.time[-1]) / run.step) + 1, definition.record.every)
    if found is None:
        return None
    signals = {name: Signal(unit, values[: len(run.time)]) for name, (unit, values) in found.items()}
    return replace(run, title=f"{run.title}, emulated", signals=signals, events=(), scores={})


def without_scores(run: Run) -> str:
    """Why a run has no criteria; empty if it has, or its definition names none."""
    return next((event.text for event in run.events if event.channel == CHANNEL), "")


def against_acceptance(acceptance: Acceptance, run: Run) -> list[tuple[str, str, bool]]:
    """Each criterion that [acceptance] limits, what is to be said of it, and whether it is accepted."""
    found = []
    for name, limit in acceptance.criteria.items():
        one = run.scores.get(name)
        if one is None or math.isnan(one.value):
            why = without_scores(run) or "it is not a number"
            found.append((name, f"the criterion {name} is not known: {why.removeprefix('no criteria: ')}", False))
            continue
        least, most = limit.bounds(one.unit)
        well = least <= one.value <= most
        suffix = "" if one.unit == "1" else f" {one.unit}"
        asked = limit.text(one.unit) if well else f"accepted: {limit.text(one.unit)}"
        found.append((name, f"the criterion {name} is {one.value:.4g}{suffix}, {asked} (acceptance.criteria)", well))
    return found
