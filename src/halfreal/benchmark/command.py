"""``halfreal benchmark``: the scorecard of a benchmark problem, as table, CSV and page."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from ..campaigns.workers import default_workers
from ..errors import HalfrealError
from ..records.whole_file import whole_file
from ..runs.rehearse import Progress
from .motions import Ask, read_motions
from .page import write
from .problem import Problem, Score, scorecard
from .table import summary, table, write_csv


def carry_out(
    problem: Problem,
    page: Path,
    *,
    folder: Path | None,
    unit: str | None,
    step: float | None,
    plants: int,
    only: Sequence[str],
    workers: int | None,
    force: bool,
    on_progress: Progress | None,
    ask: Ask | None,
) -> tuple[list[Score], Path]:
    """Run the scorecard, write its page and the CSV next to it; return the scores and the CSV's path."""
    data = page.with_suffix(".csv")
    if page.suffix == ".csv":
        raise HalfrealError(
            f"'{page}' is the name of the page; the table next to it ends in .csv; use a name like 'x.html'"
        )
    for path in (page, data):
        if path.exists() and not force:
            raise HalfrealError(f"'{path}' exists; choose another name with --output, or --force to overwrite it")
    known = problem.couplings()
    for name in only:
        if name not in known:
            raise HalfrealError(f"no coupling '{name}' here; available: {', '.join(map(repr, known))}")
    used = {name: known[name] for name in known if not only or name in only}
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as kept:
        read = {} if folder is None else read_motions(folder, Path(kept), unit=unit, step=step, ask=ask)
        scores = scorecard(
            problem,
            {**read, **problem.motions()},
            used,
            plants=plants,
            workers=workers or default_workers(),
            on_progress=on_progress,
        )
    with whole_file(data, overwrite=force) as temporary:
        write_csv(problem, scores, temporary)
    write(problem, scores, page, overwrite=force, seconds=time.perf_counter() - began)
    return scores, data


def as_text(problem: Problem, scores: Sequence[Score]) -> list[str]:
    """The first motion in full, and every coupling over all motions."""
    first, (left, right) = scores[0].motion, problem.shown
    lines = [table(problem, [one for one in scores if one.motion == first]), ""]
    lines.append("all cases and motions, nominal plants")
    heads = "           ".join(f"{problem.names[i]} [{problem.units[i]}]" for i in (left, right))
    lines.append(f"     {'coupling':<28} unstable   {heads}")
    for name, runs, unstable, perturbed, least, most in summary(scores):
        spans = (
            ""
            if least is None or most is None
            else "   ".join(f"{least[i]:5.2f} … {most[i]:5.2f} " for i in (left, right))
        )
        more = f"   perturbed: {perturbed} unstable" if perturbed else ""
        lines.append(f"     {name:<28} {unstable:>3} of {runs:<3} {spans}{more}".rstrip())
    limits = problem.out_of_reach(scores)
    return [*lines, "", *limits] if limits else lines
