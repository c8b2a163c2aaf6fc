"""``halfreal export``: recorded channels, or a part of a test as an FMU, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Force, free, open_run, read, stop

TOML = ".toml"


def export(
    path: Annotated[
        Path, typer.Argument(metavar="RUN.h5|TEST.toml", help="A run file, or a definition.", show_default=False)
    ],
    to: Annotated[
        Path, typer.Option("--to", metavar="OUT.{csv,mat,tdms,uff,fmu}", help="File; its extension sets the format.")
    ],
    channels: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this channel or pattern, e.g. 'measured.*'; repeatable."),
    ] = None,
    part: Annotated[
        str, typer.Option(metavar="PART", help="Part of a definition: virtual, coupling, rig or loop (all).")
    ] = "",
    force: Force = False,
) -> None:
    """Export the recorded channels of a run file as CSV, MAT, TDMS or UFF, or part of a test as an FMU."""
    free(to, force, "--to")
    if to.suffix.lower() == ".fmu" or path.suffix.lower() == TOML:
        _fmu(path, to, part, channels or [], force)
        return
    if part:
        stop(f"--part selects the part of a definition to export as an FMU; '{path}' is a run file: omit it")
    run = open_run(path)
    from ..records.export import export as write

    names = write(run, to, channels or (), overwrite=force)
    typer.echo(f"{len(names)} channels, {len(run.time)} samples: {to}")
    if run.integrity is not None:
        typer.echo(run.integrity.text)


def _fmu(path: Path, to: Path, part: str, channels: list[str], force: bool) -> None:
    """A part of a definition as an FMU."""
    from ..runs.parts import PARTS

    if path.suffix.lower() != TOML:
        stop(f"an FMU is exported from a definition (TEST.toml); '{path}' is not a definition")
    if to.suffix.lower() != ".fmu":
        stop(f"a definition is exported as an FMU: '{to}' must end in .fmu; recorded channels are in run files (.h5)")
    if channels:
        stop("--channels selects recorded channels; an FMU has all variables of its part: omit it")
    chosen = next((one for one in PARTS if one == part), None)
    if chosen is None:
        what = f"'{part}' is not a part of a test" if part else "the part of the test is missing"
        stop(f"{what}; give --part {', '.join(PARTS[:-1])} or {PARTS[-1]}")
    definition, _ = read(path)
    from ..presentation.answers import with_progress
    from ..records.fmu import export_fmu

    names = with_progress(
        lambda on_progress: export_fmu(definition, to, chosen, overwrite=force, on_progress=on_progress),
        quiet=False,
        doing="compiling",
    )
    step = definition.timing.step
    typer.echo(f"{chosen} of '{definition.title}', {len(names)} variables, step {step:g} s: {to}")
