"""``halfreal benchmark``: couplings on the field's benchmark problem."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..presentation.answers import with_progress
from .options import Force, stop


def benchmark(
    problem: Annotated[str, typer.Argument(metavar="vrths", help="The benchmark problem.")] = "vrths",
    motions: Annotated[
        Path | None, typer.Option("--motions", metavar="FOLDER", help="Records of yours: AT2, CSV, TXT, MAT.")
    ] = None,
    unit: Annotated[str, typer.Option(help="Unit of these records where they do not tell it: 'm/s^2' or 'g_0'.")] = "",
    time_step: Annotated[str, typer.Option(help="Time step of records without times, such as '0.02 s'.")] = "",
    plants: Annotated[int, typer.Option(min=0, help="Perturbed plants of each case, with the first motion.")] = 20,
    coupling: Annotated[list[str] | None, typer.Option(help="Only this coupling; may be given several times.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Runs at a time; one for each processor.")] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="PAGE.html", help="Page; the table as CSV stands beside it.")
    ] = Path("vrths.html"),
    force: Force = False,
) -> None:
    """Score couplings on the field's benchmark problem, beside published values."""
    if problem != "vrths":
        stop(f"no benchmark problem '{problem}'; there is vrths")
    from ..units import parse
    from ..vrths.command import as_text, carry_out

    asks = sys.stdin.isatty() and sys.stderr.isatty()
    scores, data = with_progress(
        lambda progress: carry_out(
            output,
            folder=motions,
            unit=unit or None,
            step=parse(time_step, "s") if time_step else None,
            plants=plants,
            only=coupling or (),
            workers=workers,
            force=force,
            progress=progress,
            ask=(lambda text: typer.prompt(f"{text}\nunit", err=True)) if asks else None,
        ),
        quiet=False,
    )
    typer.echo("\n".join(as_text(scores)))
    typer.echo(f"all runs: {data}\nreport: {output.resolve()}")
