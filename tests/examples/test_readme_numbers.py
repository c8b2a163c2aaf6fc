"""What the gallery's READMEs and fidelity.md tell is what its scripts computed, and what they compute now."""

import importlib
import sys
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.scripts import GALLERY, at_home, loaded

gallery = loaded(".", "gallery")


@pytest.mark.parametrize("example", gallery.examples())
def test_a_readme_holds_the_stored_numbers(example):
    readme = (GALLERY / example / "README.md").read_text(encoding="utf-8")
    assert gallery.written(readme, gallery.stored(example)) == readme


@pytest.mark.parametrize("example", gallery.examples())
def test_a_readme_shows_pictures_that_are_there_and_all_of_them(example):
    folder = GALLERY / example
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for picture in sorted((folder / "images").glob("*.png")):
        assert f"images/{picture.name}" in readme
    for claim in gallery.stored(example).claims:
        assert (folder / (claim.file or "README.md")).exists(), claim


def test_the_page_of_claims_is_that_of_the_stored_numbers():
    assert gallery.FIDELITY.read_text(encoding="utf-8") == gallery.fidelity()


@pytest.mark.parametrize("example", gallery.examples())
def test_the_scripts_compute_what_is_stored(example, tmp_path, monkeypatch):
    """As ``gallery.py --check --quick`` does, but for its process: here the examples share what is compiled."""
    monkeypatch.setitem(sys.modules, "gallery", gallery)
    with at_home(example), warnings.catch_warnings():
        warnings.simplefilter("default")  # they are no tests
        computed = importlib.import_module("readme_numbers").make(tmp_path, True)
    assert gallery.differences(gallery.stored(example), computed) == []


CLAIM = gallery.Claim("prediction", "Fig. 3", "critical delay", "6.77 ms", "6.76955 ms", True)


def changed(text):
    return gallery.Numbers([gallery.Claim(**{**vars(CLAIM), "here": text})], {"a": ["| 1.5 |"]}, {"b": "2.50 Hz"})


def test_a_number_that_is_off_is_found():
    kept = changed(CLAIM.here)
    assert gallery.differences(kept, changed("6.76956 ms")) == []
    assert len(gallery.differences(kept, changed("6.76965 ms"))) == 1
    assert len(gallery.differences(kept, changed("6.76955 s"))) == 1
    off = gallery.Numbers((), {"a": ["| 1.7 |"]}, {"b": "2.52 Hz", "c": "new"})
    assert len(gallery.differences(kept, off)) == 3


def test_a_difference_without_a_reason_is_refused():
    with pytest.raises(ValueError, match="say why"):
        gallery.Claim(**{**vars(CLAIM), "agrees": False}).verdict  # noqa: B018


@given(st.floats(-1e9, 1e9), st.integers(1, 6))
def test_a_number_agrees_with_itself_however_it_is_printed(value, digits):
    for text in (f"{value:.{digits}f}", f"{value:.{digits}g}", f"{value:.{digits}e}", f"{value:.0f}"):
        assert gallery.same(f"x = {text} mm", f"x = {text} mm")


def test_marks_are_filled_and_a_mark_without_a_number_is_an_error():
    numbers = gallery.Numbers(values={"delay": "6.8 ms"}, tables={"t": ["| a |"]})
    text = "late by <!--delay-->?<!--/-->.\n<!-- table: t -->\nold\n<!-- end -->\n"
    assert gallery.written(text, numbers) == (
        "late by <!--delay-->6.8 ms<!--/-->.\n<!-- table: t -->\n| a |\n<!-- end -->\n"
    )
    with pytest.raises(KeyError):
        gallery.written("<!--growth-->?<!--/-->", numbers)
