"""Papers by key."""

from __future__ import annotations

import re

import pytest

from halfreal.citations import PAPERS, UnknownCitationError, cite


def test_papers_come_once_and_in_order() -> None:
    found = cite(["wen1976", "newmark1959", "wen1976"])
    assert [text.split(",")[0] for text in found] == ["Y. K. Wen", "N. M. Newmark"]


def test_an_unknown_key_is_an_error_that_names_it() -> None:
    with pytest.raises(UnknownCitationError, match="no paper under 'nobody1900'") as caught:
        cite(["newmark1959", "nobody1900"])
    assert isinstance(caught.value, KeyError) and not str(caught.value).startswith('"')


@pytest.mark.parametrize("key", PAPERS)
def test_a_paper_bears_the_first_author_and_year_of_its_key(key: str) -> None:
    name, year = re.fullmatch(r"([a-z]+)(\d{4})?[a-z]*", key).groups()
    first_author = PAPERS[key].split(",")[0].lower().replace(" ", "")
    assert name in first_author
    assert year is None or f"({year})" in PAPERS[key]
    assert PAPERS[key].endswith(".")
