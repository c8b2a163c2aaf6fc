"""``halfreal benchmark vrths``: the scorecard of the benchmark problem, as table, CSV and page."""

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
from .problem import Score, couplings, motions, scorecard
from .table import summary, table, write_csv


def carry_out(
    page: Path,
    *,
    folder: Path | None,
    unit: str | None,
    step: float | None,
    plants: int,
    only: Sequence[str],
    workers: int | None,
    force: bool,
    progress: Progress | None,
    ask: Ask | None,
) -> tuple[list[Score], Path]:
    """Run the scorecard, write its page and the CSV beside it; return the scores and the CSV's path."""
    data = page.with_suffix(".csv")
    if page.suffix == ".csv":
        raise HalfrealError(f"'{page}' is the page's name, and the table beside it ends in .csv; name it like 'x.html'")
    for path in (page, data):
        if path.exists() and not force:
            raise HalfrealError(f"'{path}' exists; choose another name with --output, or --force to overwrite it")
    known = couplings()
    for name in only:
        if name not in known:
            raise HalfrealError(f"no coupling '{name}' here; there are {', '.join(map(repr, known))}")
    used = {name: known[name] for name in known if not only or name in only}
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as kept:
        read = {} if folder is None else read_motions(folder, Path(kept), unit=unit, step=step, ask=ask)
        scores = scorecard(
            {**read, **motions()}, used, plants=plants, workers=workers or default_workers(), progress=progress
        )
    with whole_file(data, overwrite=force) as temporary:
        write_csv(scores, temporary)
    write(scores, page, overwrite=force, seconds=time.perf_counter() - began)
    return scores, data


def as_text(scores: Sequence[Score]) -> list[str]:
    """The first motion in full, and every coupling over all motions."""
    first = scores[0].motion
    lines = [table([one for one in scores if one.motion == first]), "", "all cases and motions, nominal plants"]
    lines.append(f"     {'coupling':<28} unstable   J2 [%]           J4 [%]")
    for name, runs, unstable, _, least, most in summary(scores):
        spans = (
            "" if least is None or most is None else "   ".join(f"{least[i]:5.2f} … {most[i]:5.2f} " for i in (1, 3))
        )
        lines.append(f"     {name:<28} {unstable:>3} of {runs:<3} {spans}".rstrip())
    return lines
