"""``halfreal poles``: frequency and damping of every pole of the loop that runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..presentation.answers import finite, with_progress
from .options import AsJson, DefinitionFile, Force, free, open_run, read, stop, write_picture

if TYPE_CHECKING:
    from ..definition.definition import Definition


def poles(
    path: DefinitionFile,
    over: Annotated[
        str, typer.Option(metavar="PLACE", help="Key of the number to sweep, e.g. rig.actuator.delay.")
    ] = "",
    low: Annotated[str, typer.Option("--from", metavar="LOW", help="Start of its range, with unit.")] = "",
    high: Annotated[str, typer.Option("--to", metavar="HIGH", help="End of its range; default: twice its value.")] = "",
    points: Annotated[int, typer.Option(min=2, help="Number of values.")] = 60,
    delay_equation: Annotated[
        bool, typer.Option("--delay-equation", help="Overlay the roots of the continuous-time loop (DDE).")
    ] = False,
    runs: Annotated[
        list[Path] | None,
        typer.Option("--run", metavar="RUN.h5", help="Overlay poles identified from this record; repeatable."),
    ] = None,
    below: Annotated[
        str, typer.Option(metavar="FREQUENCY", help="Highest frequency drawn and identified, e.g. '50 Hz'.")
    ] = "",
    modes: Annotated[int, typer.Option(min=1, help="Largest number of poles to identify in a record.")] = 4,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="PICTURE.png", help="Picture, also .svg; default for a sweep: TEST.poles.png."
        ),
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Show frequency and damping of every pole of the loop as it runs, or draw them over one parameter.

    With --json a picture is drawn only if --output is given.
    """
    definition, _ = read(path)
    from ..presentation.poles_text import as_numbers, as_text
    from ..studies.poles.poles import poles as find
    from ..units import parse

    wanted = _wanted(definition, over, low, high)
    target = output or (path.with_suffix(".poles.png") if over and not as_json else None)
    if target is not None:
        free(target, force)
    found = with_progress(
        lambda on_progress: find(
            definition,
            wanted,
            points=points,
            delay_equation=delay_equation,
            runs=[open_run(one) for one in runs or ()],
            below_hz=parse(below, "Hz") if below else None,
            modes=modes,
            on_progress=on_progress,
        ),
        quiet=as_json,
        doing="linearising",
    )
    if target is not None:
        write_picture(found.plot(), target, force)
    if as_json:
        typer.echo(json.dumps(finite(as_numbers(found)), indent=2))
        return
    typer.echo("\n".join([definition.title, *as_text(found)]))
    if target is not None:
        typer.echo(f"picture: {target.resolve()}")


def _wanted(definition: Definition, over: str, low: str, high: str) -> Any:
    """The number to sweep, with its range in SI units."""
    from ..definition.paths import value_at
    from ..definition.uncertainty import quantity_at
    from ..units import parse

    if not over:
        if low or high:
            stop("--from and --to give the range of a number; name it with --over")
        return None
    value = value_at(definition, over)
    quantity = quantity_at(definition, over)
    unit = "1" if quantity is None else quantity.number.unit
    if not low and not high:
        return over
    return over, parse(low, unit) if low else min(value, 0.0), parse(high, unit) if high else 2.0 * value
