"""``halfreal serve``: the rig's end of a link around a driver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import DefinitionFile, Force, free, read

DriverName = Annotated[
    str,
    typer.Option(
        "--driver", metavar="DRIVER", help="In place of [driver] use: a name, 'lab.py:Lab', or 'lab.so'.", show_default=False
    ),
]


def serve(
    path: DefinitionFile,
    driver: DriverName = "",
    once: Annotated[bool, typer.Option("--once", help="End after one session.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="RIG.h5", help="The rig's own record of the last session.")
    ] = None,
    force: Force = False,
) -> None:
    """Be the end of a real rig: session, lease, watchdog and limits around a driver for its hardware."""
    definition, _ = read(path)
    from ..drivers.kinds import located
    from ..live.served import serve_driver
    from ..live.terminal import Terminal

    use = located(driver, Path.cwd()) if driver else ""
    if output is not None:
        free(output, force)
    with Terminal() as terminal:
        serve_driver(definition, use, once=once, output=output, say=terminal.say)
