"""``halfreal new`` and ``halfreal examples``: something to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Force, stop, write_text


def new(
    path: Annotated[Path, typer.Argument(metavar="TEST.toml", help="File to write.")] = Path("test.toml"),
    force: Force = False,
) -> None:
    """Write a commented definition to start from."""
    from importlib import resources

    if path.exists() and not force:
        stop(f"'{path}' exists; choose another name, or --force to overwrite it")
    if not path.parent.is_dir():
        stop(f"the folder '{path.parent}' does not exist; make it first")
    write_text(path, resources.files("halfreal").joinpath("new.toml").read_text(encoding="utf-8"), force)
    typer.echo(f"wrote {path}; next: halfreal check {path}")


def examples(
    name: Annotated[str | None, typer.Argument(help="Example to copy; all are listed if left out.")] = None,
    to: Annotated[Path, typer.Option("--to", help="Folder to copy it into.")] = Path(),
) -> None:
    """List the gallery, or copy one of its examples to work on."""
    import difflib
    import shutil
    from importlib import resources

    gallery = Path(str(resources.files("halfreal"))) / "examples"
    found = {folder.name: folder for folder in sorted(gallery.iterdir()) if (folder / "README.md").is_file()}
    if name is None:
        for key, folder in found.items():
            title = (folder / "README.md").read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
            typer.echo(f"{key:<24}{title}")
        return
    if name not in found:
        near = difflib.get_close_matches(name, found, n=1, cutoff=0.4)
        stop(f"no example '{name}'" + (f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(found)}"))
    target = to / name
    if target.exists():
        stop(f"'{target}' exists; choose another folder with --to, or remove it first")
    of_the_gallery = shutil.ignore_patterns("__pycache__", "results", "readme_numbers.py", "numbers.json")
    shutil.copytree(found[name], target, ignore=of_the_gallery)
    typer.echo(f"copied to {target}; next: see {target / 'README.md'}")
