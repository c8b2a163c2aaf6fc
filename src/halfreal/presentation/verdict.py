"""The verdict on a rehearsal, whether a run is accepted, or its outcome, and a word on the stability of the loop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..runs.run import Run, Stability
from ..runs.validity import IN_ANY_MOTION
from ..stability.linearise import UNKNOWN
from . import series
from .wording import in_time, number, sentence


@dataclass(frozen=True)
class Verdict:
    """The banner: a word, its colour, and a sentence each on the run and on the loop."""

    word: str
    tone: str
    """``"go"``, ``"marginal"``, ``"no-go"`` or ``"check"``."""
    outcome: str
    stability: str


NOT_JUDGED = "NOT JUDGED"
TONES = {"completed": "go", "stopped": "check", "tripped": "no-go", "failed": "no-go", "recording": "check"}


def verdict(run: Run) -> Verdict:
    """The banner: of a rehearsal whether the test may go, if it was judged; of a run whether it is accepted, if that
    was judged; else how it ended."""
    inside = series.rows_in_test(run)
    last = float(run.time[(inside.stop if inside.stop > inside.start else 0) - 1]) if len(run.time) else 0.0
    cut = series.cut_short(run)
    ended = last if cut is None else cut
    length = series.duration(run)
    all_of_it = length if length < np.inf else last
    whole = f", before its end at {number(length)} s" if ended < length < np.inf else ""
    by_operator = run.reason.startswith("by the operator") or not run.reason
    because = "" if by_operator else f": {run.reason}"
    stopped = "stopped by the operator" if by_operator else "stopped"
    told = {
        "completed": f"The {run.kind} completed: {number(all_of_it)} s in steps of {in_time(run.step)}",
        "tripped": f"The {run.kind} was stopped by the guard at {number(ended)} s{because}",
        "stopped": f"The {run.kind} was {stopped} at {number(ended)} s{whole}{because}",
        "recording": f"The {run.kind} is still being recorded; state at {number(last)} s"
        if len(run.time)
        else f"The {run.kind} has no rows yet{because}",
        "failed": f"The {run.kind} failed at {number(last)} s{because}",
    }[run.outcome]
    loop = "The loop's stability was not assessed." if run.stability is None else about_loop(run.stability)
    if run.stability is not None and run.stability.in_motion is not None:
        loop = f"{loop} {sentence(f'In motion, {run.stability.in_motion.text}')}"
    if run.rests_on_a_model and run.stability is not None:
        loop = f"With the model of the rig: {loop[:1].lower()}{loop[1:]}"
    if run.kind != "rehearsal":
        judged = f"The test was judged {run.verdict} before it ran. " if run.verdict else ""
        word, tone = run.outcome.upper(), TONES[run.outcome]
        if run.accepted is not None:
            word, tone = run.accepted.word, "go" if run.accepted.word == "ACCEPTED" else "no-go"
        return Verdict(word, tone, sentence(told), judged + loop)
    if not run.verdict:
        return Verdict(NOT_JUDGED, "check", sentence(told), f"Run 'halfreal check' for a verdict. {loop}")
    return Verdict(run.verdict, run.verdict.lower(), sentence(told), loop)


def about_loop(stability: Stability) -> str:
    """The verdict on the linearised loop as a sentence of its own, and where it holds unless that is in any motion."""
    if stability.text.startswith(UNKNOWN):
        text = sentence(stability.text)
        return text[:1].upper() + text[1:]
    known = stability.holds not in ("", IN_ANY_MOTION)
    text = sentence(f"{stability.text} ({stability.holds})" if known else stability.text)
    return f"The linearised loop is {text}" if text[:1].islower() else text
