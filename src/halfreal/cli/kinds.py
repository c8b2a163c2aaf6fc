"""``halfreal kinds``: the kinds of parts of a definition, built in and from installed packages."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import stop


def kinds(
    family: Annotated[
        str | None, typer.Argument(help="virtual, excitation, coupling, rig, link or criteria; default: all.")
    ] = None,
    kind: Annotated[str | None, typer.Argument(help="One kind, to see its settings.")] = None,
) -> None:
    """List the kinds of parts, or describe one: its purpose, settings, units and bounds."""
    import difflib

    from ..definition.kinds import CONTRACTS, unusable
    from ..definition.kinds import kinds as found
    from ..presentation.reference import FAMILIES, kind_page, listed

    def check(given: str, among: list[str], what: str) -> None:
        if given not in among:
            near = difflib.get_close_matches(given, among, n=1, cutoff=0.6)
            stop(f"no {what} '{given}'; " + (f"did you mean '{near[0]}'?" if near else f"there are {', '.join(among)}"))

    for one in unusable():
        typer.echo(f"warning: {one}", err=True)
    if family is not None:
        check(family, list(CONTRACTS), "family of kinds")
    if family is not None and kind is not None:
        check(kind, list(found(family)), family)
        typer.echo(kind_page(family, kind), nl=False)
        return
    for name in CONTRACTS if family is None else (family,):
        title, tables = FAMILIES[name]
        typer.echo(f"{title}: {tables}")
        for line in listed(name):
            typer.echo(f"  {line}")
