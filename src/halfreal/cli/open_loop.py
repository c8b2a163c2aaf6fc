"""``halfreal bode`` and ``halfreal nyquist``: the open loop, as it runs, as measured, or partly measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..presentation.answers import finite, with_progress
from .options import AsJson, Force, free, read, stop, write_picture

if TYPE_CHECKING:
    from ..studies.open_loop.open_loop import Bode, Nyquist


class Part(StrEnum):
    """What a measured response is of."""

    rig = "rig"
    specimen = "specimen"
    actuator = "actuator"
    loop = "loop"


Test = Annotated[
    Path | None,
    typer.Argument(
        metavar="[TEST.toml]", help="The definition; not needed for a measured open loop.", show_default=False
    ),
]
Response = Annotated[
    Path | None,
    typer.Option(
        "--frf", metavar="FILE.{csv,npz,uff}", help="A measured frequency response, plotted over the model's."
    ),
]
Of = Annotated[
    Part,
    typer.Option(
        "--frf-of",
        help="What was measured: rig (force/command), specimen (force/displacement or motion/force), "
        "actuator (displacement/command), or the whole open loop; the rest is taken from the definition.",
    ),
]
Unit = Annotated[
    str, typer.Option(metavar="UNIT", help="Unit of the measured response, e.g. N/m, if its file has none.")
]
Picture = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="PICTURE.png", help="Picture, also .svg; TEST.bode.png or TEST.nyquist.png."
    ),
]


def bode(
    path: Test = None,
    frf: Response = None,
    frf_of: Of = Part.rig,
    unit: Unit = "",
    output: Picture = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Draw the Bode plot of the open loop as it runs, with its margins, or of measured frequency responses.

    The loop is opened at the command. With --json a picture is drawn only if --output is given.
    """
    from ..studies.open_loop.open_loop import bode as find

    _draw(find, "bode", path, frf, frf_of, unit, output, as_json, force)


def nyquist(
    path: Test = None,
    frf: Response = None,
    frf_of: Of = Part.rig,
    unit: Unit = "",
    output: Picture = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Draw the Nyquist plot of the open loop as it runs, with its margins, or of measured frequency responses.

    The loop is opened at the command. With --json a picture is drawn only if --output is given.
    """
    from ..studies.open_loop.open_loop import nyquist as find

    _draw(find, "nyquist", path, frf, frf_of, unit, output, as_json, force)


def _draw(
    find: Callable[..., Bode | Nyquist],
    what: str,
    path: Path | None,
    frf: Path | None,
    frf_of: Part,
    unit: str,
    output: Path | None,
    as_json: bool,
    force: bool,
) -> None:
    from ..presentation.open_loop_text import as_numbers
    from ..records.response_file import read_response

    source = path or frf
    if source is None:
        stop("give a definition, a measured open loop (--frf), or both")
    definition = None if path is None else read(path)[0]
    target = output or (None if as_json else source.with_suffix(f".{what}.png"))
    if target is not None:
        free(target, force)
    measured = None if frf is None else read_response(frf, unit or None)
    found = with_progress(lambda _: find(definition, measured, frf_of.value), quiet=as_json, doing="linearising")
    if target is not None:
        write_picture(found.plot(), target, force)
    if as_json:
        typer.echo(json.dumps(finite(as_numbers(found)), indent=2))
        return
    typer.echo(f"{found.title}\n{found.summary()}")
    if target is not None:
        typer.echo(f"picture: {target.resolve()}")
