"""CONTRIBUTING.md names files, lists and targets that there are."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ") and "`" in line]
LISTS = re.findall(r"`([A-Z]+)` of `([a-z_/]+\.py)`", "\n".join(ROWS))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_the_files_of_a_row_are_there(row):
    for name in re.findall(r"`([a-z_/]+(?:NAME)?\.py)`", row):
        place = (ROOT if name.startswith("tests/") else ROOT / "src" / "halfreal") / name
        assert place.parent.is_dir() if "NAME" in name else place.is_file(), f"{name} is not there"


@pytest.mark.parametrize(("name", "file"), LISTS)
def test_a_list_of_the_table_has_a_line_for_each_of_its_entries(name, file):
    module = import_module("halfreal." + file.removesuffix(".py").replace("/", ".").removesuffix(".__init__"))
    assert len(getattr(module, name)) > 3


def test_targets_of_make_are_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(
        re.search(rf"^[a-z -]*\b{target}\b.*:", makefile, re.M) for target in re.findall(r"make ([a-z-]+)", TEXT)
    )
