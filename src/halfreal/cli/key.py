"""``halfreal key``: the secret that both ends of a link share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def key(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The new key file.", show_default=False)],
) -> None:
    """Create a key file with which rig and controller authenticate each other's datagrams."""
    from ..links.secret import make_secret

    make_secret(path)
    typer.echo(f"{path}: a new secret, readable by you only (mode 600)")
    typer.echo('copy it to the other end securely, e.g. with scp -p; set [link] key = "…" at both ends')
