"""Pages on every kind of part and on the papers, made of the code when the site is built."""

from __future__ import annotations

import re
from pathlib import Path

from halfreal.citations import PAPERS, paper
from halfreal.definition.kinds import CONTRACTS, kinds
from halfreal.presentation.reference import FAMILIES, kind_page, listed


def write(folder: Path) -> None:
    """A page for each kind, and one that leads to them."""
    folder.mkdir(exist_ok=True)
    lines = [
        "# Kinds of parts",
        "",
        "What can stand in the sections of a definition, a page each. On the command line:",
        "",
    ]
    lines += ["`halfreal kinds`, `halfreal kinds rig simulated`, `halfreal info rig.actuator.delay`.", ""]
    for family in CONTRACTS:
        title, tables = FAMILIES[family]
        pages = [_page(folder, family, kind) for kind in kinds(family)]
        lines += [f"## {title}", "", f"`{tables}`", "", "```text", *listed(family), "```", ""]
        lines += ["```{toctree}", ":maxdepth: 1", "", *pages, "```", ""]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


def _page(folder: Path, family: str, kind: str) -> str:
    name = f"{family}-{re.sub(r'[^a-z0-9]+', '-', kind.lower()).strip('-')}"
    (folder / f"{name}.md").write_text(kind_page(family, kind), encoding="utf-8")
    return name


def write_bibliography(file: Path) -> None:
    """Every paper that a method cites."""
    papers = sorted(paper(key) for key in PAPERS)
    lines = ["# Bibliography", "", "Papers whose methods are implemented here; a report lists those of its test.", ""]
    file.write_text("\n".join([*lines, *(f"- {text}" for text in papers), ""]), encoding="utf-8")
