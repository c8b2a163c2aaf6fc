"""``halfreal export``: recorded channels for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Force, RunFile, free, open_run


def export(
    path: RunFile,
    to: Annotated[Path, typer.Option("--to", metavar="OUT.{csv,mat,uff}", help="File; its ending is the format.")],
    channels: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this channel, or those of a pattern as in 'measured.*'; repeatable."),
    ] = None,
    force: Force = False,
) -> None:
    """Write the recorded channels of a run file as CSV, MAT or universal file (UFF 58)."""
    free(to, force, "--to")
    run = open_run(path)
    from ..records.export import export as write

    names = write(run, to, channels or (), overwrite=force)
    typer.echo(f"{len(names)} channels, {len(run.time)} samples: {to}")
