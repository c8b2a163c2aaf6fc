"""A campaign as one HTML page: how many points, response surfaces, the best points, what failed and why."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from .. import units
from ..presentation.page import Pictures, fill
from ..presentation.plots import SHARE
from ..presentation.wording import NONE, in_time, number, percent
from ..records.whole_file import whole_file
from . import plots as plots
from .store import Column, Results

BEST_SHOWN = 10
REASONS_SHOWN = 30
PROVENANCE = ("started", "halfreal", "python", "numpy", "numba", "scipy", "definition_fingerprint", "plan_fingerprint")
MEANINGS = {
    1: "Scores over the number that varies; dashed: its value in the definition.",
    2: "Scores over the two numbers that vary.",
}


@dataclass(frozen=True)
class Reason:
    """Why points did not complete, or were not GO: how often, and the first of them."""

    status: str
    text: str
    count: int
    first: int
    values: str


def write(results: Results, path: str | Path, overwrite: bool = False) -> None:
    """Write the report of a campaign, whole or not at all."""
    with whole_file(path, overwrite) as temporary:
        temporary.write_text(render(results), encoding="utf-8")


def render(results: Results) -> str:
    """The report's HTML."""
    goal, more = results.goal
    rows = results.best(BEST_SHOWN)
    found = reasons(results)
    tone, word, text = state(results)
    return fill(
        Path(__file__).with_name("campaign.html.j2"),
        run={"versions": results.about},
        title=results.about["title"],
        plan=json.loads(results.about["plan"]),
        definition=results.about["definition"],
        tone=tone,
        word=word,
        text=text,
        figures=figures(results),
        goal=goal.name,
        better="most" if more else "least",
        parameters=ranges(results),
        headings=headings(results),
        best=[point_row(results, int(row)) for row in rows],
        accepted=int(results.accepted().sum()),
        judged="verdict" in results.columns,
        run_files=any(results["run_file"]),
        reasons=found[:REASONS_SHOWN],
        reasons_in_all=len(found),
        pictures=pictures(results),
        provenance=[(name.replace("_", " "), results.about[name]) for name in PROVENANCE if name in results.about],
    )


def state(results: Results) -> tuple[str, str, str]:
    """Tone, word and sentence for how far the campaign has come."""
    outcomes = Counter(results["outcome"][results.done].tolist())
    parts = [f"{count} {outcome}" for outcome, count in outcomes.most_common()]
    parts += [f"{results.failed} failed"] if results.failed else []
    verdicts = ", ".join(f"{count} {word}" for word, count in results.verdicts.items())
    text = (
        f"{len(results)} of {results.points} points: {', '.join(parts) or 'none yet'}{'; ' * bool(verdicts)}{verdicts}."
    )
    whole = len(results) == results.points
    return "go" if whole and not results.failed else "check", "COMPLETE" if whole else "UNFINISHED", text


def figures(results: Results) -> list[tuple[str, str, str]]:
    """The few numbers to read first."""
    goal, more = results.goal
    best, accepted = results.best(1), results.accepted()
    spent = float(np.nansum(results["seconds"]))
    found = [("Points", str(len(results)), f"of {results.points} in the plan")]
    found += [(word, str(count), "verdict of the check") for word, count in results.verdicts.items()]
    if len(best):
        value = results[goal.name]
        low, high = float(value[accepted].min()), float(value[accepted].max())
        found.append(
            (f"Best {goal.name}", as_text(results, goal, float(value[best[0]])), "largest" if more else "least")
        )
        found.append(
            (
                "Its range",
                f"{as_text(results, goal, low)} … {as_text(results, goal, high)}",
                "of all completed points",
            )
        )
    found.append(("Time of a point", in_time(spent / max(len(results), 1)), "on one worker, on average"))
    found.append(
        (
            "Total processor time",
            f"{number(spent / 60, 3)} min" if spent > 120 else f"{number(spent, 3)} s",
            "of all workers",
        )
    )
    return found


def ranges(results: Results) -> list[tuple[str, str, str, str, str]]:
    """What varies: its place, value in the definition, least, largest, and how many values."""
    rows = []
    for parameter in results.parameters:
        values = results[parameter.place]
        ends = (parameter.value, *((values.min(), values.max()) if len(values) else (np.nan, np.nan)))
        here, low, high = (units.text(float(value), parameter.unit) for value in ends)
        rows.append((parameter.place, here, low, high, str(len(np.unique(values)))))
    return rows


def headings(results: Results) -> list[str]:
    """Of a table of points; long places may be broken at their dots."""
    places = [parameter.place.replace(".", ".\u200b") for parameter in results.parameters]
    return [*places, *(score.name.replace(".", ".\u200b") for score in results.scores)]


def point_row(results: Results, row: int) -> tuple[int, list[str], list[str], str]:
    """A point's number, values, scores and run file, as text."""
    values = [units.text(float(results[p.place][row]), p.unit) for p in results.parameters]
    scores = [as_text(results, score, results[score.name][row]) for score in results.scores]
    return int(results["point"][row]), values, scores, str(results["run_file"][row])


def as_text(results: Results, score: Column, value: float | str) -> str:
    """A score for people."""
    if isinstance(value, str):
        return value or NONE
    if not np.isfinite(value):
        return NONE
    if score.name == "spectral radius":
        return f"{value:.6f}"
    if plots.unit_of(score, results[score.name]) is SHARE:
        return percent(value)
    return units.text(float(value), score.unit).replace("-", "−").replace(" deg", "°")


def reasons(results: Results) -> list[Reason]:
    """Why points failed, did not complete or were not GO; failures first, and then the most frequent.

    Reasons with other numbers are one.
    """
    found: dict[tuple[str, str], list[int]] = {}
    completed = results.done & (results["outcome"] == "completed")
    verdict = results.columns.get("verdict", np.full(len(results), "", dtype=object))
    for row in np.flatnonzero(~completed | ((verdict != "GO") & (verdict != ""))):
        if completed[row]:
            status = f"completed but {verdict[row]}"
        else:
            status = str(results["status" if results["status"][row] == "failed" else "outcome"][row])
        kind = re.sub(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?( [nµmkM]?(m|s|N)\b)?", "…", str(results["reason"][row]))
        found.setdefault((status, kind), []).append(int(row))
    listed = [
        Reason(status, str(results["reason"][rows[0]]), len(rows), *_first(results, rows[0]))
        for (status, _), rows in found.items()
    ]
    return sorted(listed, key=lambda reason: (reason.status != "failed", -reason.count))


def _first(results: Results, row: int) -> tuple[int, str]:
    values = (f"{p.place} = {units.text(float(results[p.place][row]), p.unit)}" for p in results.parameters)
    return int(results["point"][row]), ", ".join(values)


def pictures(results: Results) -> Pictures:
    made = Pictures("surfaces", "effects")
    varied = len(results.parameters)
    if not len(results):
        return made
    if varied in MEANINGS:
        white = " White: not completed or no GO." if varied == 2 else ""
        made.add("surfaces", MEANINGS[varied] + white, partial(plots.surfaces, results))
    else:
        caption = f"Main effects on {results.goal[0].name}: dots: points, line: median, star: best point."
        made.add("effects", caption, partial(plots.effects, results))
    return made
