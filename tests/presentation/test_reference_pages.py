"""Reference pages that are written by hand are complete: every key, channel, score and group is on them."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from halfreal.campaigns import Plan
from halfreal.campaigns.scores import NAMED
from halfreal.records import run_file
from halfreal.runs.events import STATES
from halfreal.safety.limits import Limits

ROOT = Path(__file__).parents[2]
LITERAL = re.compile(r"""\b(?:Channel|channels)\(\s*f?"([a-z_]+\.[a-z_]*(?:\{\w+\})?)""")


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "keys"), [("campaign_plans", Plan.model_fields), ("limits", Limits.model_fields)])
def test_every_key_is_on_its_page(name, keys):
    listed = set(re.findall(r"`([a-z_]+)`", page(name)))
    assert not set(keys) - listed


def test_every_score_is_on_the_page_of_plans():
    text = page("campaign_plans")
    for score in NAMED:
        family, _, error = score.partition(" ")
        named = f"`{score}`" in text or (f"`{family} " in text and f"`{error}`" in text)
        assert named, f"{score} is not on the page"


def test_every_channel_of_the_code_is_on_the_page_of_channels():
    text = page("channels")
    files = (path.read_text(encoding="utf-8") for path in (ROOT / "src" / "halfreal").rglob("*.py"))
    found = {name for code in files for name in LITERAL.findall(code)}
    assert len(found) > 40
    missing = {
        name
        for name in found
        if f"`{name}`" not in text and not re.search(rf"`{re.escape(name.partition('.')[0])}\.NAME`", text)
    }
    assert not {name for name in missing if "{" not in name}


def test_every_state_of_a_test_is_on_the_page_of_channels():
    row = next(line for line in page("channels").splitlines() if line.startswith("| `guard.mode` | 1 "))
    for code, state in STATES.items():
        assert f"{code:g} {state.replace(',', ' and')}" in row


def test_every_group_of_a_run_file_is_on_its_page():
    groups = set(re.findall(r"^ +(/\w+(?:/\w+)?)", run_file.__doc__ or "", re.M)) - {"/channels"}
    assert len(groups) > 10
    assert not {group for group in groups if f"`{group}" not in page("run_files")}


def test_every_exit_code_is_on_its_page():
    codes = re.findall(r"^\| ([\d, ]+) \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    listed = re.findall(r"^\| ([\d, ]+) \|", page("exit_codes"), re.M)
    assert sorted(re.findall(r"\d+", " ".join(codes))) == sorted(re.findall(r"\d+", " ".join(listed)))


def test_every_kind_has_a_page_that_says_when_to_use_it(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    pages = import_module("reference_pages")
    own = {
        family: {kind for kind, part in pages.kinds(family).items() if part.__module__.startswith("halfreal.")}
        for family in pages.CONTRACTS
    }
    assert {family: set(texts) for family, texts in pages.WHEN.items()} == own
    pages.write(tmp_path)
    text = (tmp_path / "coupling-forward-prediction.md").read_text(encoding="utf-8")
    assert "**When to use it.**" in text and "| `prediction` |" in text and "(2005) 1817" in text


def test_every_family_has_pictures_and_a_page_shows_its_own(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    pictures, pages = import_module("kind_pictures"), import_module("reference_pages")
    assert set(pictures.DRAWN) == set(pages.CONTRACTS)
    cheap = {("link", "udp"), ("excitation", "sine"), ("virtual", "structure")}
    drawn = []

    def draw(family, kind, folder):
        drawn.append((family, kind))
        return pictures.draw(family, kind, folder) if (family, kind) in cheap else None

    pages.write(tmp_path, draw)
    assert set(drawn) == {(family, kind) for family in pages.CONTRACTS for kind in pages.kinds(family)}
    for family, kind in cheap:
        name = f"{family}-{kind}"
        assert f"](pictures/{name}.png)" in (tmp_path / f"{name}.md").read_text(encoding="utf-8")
        assert (tmp_path / "pictures" / f"{name}.png").stat().st_size > 5000
