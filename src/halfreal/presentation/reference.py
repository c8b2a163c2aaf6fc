"""The kinds of parts for people: what each is and cites, and its settings with units, bounds and defaults.

All of it is in the kinds' own files: the text at the head of the file, the text under the class and under its
fields, and the types of the fields.  ``docs/kinds.md`` is ``page()``; ``halfreal kinds`` shows the same of all kinds
that are installed.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from ..definition.definition import Definition
from ..definition.described import module_text, parts_of, settings_of
from ..definition.kinds import CONTRACTS, kind_of, kinds
from ..settings import Settings

FAMILIES = {
    "virtual": ("Virtual substructures", "[virtual]"),
    "excitation": ("Excitations", "[excitation.virtual], [excitation.specimen]"),
    "coupling": ("Couplings", "[coupling]"),
    "rig": ("Rigs", "[rig]"),
    "link": ("Links", "[link]"),
    "criteria": ("Criteria", "[criteria]"),
}
"""Headings, and where definitions have them."""
HEAD = """# All kinds on one page

The kinds of parts for each section of a definition, with every setting.  This page is generated from the code
(`python -m halfreal.presentation.reference > docs/kinds.md`); `halfreal kinds` shows the same, including the kinds that
installed packages add.
"""

# --- pages ------------------------------------------------------------------------------------------------------------


def page() -> str:
    """All of halfreal's own kinds, as Markdown."""
    lines, parts = [HEAD], dict[type[Settings], None]()
    for family in CONTRACTS:
        title, tables = FAMILIES[family]
        lines += [f"## {title}", "", f"`{tables}`", ""]
        for kind, part in kinds(family).items():
            if part.__module__.startswith("halfreal."):
                lines += _described(f"### {kind}", part, with_text=True)
                parts |= dict.fromkeys(parts_of(part))
    lines += ["## Sections of a definition", "", "Required and optional sections of every definition.", ""]
    lines += _described("### definition", Definition)
    parts |= dict.fromkeys(parts_of(Definition))
    lines += ["## Parts of parts", "", "Tables within the sections above.", ""]
    for part in sorted(parts, key=lambda one: (one.__name__, one.__module__)):
        lines += _described(f"### {_name(part)}", part)
    return "\n".join(lines).rstrip("\n") + "\n"


def listed(family: str) -> Iterator[str]:
    """The kinds of a family, a line for each."""
    for kind, part in kinds(family).items():
        package = part.__module__.partition(".")[0]
        origin = "" if package == "halfreal" else f" ({package})"
        yield f"{kind:<28}{summary(part)}{origin}"


def kind_page(family: str, kind: str) -> str:
    """One kind with its parts, as Markdown."""
    part = kinds(family)[kind]
    lines = _described(f"# {kind}", part, with_text=True)
    for inner in parts_of(part):
        lines += _described(f"## {_name(inner)}", inner)
    return "\n".join(lines).rstrip("\n") + "\n"


def _described(heading: str, part: type[Settings], with_text: bool = False) -> list[str]:
    lines = [heading, "", *_own_text(part).split("\n"), ""]
    if with_text and module_text(part):
        lines += ["```text", *module_text(part).split("\n"), "```", ""]
    rows = settings_of(part)
    if not rows:
        return [*lines, "No settings.", ""]
    table = ["| setting | type | default | meaning |", "|---|---|---|---|"]
    table += [f"| `{row.name}` | {_cell(row.form)} | {_cell(row.default)} | {_cell(row.meaning)} |" for row in rows]
    return [*lines, *table, ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("``", "`")


def _own_text(part: type[Settings]) -> str:
    return inspect.cleandoc(part.__dict__.get("__doc__") or "").replace("``", "`")


def summary(part: type[Settings]) -> str:
    """The first paragraph of a kind's description."""
    return _own_text(part).split("\n\n")[0].replace("\n", " ")


def _name(part: type[Settings]) -> str:
    kind = kind_of(part)
    return f"{part.__name__}, kind '{kind}'" if kind else part.__name__


if __name__ == "__main__":
    print(page(), end="")
