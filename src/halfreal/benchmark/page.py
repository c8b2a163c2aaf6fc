"""A benchmark problem's scorecard as one HTML page: couplings at a glance, and every run next to what others found."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ..citations import PAPERS
from ..presentation.page import Pictures, fill
from ..presentation.style import QUIET, REFERENCE, new_figure, styled
from ..presentation.wording import NONE
from ..records.whole_file import whole_file
from ..runs.rehearse import versions
from .problem import Problem, Score
from .table import Line, lines, number, summary

COLOURS = ("#0b62a4", "#d1570b", "#1a7f4b", "#7b3294")
"""Of the cases."""
TICKS = (0.5, 1, 2, 5, 10, 20, 50, 100)


def write(
    problem: Problem,
    scores: Sequence[Score],
    path: str | Path,
    overwrite: bool = False,
    seconds: float = float("nan"),
) -> None:
    """Write the page of a scorecard, whole or not at all; ``seconds`` is how long it took."""
    with whole_file(path, overwrite) as temporary:
        temporary.write_text(render(problem, scores, seconds), encoding="utf-8")


def render(problem: Problem, scores: Sequence[Score], seconds: float = float("nan")) -> str:
    nominal, runs = ([one for one in scores if not one.bound and one.plant <= most] for most in (0, len(scores)))
    found = lines(problem, scores)
    motions = list(dict.fromkeys(one.motion for one in scores))
    made = Pictures("couplings")
    cases = len({one.case for one in runs})
    dots = "A dot for every case and motion; each case has its colour." if cases > 1 else "A dot for every motion."
    caption = f"{dots} Grey: what the sensors' noise alone gives, over all motions."
    made.add("couplings", caption, partial(couplings, problem, scores))
    return fill(
        Path(__file__).with_name("benchmark.html.j2"),
        run={"versions": versions()},
        problem=problem,
        names=problem.names,
        summed=[problem.names[i] for i in problem.summed],
        figures=[
            ("Runs", str(len(runs)), f"{len(nominal)} nominal, {len(runs) - len(nominal)} with perturbed plants"),
            ("Unstable", str(sum(not one.stable for one in runs)), "of all runs"),
            (
                "Couplings",
                str(len({one.coupling for one in runs})),
                f"{cases} cases" if cases > 1 else "",
            ),
            ("Motions", str(len(motions)), ", ".join(motions)),
            ("Took", f"{seconds:.0f} s" if np.isfinite(seconds) else NONE, "in all"),
        ],
        several_cases=cases > 1,
        has_floor=any(one.floor is not None for one in found),
        summary=[
            (name, count, unstable, perturbed, [span(least, most, i) for i in problem.summed])
            for name, count, unstable, perturbed, least, most in summary(scores)
        ],
        motions=[(name, [row(one) for one in found if one.motion == name]) for name in motions],
        limit=f"{problem.force_limit:g} N",
        out_of_reach=problem.out_of_reach(scores),
        pictures=made,
        papers=[PAPERS[key] for key in problem.papers],
        facts=list(versions().items()),
    )


def span(least: np.ndarray | None, most: np.ndarray | None, i: int) -> str:
    """From the least to the largest value of a criterion."""
    if least is None or most is None:
        return NONE
    low, high = (f"{value[i]:.2f}" for value in (least, most))
    return low if low == high else f"{low} … {high}"


def row(line: Line) -> dict[str, object]:
    """A line of the table as text."""
    own = line.source == "here"
    return {
        "case": str(line.case) if own else "",
        "name": line.coupling if own else line.source,
        "own": own,
        "unstable": line.criteria is None,
        "criteria": [] if line.criteria is None else [number(value, 2) for value in line.criteria],
        "floor": "" if line.floor is None else f"{line.floor:.2f}",
        "force": "" if line.force is None else f"{line.force:.0f}",
        "over": line.over,
    }


@styled
def couplings(problem: Problem, scores: Sequence[Score]) -> Figure:
    """Two criteria of every nominal run, by coupling."""
    nominal = [one for one in scores if one.plant == 0 and not one.bound]
    names = list(dict.fromkeys(one.coupling for one in nominal))
    figure = new_figure(9.0, 1.0 + 0.32 * len(names))
    panels = figure.subplots(1, len(problem.shown), sharey=True)
    for axes, which in zip(panels, problem.shown, strict=True):
        last = {(one.case, one.motion): one.criteria[which] for one in scores if one.bound}
        floors = list(last.values()) or [one.floor for one in nominal]
        floors = [value for value in floors if np.isfinite(value)]
        if floors:
            axes.axvspan(min(floors), max(floors), color=QUIET, alpha=0.2, linewidth=0)
        for one in (one for one in nominal if one.stable):
            axes.plot(
                one.criteria[which],
                names.index(one.coupling) + 0.12 * (one.case - 0.5 - 0.5 * len(problem.cases)),
                marker="o",
                markersize=3.5,
                color=COLOURS[one.case - 1],
                linestyle="none",
            )
        for name in names:
            runs = {(one.case, one.motion) for one in nominal if one.coupling == name}
            known = [values[which] for run in runs for values in problem.published(*run, name).values()]
            known = [value for value in known if np.isfinite(value)]
            if not known:
                continue
            axes.plot([min(known), max(known)], [names.index(name)] * 2, color=REFERENCE, linewidth=0.8, marker="|")
        for i, name in enumerate(names):
            lost = sum(not one.stable for one in nominal if one.coupling == name)
            if lost:
                axes.annotate(f"{lost} unstable", (0.02, i), xycoords=("axes fraction", "data"), fontsize=7.5)
        axes.set(xscale="log", title=f"{problem.names[which]} [{problem.units[which]}]", ylim=(len(names) - 0.5, -0.5))
        axes.set_yticks(range(len(names)), names)
        axes.set_xticks(TICKS, [f"{value:g}" for value in TICKS])
        axes.minorticks_off()
    return figure
