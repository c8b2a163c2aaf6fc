"""``halfreal sweep``: from files of a definition and a plan to the table of results, its page, and what is said."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..definition.definition import Definition
from ..runs.rehearse import Progress
from .page import as_text as score_text
from .page import point_row, reasons, state, write
from .plan import read_plan
from .store import Results
from .sweep import sweep
from .workers import CampaignError

BEST_TOLD = 3
REASONS_TOLD = 5


def carry_out(
    definition: Definition,
    text: str,
    plan_file: Path,
    store: Path,
    workers: int | None,
    scheduler: str | None,
    force: bool,
    on_progress: Progress | None,
) -> tuple[Results, Path]:
    """Run the campaign, or what is missing of it, and write its page next to the table; return both."""
    if store.suffix in (".toml", ".html"):
        raise CampaignError(f"'{store}' would be overwritten by the campaign; use a name like 'results.sqlite'")
    page = store.with_suffix(".html")
    if page.exists() and not store.exists() and not force:
        raise CampaignError(
            f"'{page}' exists and does not belong to this campaign; choose another --output, or --force"
        )
    plan, design = read_plan(plan_file, definition)
    results = sweep(
        definition,
        plan,
        store,
        design=design,
        text=text,
        workers=workers,
        scheduler=scheduler,
        overwrite=force,
        on_progress=on_progress,
    )
    write(results, page, overwrite=True)
    return results, page


def as_text(results: Results) -> list[str]:
    """What a campaign has come to, for the terminal."""
    goal, more = results.goal
    lines = [results.about["title"], f"  {state(results)[2]}"]
    for row in results.best(BEST_TOLD):
        point, values, *_ = point_row(results, int(row))
        places = ", ".join(f"{p.place} = {value}" for p, value in zip(results.parameters, values, strict=True))
        lines.append(f"  point {point}: {goal.name} {score_text(results, goal, results[goal.name][row])} at {places}")
    if not len(results.best(1)):
        lines.append(f"  no point was completed{' and GO' if 'verdict' in results.columns else ''}")
    else:
        lines[2:2] = [f"  best by the {'largest' if more else 'least'} {goal.name}:"]
    found = reasons(results)
    for one in found[:REASONS_TOLD]:
        words = one.text or "no reason was recorded"
        lines.append(f"  {one.count} {one.status}, first point {one.first} ({one.values}): {words}")
    if len(found) > REASONS_TOLD:
        lines.append(f"  {len(found) - REASONS_TOLD} further reason(s) are listed on the page")
    return lines


def summary(results: Results) -> dict[str, Any]:
    """The same for programs."""
    goal, more = results.goal
    best = [
        {
            "point": int(results["point"][row]),
            "values": {p.place: float(results[p.place][row]) for p in results.parameters},
            "scores": {score.name: results[score.name][row] for score in results.scores},
        }
        for row in results.best()
    ]
    return {
        "title": results.about["title"],
        "points": results.points,
        "done": int(results.done.sum()),
        "failed": results.failed,
        "verdicts": results.verdicts,
        "reasons": [asdict(one) for one in reasons(results)],
        "goal": {"score": goal.name, "better": "more" if more else "less"},
        "best": best,
    }
