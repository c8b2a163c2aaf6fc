"""``halfreal continue``: limit cycles over a number of the definition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..presentation.answers import finite, with_progress
from .options import AsJson, DefinitionFile, Force, free, read, write_picture

if TYPE_CHECKING:
    from ..definition.definition import Definition


def continue_(
    path: DefinitionFile,
    parameter: Annotated[
        str, typer.Option("--parameter", "-p", metavar="PLACE", help="Key of a number in the definition.")
    ],
    low: Annotated[
        str | None, typer.Option("--from", metavar="VALUE", help="Lower end of its range, e.g. '3 ms'.")
    ] = None,
    high: Annotated[str | None, typer.Option("--to", metavar="VALUE", help="Upper end of its range.")] = None,
    largest: Annotated[
        str | None, typer.Option("--largest", metavar="VALUE", help="Largest amplitude to follow.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIAGRAM.png", help="Picture; default: TEST.cycles.png."),
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Follow the limit cycles of a nonlinear loop over one parameter: a bifurcation diagram."""
    definition, _ = read(path)
    from ..studies.cycles.as_json import continuation_json
    from ..studies.cycles.continuation import continuation
    from ..units import parse

    ends = [_value(definition, parameter, text) for text in (low, high)]
    target = None if as_json and output is None else free(output or path.with_suffix(".cycles.png"), force)
    most = None if largest is None else parse(largest, definition.interface.units("m")[0])
    found = with_progress(
        lambda on_progress: continuation(definition, parameter, *ends, largest=most, on_progress=on_progress),
        quiet=as_json,
    )
    if target is not None:
        write_picture(found.plot(), target, force)
    if as_json:
        typer.echo(json.dumps(finite(continuation_json(found)), indent=2))
        return
    typer.echo(found.summary())
    typer.echo(f"diagram: {target.resolve() if target else ''}")


def _value(definition: Definition, place: str, text: str | None) -> float | None:
    """A value for a number of the definition, in SI units."""
    from ..definition.paths import value_at
    from ..definition.uncertainty import quantity_at
    from ..units import parse

    value_at(definition, place)
    quantity = quantity_at(definition, place)
    return None if text is None else parse(text, "1" if quantity is None else quantity.number.unit)
