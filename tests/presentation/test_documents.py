"""The documentation's programs and commands are run as they stand, page by page, in an empty folder."""

import re
import runpy
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import halfreal
from halfreal.cli.commands import app

ROOT = Path(__file__).parents[2]
PAGES = [
    *("getting_started", "exit_codes", "run_files"),
    *(
        f"{folder}/{path.stem}"
        for folder in ("tutorials", "how_to", "theory")
        for path in sorted((ROOT / "docs" / folder).glob("*.md"))
    ),
]
"""Pages whose blocks of Python, console commands and named TOML files are run from top to bottom."""
FENCE = re.compile(r"^```(python|console|toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.(?:py|toml))\n")
"""The first line of a block that is a file."""
GALLERY = sorted(path.parent for path in (ROOT / "examples").glob("*/README.md"))
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.py"))


def test_every_page_is_on_the_site():
    docs = ROOT / "docs"
    pages = {path.relative_to(docs).with_suffix("").as_posix() for path in docs.rglob("*.md")}
    written = {page for page in pages if not page.startswith(("reference/", "notebooks/", "decisions/"))}
    trees = re.findall(r"```\{toctree\}.*?```", "".join((docs / f"{page}.md").read_text() for page in written), re.S)
    listed = set(re.findall(r"[\w./]+", " ".join(trees)))
    assert not written - listed - {"index", "bibliography"}


@pytest.mark.parametrize("example", GALLERY, ids=lambda path: path.name)
def test_the_page_of_an_example_shows_all_of_its_figures(example):
    text = (example / "README.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\]\((images/[^)]+)\)", text))
    assert shown == {f"images/{path.name}" for path in (example / "images").glob("*.*")}


@pytest.mark.parametrize("page", PAGES)
def test_the_programs_of_a_page_run_in_their_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    runner, names = CliRunner(), {"__name__": "page"}
    if "first.toml" in text and page != "getting_started":
        assert runner.invoke(app, ["new", "first.toml"]).exit_code == 0
    blocks = FENCE.findall(text)
    assert blocks
    for language, block in blocks:
        if named := FILE.match(block):
            Path(named[1]).write_text(block, encoding="utf-8")
        elif language == "python":
            exec(compile(block, f"{page}.md", "exec"), names)
        elif language == "console":
            for line in block.splitlines():
                command = shlex.split(line.removeprefix("$ "))
                assert command[0] == "halfreal"
                answer = runner.invoke(app, command[1:])
                assert answer.exit_code == 0, f"{line}\n{answer.output}"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert isinstance(runpy.run_path(str(notebook))["check"], halfreal.Check)
