"""What every registered kind keeps: it builds, linearises, allocates nothing, survives TOML, is documented and cites.

A kind is tried in a definition of the gallery that has it, or in one of ``contracts.examples``.
"""

import re
import sys
from contextlib import closing
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import allocation
from contracts.examples import EVERY, NOT_IN_A_LOOP, definition_of, file_of, outside_the_gallery, part_of
from halfreal.citations import PAPERS, paper
from halfreal.definition import described
from halfreal.definition.definition import Definition
from halfreal.definition.kinds import CONTRACTS, OWN, kind_of, kinds, unusable
from halfreal.definition.load import from_toml, to_toml
from halfreal.presentation import reference
from halfreal.runs.build import build
from halfreal.runs.loop_stability import linearised

pytestmark = pytest.mark.xdist_group("tests/examples/test_gallery.py")  # one process compiles the gallery for both
PAGE = Path(__file__).parents[2] / "docs" / "kinds.md"
IN_A_LOOP = [one for one in EVERY if one[0] not in NOT_IN_A_LOOP]
A_YEAR = re.compile(r"\((1[89]\d\d|20\d\d)[a-z]?\)")
A_TEXT = re.compile(r".{20,}\b(1[89]\d\d|20\d\d)\b")


@cache
def tried(definition: Definition) -> tuple[np.ndarray, set[str]]:
    """The poles of a definition's loop, and the papers of its blocks."""
    references = {key for block in build(definition).blocks for key in block.references}
    return linearised(definition).eigenvalues, references


def every(cases=EVERY):
    return pytest.mark.parametrize(("family", "kind"), cases, ids=lambda word: word.replace(" ", "_"))


def test_halfreals_own_kinds_are_all_there_under_their_names():
    for family in CONTRACTS:
        assert {kind: kind_of(part) for kind, part in kinds(family).items()} == {kind: kind for kind in OWN[family]}
    assert unusable() == ()


@every()
def test_a_kind_keeps_its_contract(family, kind):
    part = kinds(family)[kind]
    assert issubclass(part, CONTRACTS[family])
    assert not part.__abstractmethods__
    assert kind_of(part) == kind


@every()
def test_a_kind_goes_through_toml_and_back(family, kind):
    definition = definition_of(family, kind)
    assert type(part_of(definition, family, kind)) is kinds(family)[kind]
    again = from_toml(to_toml(definition), Definition, folder=Path("/"))
    assert again == definition


@every(IN_A_LOOP)
def test_a_kind_builds_and_linearises_and_cites_what_it_implements(family, kind):
    poles, references = tried(definition_of(family, kind))
    assert np.isfinite(poles).all()
    assert all(key in PAPERS or A_TEXT.search(key) for key in references)
    named = set(A_YEAR.findall(sys.modules[kinds(family)[kind].__module__].__doc__ or ""))
    cited = set(A_YEAR.findall(" ".join(paper(key) for key in references)))
    assert not named or named & cited, f"its file names papers of {named}; give its block references to them"


def test_no_kind_allocates_in_a_tick():
    """Those of the gallery are looked at with the gallery's loops."""
    found = allocation.per_tick(outside_the_gallery())
    assert found == dict.fromkeys(found, 0.0)
    assert len(found) == sum(file_of(*one) is None for one in IN_A_LOOP)


@every([one for one in EVERY if one[0] == "link" and one[1] != "driver"])  # which has no datagrams
def test_a_link_carries_datagrams_from_end_to_end(family, kind):
    link = part_of(definition_of(family, kind), family, kind)
    with closing(link.listen()) as listener, closing(link.to_rig()) as wire:
        assert wire.way().shape == (4,)
        wire.send(b"a datagram")
        assert listener.receive(10.0) == b"a datagram"


@every()
def test_every_setting_of_a_kind_and_of_its_parts_is_documented(family, kind):
    part = kinds(family)[kind]
    silent = [
        f"{one.__name__}.{setting.name}"
        for one in (part, *described.parts_of(part))
        for setting in described.settings_of(one)
        if not described.is_documented(one, setting)
    ]
    assert not silent, f"say what {', '.join(silent)} means: a text in quotes under the field"
    assert part.__dict__.get("__doc__"), "say what the kind is: a text under its class"


def test_the_committed_page_is_what_the_kinds_say():
    assert PAGE.read_text(encoding="utf-8") == reference.page(), (
        "docs/kinds.md is not what the kinds say now; write it anew: "
        "python -m halfreal.presentation.reference > docs/kinds.md"
    )


def test_the_words_shared_by_settings_are_all_used():
    own = [Definition, *(part for family in CONTRACTS for part in kinds(family).values())]
    parts = [one for part in own for one in (part, *described.parts_of(part))]
    used = {word for part in parts for name in part.model_fields for word in (name, f"{part.__name__}.{name}")}
    assert set(described.SHARED) <= used
