"""What a session tells its page of a frame: the shape that the loop computes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import halfreal
from halfreal.page.told import StatusTeller, inside_shown, structure_told
from presentation.test_structure import TEXT


def test_the_deformed_shape_is_that_of_the_loop(tmp_path, monkeypatch):
    (tmp_path / "frame.toml").write_text(TEXT)
    test = halfreal.load(tmp_path / "frame.toml")
    loop = halfreal.build(test)
    session: Any = SimpleNamespace(definition=test, loop=loop)
    teller = StatusTeller(session, SimpleNamespace())  # type: ignore[arg-type]
    assert teller._shape() is None
    inside = inside_shown(session)
    assert inside is not None
    teller.inside = inside
    told = structure_told(inside)
    assert told["nodes"][5] == [6.0, 7.0] and told["members"][0] == [0, 2]
    assert (told["supports"], told["interface"], told["looks"][-1]) == ([0, 1], [5], "dashpot")
    loop.run(500)
    shape = teller._shape()
    assert shape is not None and shape[0] == [0.0, 0.0]
    now = {name: float(loop.vector[loop.index[name]]) for name in ("target", "virtual.drift", "virtual.other")}
    assert abs(now["target"]) > 1e-3 and shape[5][0] == pytest.approx(now["target"], rel=1e-6)
    assert shape[4][0] - shape[2][0] == pytest.approx(now["virtual.drift"], rel=1e-5)
    monkeypatch.setattr("halfreal.page.told.MOST_NODES", 5)
    assert inside_shown(session) is None
