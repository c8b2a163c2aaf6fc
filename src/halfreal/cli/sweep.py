"""``halfreal sweep``: a definition at many points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..presentation.answers import finite, with_progress
from .options import NO, OK, AsJson, DefinitionFile, Force, read


def sweep(
    path: DefinitionFile,
    plan: Annotated[
        Path,
        typer.Argument(metavar="PLAN.toml", help="The plan: what varies, and what is recorded.", show_default=False),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="RESULTS.sqlite", help="Table of results; default: PLAN.sqlite."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes on this machine; default: one per processor.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address of a Dask scheduler, e.g. tcp://host:8786.")
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Check, rehearse and score a definition at many points; rerun the command to resume."""
    definition, text = read(path)
    from ..campaigns.command import as_text, carry_out, summary

    target = output or plan.with_suffix(".sqlite")
    try:
        results, page = with_progress(
            lambda on_progress: carry_out(definition, text, plan, target, workers, scheduler, force, on_progress),
            quiet=as_json,
        )
    except KeyboardInterrupt:
        typer.echo(f"interrupted; '{target}' keeps the finished points; rerun the command to resume", err=True)
        raise typer.Exit(NO) from None
    if as_json:
        typer.echo(json.dumps(finite({**summary(results), "file": str(target), "report": str(page)}), indent=2))
    else:
        typer.echo("\n".join(as_text(results)))
        typer.echo(f"results: {target}\nreport: {page.resolve()}")
    raise typer.Exit(NO if results.failed else OK)
