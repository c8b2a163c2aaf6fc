"""``halfreal chart``: where the loop is stable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import HalfrealError
from ..presentation.answers import with_progress
from .options import DefinitionFile, Force, free, read, write_picture

if TYPE_CHECKING:
    from ..definition.definition import Definition

Range = "a key of the definition and its range: 'rig.actuator.delay = 1 ms .. 15 ms'"


def chart(
    path: DefinitionFile,
    x: Annotated[str, typer.Option("--x", metavar="PLACE[=LOW..HIGH]", help=f"Across: {Range}.")],
    y: Annotated[str, typer.Option("--y", metavar="PLACE[=LOW..HIGH]", help="Vertical axis, in the same form.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="CHART.png", help="Picture; default: TEST.png.")
    ] = None,
    points: Annotated[int, typer.Option(min=2, help="Points along each axis.")] = 100,
    continuous: Annotated[
        bool, typer.Option("--continuous", help="Use the continuous-time limit instead of the sampled loop.")
    ] = False,
    in_motion: Annotated[
        bool, typer.Option("--in-motion", help="Rehearse the test at each point instead of linearising it at rest.")
    ] = False,
    force: Force = False,
) -> None:
    """Draw a stability chart over any two numbers of the definition."""
    definition, _ = read(path)
    from ..studies.charts.chart import chart as draw

    target = free(output or path.with_suffix(".png"), force)
    wanted = [_range(definition, text) for text in (x, y)]
    found = with_progress(
        lambda on_progress: draw(
            definition, wanted[0], wanted[1], (points, points), continuous, in_motion=in_motion, on_progress=on_progress
        ),
        quiet=False,
    )
    typer.echo(found.summary())
    write_picture(found.plot(), target, force)
    typer.echo(f"chart: {target.resolve()}")


def _range(definition: Definition, text: str) -> Any:
    """What ``PLACE`` or ``PLACE = LOW .. HIGH`` says, in SI units."""
    from ..definition.paths import value_at
    from ..definition.uncertainty import quantity_at
    from ..units import parse

    place, equals, limits = (part.strip() for part in text.partition("="))
    value_at(definition, place)
    if not equals:
        return place
    low, dots, high = (part.strip() for part in limits.partition(".."))
    if not dots:
        raise HalfrealError(f"'{limits}' is not a range; write '{place} = LOW .. HIGH' with units")
    quantity = quantity_at(definition, place)
    unit = "1" if quantity is None else quantity.number.unit
    return place, parse(low, unit), parse(high, unit)
