"""``halfreal modes``: modal parameters of the assembled structure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..presentation.answers import finite
from .options import AsJson, Force, RunFile, free, open_run, read_band, write_picture


def modes(
    path: RunFile,
    band: Annotated[
        str, typer.Option(metavar="LOW..HIGH", help="Frequency band, e.g. '2 Hz .. 26 Hz'; default: all lines.")
    ] = "",
    channels: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this response or pattern, e.g. 'virtual.*'; repeatable."),
    ] = None,
    order: Annotated[int | None, typer.Option(min=5, help="Highest model order; default: 30.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PICTURE.png", help="Picture; default: RUN.modes.png.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="OUT.{uff,mat,csv}", help="Export frequency responses and modes."),
    ] = None,
    place: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=NODE:DIRECTION", help="Location of a response, e.g. 'virtual.tip = 13:z'; repeatable."
        ),
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Identify the modes of the assembled structure from a test with a virtual excitation."""
    run = open_run(path)
    from ..presentation.modal_text import as_numbers, as_text, figure
    from ..records.export import chosen
    from ..records.modal_export import contents, files, read_places, write
    from ..studies.modal_analysis import modal_analysis

    picture = output or path.with_suffix(".modes.png")
    drawn = to is None or output is not None or force or not picture.exists()  # --to alone leaves a picture as it is
    if drawn:
        free(picture, force)
    for one in () if to is None else files(to):
        free(one, force, "--to")
    places = read_places(place or ())
    low, high = read_band(band)
    names = tuple(chosen(run.signals, channels)) if channels else None
    found = modal_analysis(run, names, lowest_hz=low, highest_hz=high, order=order)
    written = () if to is None else write(to, contents(found.responses, found.poles, places), force)
    if drawn:
        write_picture(figure(found), picture, force)
    if as_json:
        typer.echo(json.dumps(finite(as_numbers(found)), indent=2))
        return
    typer.echo("\n".join([run.title, *as_text(found)]))
    typer.echo(
        f"picture: {picture}" if drawn else f"picture: {picture} exists and was not changed; --force overwrites it"
    )
    for one in written:
        typer.echo(f"exported: {one}")
