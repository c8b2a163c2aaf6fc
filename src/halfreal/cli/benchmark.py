"""``halfreal benchmark``: couplings on the field's benchmark problems."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from ..presentation.answers import with_progress
from .options import Force, stop

PROBLEMS = ("vrths", "marths")
"""Each a package of that name with a ``PROBLEM``."""


def benchmark(
    problem: Annotated[
        str, typer.Argument(metavar="PROBLEM", help="vrths (one actuator) or marths (two actuators).")
    ] = "vrths",
    motions: Annotated[
        Path | None, typer.Option("--motions", metavar="FOLDER", help="Your own ground motions: AT2, CSV, TXT, MAT.")
    ] = None,
    unit: Annotated[
        str, typer.Option(help="Unit of these records if the files do not state it: 'm/s^2' or 'g_0'.")
    ] = "",
    time_step: Annotated[str, typer.Option(help="Time step of records without time stamps, e.g. '0.02 s'.")] = "",
    plants: Annotated[int, typer.Option(min=0, help="Number of perturbed plants per case.")] = 20,
    coupling: Annotated[list[str] | None, typer.Option(help="Only this coupling; repeatable.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Parallel runs; default: one per processor.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PAGE.html", help="HTML page; the table is saved as CSV next to it."),
    ] = None,
    force: Force = False,
) -> None:
    """Score couplings on a published benchmark problem and compare with published values."""
    if problem not in PROBLEMS:
        stop(f"no benchmark problem '{problem}'; available: {', '.join(PROBLEMS)}")
    from ..benchmark.command import as_text, carry_out
    from ..units import parse

    found = import_module(f"halfreal.{problem}.problem").PROBLEM
    page = output or Path(f"{problem}.html")

    asks = sys.stdin.isatty() and sys.stderr.isatty()
    scores, data = with_progress(
        lambda on_progress: carry_out(
            found,
            page,
            folder=motions,
            unit=unit or None,
            step=parse(time_step, "s") if time_step else None,
            plants=plants,
            only=coupling or (),
            workers=workers,
            force=force,
            on_progress=on_progress,
            ask=(lambda text: typer.prompt(f"{text}\nunit", err=True)) if asks else None,
        ),
        quiet=False,
    )
    typer.echo("\n".join(as_text(found, scores)))
    typer.echo(f"all runs: {data}\nreport: {page.resolve()}")
