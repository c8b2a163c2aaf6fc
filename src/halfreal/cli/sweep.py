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
        Path, typer.Argument(metavar="PLAN.toml", help="What varies, and what is kept.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="RESULTS.sqlite", help="Table of results; PLAN.sqlite if left out."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes on this machine; one for each processor if left out.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Dask scheduler whose workers do it, as in tcp://host:8786.")
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Check, rehearse and score a definition at many points; once interrupted, the same command goes on."""
    definition, text = read(path)
    from ..campaigns.command import as_text, carry_out, summary

    target = output or plan.with_suffix(".sqlite")
    try:
        results, page = with_progress(
            lambda progress: carry_out(definition, text, plan, target, workers, scheduler, force, progress),
            quiet=as_json,
        )
    except KeyboardInterrupt:
        typer.echo(f"interrupted; '{target}' keeps what is done, and the same command goes on", err=True)
        raise typer.Exit(NO) from None
    if as_json:
        typer.echo(json.dumps(finite({**summary(results), "file": str(target), "report": str(page)}), indent=2))
    else:
        typer.echo("\n".join(as_text(results)))
        typer.echo(f"results: {target}\nreport: {page.resolve()}")
    raise typer.Exit(NO if results.failed else OK)
