"""``halfreal key``: the secret that both ends of a link share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def key(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The new key file.", show_default=False)],
) -> None:
    """Make a key file, with which rig and controller know each other's datagrams."""
    from ..links.secret import make_secret

    make_secret(path)
    typer.echo(f"{path}: a new secret, which only you can read (mode 600)")
    typer.echo('copy it to the other end by a safe way, such as scp -p; name it there and here: [link] key = "…"')
