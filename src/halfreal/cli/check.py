"""``halfreal check``: GO, MARGINAL or NO-GO."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..presentation.answers import check_json, finite, record_text, tell, with_progress
from .options import NO, OK, AsJson, DefinitionFile, Force, free, read, stop, write_changed, write_picture

if TYPE_CHECKING:
    from ..definition.definition import Definition


def check(
    path: DefinitionFile,
    as_json: AsJson = False,
    worst: Annotated[
        Path | None, typer.Option("--worst", metavar="WORST.toml", help="Write the worst case within the uncertainty.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture", metavar="MODEL.png", help="Draw the virtual structure and its modes, if it has a geometry."
        ),
    ] = None,
    influences: Annotated[
        bool, typer.Option("--influences", help="Show what the binding margin depends on, of a GO too.")
    ] = False,
    force: Force = False,
) -> None:
    """Validate a definition and assess its test: GO, MARGINAL or NO-GO, why, and what would make it pass.

    MARGINAL: stable, but below the requirements of [acceptance]. MARGINAL and NO-GO end with exit code 1.
    """
    definition, text = read(path)
    if worst is not None:
        free(worst, force, "--worst")
        if not definition.uncertainty:
            stop(f"'{path}' states no uncertainty; add a section [uncertainty], see 'halfreal new'")
    if picture is not None:
        free(picture, force, "--picture")
        _draw(definition, picture, force, quiet=as_json)
    from ..studies.check.check import check as judge

    answer = with_progress(
        lambda on_progress: judge(definition, text=text, on_progress=on_progress, influences=influences),
        quiet=as_json,
        doing="checking",
    )
    if worst is not None and answer.uncertainty is not None:
        write_changed(worst, text, definition, answer.uncertainty.worst, path, force)
    if as_json:
        typer.echo(json.dumps(finite(check_json(answer, definition)), indent=2))
    else:
        tell(answer, definition.title)
        typer.echo(record_text(definition, answer, path))
    raise typer.Exit(OK if answer.verdict == "GO" else NO)


def _draw(definition: Definition, picture: Path, force: bool, quiet: bool) -> None:
    """The structure as it was understood, before anything is judged."""
    inside = definition.virtual.inside("none")
    if inside is None:
        stop(f"--picture: a virtual substructure of kind '{definition.virtual.kind}' has no geometry; omit the option")
    from ..presentation.sketch import overview

    write_picture(overview(inside), picture, force)
    if not quiet:
        typer.echo(f"picture: {picture.resolve()}")
