"""Texts keep to the word list of CONTRIBUTING.md: documents, help, messages, settings and all docstrings."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from halfreal.cli.commands import app

ROOT = Path(__file__).parents[2]
AVOIDED = re.compile(
    r"\b(anew|beside|besides|borne|told|tells?|nobody|somebody|anybody|likewise|reckon\w*|in words|last words|jolt\w*|"
    r"mend|mends|mended|hears?|heard|nonsense|silly|foresaw|is gone|has gone|are gone|gone on|goes on|go on|"
    r"asked for|asks for|is asked|are asked|whatever|of its own accord|so long it|so long as it is|feels?|be the rig|"
    r"stands (?:in|at|for|there|where|under|behind|next|here|still)|stood|laid over|lies over|a line each|what it says|"
    r"taken apart|by heart)\b",
    re.IGNORECASE,
)
"""Entries of the word list that have no other meaning."""
ALLOWED = re.compile(r'^go(?:es)? on$|"go on"|<!--.*?-->|`[^`\n]+`')
"""Values in definitions and in older run files, marks in documents, options and code."""
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "benchmarks/*.md", ".github/**/*.md")
    for path in ROOT.glob(pattern)
    if not {"reference", "notebooks", "results"} & set(path.parts)
)
FENCE = re.compile(r"^```(?:python|c|toml|matlab|yaml).*?^```", re.MULTILINE | re.DOTALL)
MODULES = sorted((ROOT / "src" / "halfreal").rglob("*.py"))


def found(text: str) -> list[str]:
    text = ALLOWED.sub("", text)
    return [text[max(0, hit.start() - 40) : hit.end() + 30] for hit in AVOIDED.finditer(text)]


def messages(path: Path) -> Iterator[str]:
    """Texts of a module that are not docstrings, and no single words, which are names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield from (node.value,) if " " in node.value.strip() else ()


def docstrings(path: Path) -> Iterator[str]:
    """Texts under modules, classes, functions and attributes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_document_keeps_to_the_word_list(page):
    text = page.read_text(encoding="utf-8")
    if page.name == "CONTRIBUTING.md":
        text = text.partition("## Style guide")[0]
    assert found(FENCE.sub("", text)) == []


def test_messages_keep_to_the_word_list():
    odd = {str(path.relative_to(ROOT)): [hit for text in messages(path) for hit in found(text)] for path in MODULES}
    assert {name: hits for name, hits in odd.items() if hits} == {}


def test_help_keeps_to_the_word_list():
    group: Any = typer.main.get_command(app)
    texts = [group.help or ""]
    for command in group.commands.values():
        texts += [command.help or "", *(getattr(one, "help", None) or "" for one in command.params)]
    assert len(texts) > 100
    assert [hit for text in texts for hit in found(text)] == []


def test_docstrings_keep_to_the_word_list():
    odd = {str(path.relative_to(ROOT)): [hit for text in docstrings(path) for hit in found(text)] for path in MODULES}
    assert {name: hits for name, hits in odd.items() if hits} == {}
