"""``halfreal pushover``: the virtual structure pushed sideways until it has moved so far."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .options import AsJson, DefinitionFile, Force, free, read, stop, write_picture, write_text


def pushover(
    path: DefinitionFile,
    pattern: Annotated[
        str, typer.Option(metavar="mode|uniform|triangle", help="How the force is spread over the nodes with mass.")
    ] = "mode",
    forces: Annotated[
        list[str] | None,
        typer.Option("--force-at", metavar="NODE=SHARE", help="In place of a pattern: a node's share; repeatable."),
    ] = None,
    node: Annotated[str, typer.Option(metavar="NODE", help="Whose displacement is prescribed; the highest one.")] = "",
    direction: Annotated[str, typer.Option(metavar="x|y", help="Of the push; that of the interface.")] = "",
    target: Annotated[
        str, typer.Option("--to", metavar="DISPLACEMENT", help="Such as '300 mm'; 2 % of the height if left out.")
    ] = "",
    steps: Annotated[int, typer.Option(min=1, max=100_000)] = 200,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="CURVE.csv", help="Table, picture beside it; TEST.pushover.csv."),
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Push the virtual structure sideways: base shear over displacement, and the order in which hinges yield.

    It starts under its gravity loads, without the specimen. With --json files are only written where --output names
    them.
    """
    from ..contracts.pushed import Push
    from ..units import parse

    definition, _ = read(path)
    table = output or (None if as_json else path.with_suffix(".pushover.csv"))
    if table is not None:
        for file in (table, table.with_suffix(".png")):
            free(file, force)
    push = Push(
        pattern=_shares(forces) if forces else pattern,
        node=node or None,
        direction=direction or None,
        target=parse(target, "m") if target else None,
        steps=steps,
    )
    pushed = definition.virtual.pushover(push)
    if pushed is None:
        stop(f"a virtual substructure of kind '{definition.virtual.kind}' cannot be pushed; only a frame can")
    from ..presentation.pushover import as_csv, as_numbers, as_text, curve

    if table is not None:
        write_text(table, as_csv(pushed), force)
        write_picture(curve(pushed), table.with_suffix(".png"), force)
    if as_json:
        typer.echo(json.dumps(as_numbers(pushed), indent=2))
        return
    typer.echo("\n".join([definition.title, *as_text(pushed)]))
    if table is not None:
        typer.echo(f"table: {table.resolve()}\npicture: {table.with_suffix('.png').resolve()}")


def _shares(given: list[str]) -> dict[str, float]:
    found = {}
    for one in given:
        name, _, share = one.rpartition("=")
        try:
            found[name] = float(share)
        except ValueError:
            stop(f"--force-at '{one}' is no node with its share; write it as A1=2")
    return found
