"""``halfreal new`` and ``halfreal examples``: something to start from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from .options import Force, stop, write_text

TEMPLATES = {
    "rths": ("new.toml", "real-time test: spring, mass and damper, forward prediction"),
    "pseudo-dynamic": ("examples/pseudo_dynamic_frame/operator_splitting.toml", "slow test of a yielding storey"),
    "force-control": ("examples/force_controlled_bar/index_one.toml", "slow test of a stiff bar in force control"),
    "shaking-table": ("examples/shaking_table_rod/rod.toml", "a mass on a shaking table, carried by a virtual rod"),
    "vrths": ("examples/vrths_benchmark/case_4.toml", "servo-hydraulic rig of the benchmark problem"),
    "frame": ("new_frame.toml", "a yielding frame, with a brace in the laboratory"),
}
"""Files of the package, and what each is."""
LISTED = re.compile(r"(kind = \"[^\"]*\")( *)# all of (\w+)$", re.MULTILINE)
"""A kind in a template behind which all others of its family are listed."""
WIDTH = 120


def new(
    path: Annotated[Path, typer.Argument(metavar="TEST.toml", help="File to write.")] = Path("test.toml"),
    template: Annotated[
        str, typer.Option("--template", "-t", metavar="NAME", help=f"Template: {', '.join(TEMPLATES)}.")
    ] = "rths",
    force: Force = False,
) -> None:
    """Write a commented definition to start from."""
    from importlib import resources

    if template not in TEMPLATES:
        lines = [f"  {name:<16}{text}" for name, (_, text) in TEMPLATES.items()]
        stop("\n".join([f"no template '{template}'; available:", *lines]))
    source = Path(str(resources.files("halfreal"))) / TEMPLATES[template][0]
    text = source.read_text(encoding="utf-8")
    named = [source.parent / name for name in re.findall(r'^file = "([^"/]+)"', text, re.MULTILINE)]
    for target in (path, *(path.parent / one.name for one in named)):
        if target.exists() and not force:
            stop(f"'{target}' exists; choose another name, or --force to overwrite it")
    if not path.parent.is_dir():
        stop(f"the folder '{path.parent}' does not exist; create it first")
    write_text(path, LISTED.sub(_all_kinds, text), force)
    for one in named:
        write_text(path.parent / one.name, one.read_text(encoding="utf-8"), force)
    typer.echo(f"wrote {', '.join(str(path.parent / one) for one in (path.name, *(one.name for one in named)))}")
    typer.echo(f"next: halfreal check {path}")


def _all_kinds(found: re.Match[str]) -> str:
    """The line of a kind, with the other kinds of its family in comments."""
    import textwrap

    from ..definition.kinds import names

    chosen, space, family = found.groups()
    others = "or " + ", ".join(kind for kind in names(family) if f'"{kind}"' not in chosen)
    indent = " " * len(chosen + space)
    lines = textwrap.wrap(others, WIDTH - len(indent) - 2, break_on_hyphens=False)
    return f"\n{indent}".join([f"{chosen}{space}# {lines[0]}", *(f"#   {line}" for line in lines[1:])])


def examples(
    name: Annotated[str | None, typer.Argument(help="Example to copy; default: list all.")] = None,
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
