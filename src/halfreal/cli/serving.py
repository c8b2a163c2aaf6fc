"""``halfreal serve``: the rig's end of a link around a driver."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from .options import NO, OK, DefinitionFile, Force, free, read

if TYPE_CHECKING:
    from ..definition.definition import Definition

DriverName = Annotated[
    str,
    typer.Option(
        "--driver",
        metavar="DRIVER",
        help="Replaces [driver] and its settings: a name, 'lab.py:Lab' or 'lab.so'.",
        show_default=False,
    ),
]


def serve(
    path: DefinitionFile,
    driver: DriverName = "",
    try_: Annotated[
        bool, typer.Option("--try", help="Test the driver against its contract instead, and report the findings.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="Exit after one session.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="RIG.h5", help="The rig's own record of the last session.")
    ] = None,
    force: Force = False,
) -> None:
    """Run the rig end for real hardware: session, lease, watchdog and limits around a driver."""
    definition, _ = read(path)
    from ..drivers.kinds import located
    from ..live.served import serve_driver
    from ..live.terminal import Terminal

    use = located(driver, Path.cwd()) if driver else ""
    if try_:
        tell_trial(definition, path, use)
    if output is not None:
        free(output, force)
    with Terminal() as terminal:
        serve_driver(definition, use, once=once, output=output, say=terminal.say)


def tell_trial(definition: Definition, path: Path, use: str) -> NoReturn:
    """Try a driver, and end."""
    from ..live.driver_trial import trial

    typer.echo("The outputs hold the present position: nothing should move. Keep the emergency stop within reach.")
    found = trial(
        definition, path, use, on_progress=lambda one: typer.echo(f"  {one.verdict:4}  {one.what}: {one.found}")
    )
    bad = sum(one.verdict == "BAD" for one in found)
    typer.echo(f"{bad} of {len(found)} findings are bad" if bad else f"{len(found)} findings, none is bad")
    raise typer.Exit(NO if bad else OK)
