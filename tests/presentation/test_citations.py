"""Papers by key."""

from __future__ import annotations

import re

import pytest

from halfreal.citations import PAPERS, paper


def test_a_reference_is_a_key_or_the_text_itself() -> None:
    assert paper("wen1976").startswith("Y. K. Wen, ")
    assert paper("A. Nobody, A paper of our own (1900).") == "A. Nobody, A paper of our own (1900)."


@pytest.mark.parametrize("key", PAPERS)
def test_a_paper_bears_the_first_author_and_year_of_its_key(key: str) -> None:
    name, year = re.fullmatch(r"([a-z]+)(\d{4})?[a-z]*", key).groups()
    first_author = PAPERS[key].split(",")[0].lower().replace(" ", "")
    assert name in first_author
    assert year is None or f"({year})" in PAPERS[key]
    assert PAPERS[key].endswith(".")
