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
        str, typer.Option(metavar="mode|uniform|triangle", help="Distribution of the force over the nodes with mass.")
    ] = "mode",
    forces: Annotated[
        list[str] | None,
        typer.Option("--force-at", metavar="NODE=SHARE", help="Instead of a pattern: a node's share; repeatable."),
    ] = None,
    node: Annotated[str, typer.Option(metavar="NODE", help="Control node; default: the highest one.")] = "",
    direction: Annotated[
        str, typer.Option(metavar="x|y", help="Direction of the push; default: that of the interface.")
    ] = "",
    target: Annotated[
        str, typer.Option("--to", metavar="DISPLACEMENT", help="E.g. '300 mm'; default: 2 % of the height.")
    ] = "",
    steps: Annotated[int, typer.Option(min=1, max=100_000)] = 200,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="CURVE.csv", help="Table, with a picture next to it; default: TEST.pushover.csv."
        ),
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Pushover analysis of the virtual structure: base shear over displacement, and the order of yielding.

    It starts from the gravity loads, without the specimen. With --json files are written only if --output is
    given.
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
        stop(f"a virtual substructure of kind '{definition.virtual.kind}' has no pushover analysis; only a frame has")
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
            stop(f"--force-at '{one}' is not NODE=SHARE; write e.g. A1=2")
    return found
