"""GO or NO-GO: what a run's outcome and its loop's stability come to."""

from __future__ import annotations

from dataclasses import dataclass

from ..runs.run import Run, Stability
from . import series
from .wording import in_time, number, sentence


@dataclass(frozen=True)
class Verdict:
    """The banner: GO, NO-GO or CHECK, and a sentence each on the run and on the loop."""

    word: str
    outcome: str
    stability: str


def verdict(run: Run) -> Verdict:
    """The run's own verdict, with a sentence on how it ended and one on its loop; CHECK if it was not judged."""
    last = float(run.time[-1]) if len(run.time) else 0.0
    trip = series.trip_time(run)
    stopped = last if trip is None else trip
    ended = {
        "completed": f"The {run.kind} completed: {number(last)} s in steps of {in_time(run.step)}",
        "tripped": f"The {run.kind} was stopped by the guard at {number(stopped)} s: {run.reason}",
        "failed": f"The {run.kind} failed at {number(last)} s: {run.reason}",
    }[run.outcome]
    loop = "The loop's stability was not assessed." if run.stability is None else about_loop(run.stability)
    return Verdict(run.verdict or "CHECK", sentence(ended), loop)


def about_loop(stability: Stability) -> str:
    """The verdict on the linearised loop as a sentence of its own."""
    text = sentence(stability.text)
    return f"The linearised loop is {text}" if text[:1].islower() else text
