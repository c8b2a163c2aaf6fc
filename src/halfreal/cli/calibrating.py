"""``halfreal calibrate``: offset and scale of raw channels, through the guarded loop of an idle rig."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .options import DefinitionFile, Force, free, read, stop, write_changed
from .serving import DriverName


def calibrate(
    path: DefinitionFile,
    tare: Annotated[
        list[str] | None,
        typer.Option("--tare", metavar="CHANNEL", help="Zero this input at its present reading; repeatable."),
    ] = None,
    shunt: Annotated[
        str,
        typer.Option("--shunt", metavar="CHANNEL=VALUE", help="Scale an input by its shunt, e.g. 'load_cell=25 N'."),
    ] = "",
    switch: Annotated[
        str,
        typer.Option("--switch", metavar="OUTPUT", help="Digital output that switches the shunt; default: by hand."),
    ] = "",
    because: Annotated[
        str,
        typer.Option("--because", metavar="REASON", help="Reason to accept an unusual scale or polarity; recorded."),
    ] = "",
    start: Annotated[bool, typer.Option("--start", help="Start at once, without asking the operator.")] = False,
    driver: DriverName = "",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="NEW.toml", help="Definition; default: TEST.calibrated.toml."),
    ] = None,
    force: Force = False,
) -> None:
    """Tare channels or shunt-calibrate one, and write the result with its provenance into the definition."""
    definition, text = read(path)
    from ..drivers.kinds import located
    from ..live.calibration import Calibration, changed
    from ..units import parse

    if bool(tare) == bool(shunt):
        stop("give either --tare CHANNEL or --shunt CHANNEL=VALUE")
    target = free(output or path.with_suffix(".calibrated.toml"), force)
    terminal = sys.stdin is not None and sys.stdin.isatty()
    if not (start or terminal) or (shunt and not switch and not terminal):
        stop("no terminal to ask the operator; give --start, and --switch for a shunt")
    use = located(driver, Path.cwd()) if driver else ""
    new = definition
    with Calibration(definition, use, writes=bool(switch)) as at_work:
        outputs = "commands hold the present position" if switch else "no outputs are written"
        typer.echo(f"driver: {at_work.host.name} ({at_work.host.nature}); {outputs}")
        if tare:
            for name in tare:
                at_work.input(name)
            if not start:
                typer.confirm(f"Is {', '.join(tare)} unloaded?", abort=True)
            for name in tare:
                values, said = at_work.tare(name)
                new = changed(new, name, dict(values))
                typer.echo(f"  {name}: {said}")
        else:
            name, equals, given = (part.strip() for part in shunt.partition("="))
            unit = at_work.input(name)[1]
            if not equals:
                stop(f"'{shunt}': write channel and value, as in 'load_cell=25 {unit}'")

            def ask(question: str) -> None:
                typer.prompt(question, default="", show_default=False, prompt_suffix=" ")

            found, said = at_work.shunt(name, parse(given, unit), switch, ask, because)
            new = changed(new, name, found)
            typer.echo(f"  {name}: {said}")
    write_changed(target, text, definition, new, path, force)
    typer.echo(f"definition: {target}")
