"""What a definition says about real time is refused where it could not run, before anything is armed."""

import pytest

import halfreal
from halfreal.live.session import RefusedError


def definition(**changed):
    parts = {
        "title": "spring",
        "timing": {"step": 1e-3, "duration": 1.0},
        "virtual": {"mass": 2.0, "damping": 10.0, "stiffness": 2000.0},
        "rig": {"specimen": {"stiffness": 100.0}},
        "link": {"kind": "udp"},
        **changed,
    }
    return halfreal.Definition.model_validate(parts)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"link": {"kind": "udp", "lease": 2e-3}}, "less than three steps"),
        ({"limits": {"stale": {"trip": 1e-3}}}, "less than two steps"),
        ({"limits": {"stale": {"warn": 0.2, "trip": 0.1}}}, "a warning must come first"),
        ({"real_time": {"spin": 0.6e-3}}, "more than half a step"),
    ],
)
def test_times_that_no_run_could_keep_are_refused(changed, told):
    definition()
    with pytest.raises(ValueError, match=told):
        definition(**changed)


def test_a_session_runs_the_definition_it_was_given_and_says_what_it_cannot_do(tmp_path):
    session = halfreal.Session(definition(), tmp_path / "run.h5")
    with pytest.raises(AttributeError):
        session.definition = definition(title="another")
    for act in (session.start, session.wait):  # a stop is heard before arming too: nothing is armed then
        with pytest.raises(RefusedError, match="arm it first"):
            act()
    with pytest.raises(RefusedError, match="a rig is armed only after a GO"):
        session.arm()
    with pytest.raises(RefusedError, match="wait for its end first"):
        session.finish()
    with pytest.raises(RefusedError, match="does not exist"):
        halfreal.Session(definition(), tmp_path / "nowhere" / "run.h5")
    (tmp_path / "run.h5").touch()
    with pytest.raises(RefusedError, match="exists"):
        halfreal.Session(definition(), tmp_path / "run.h5")
    with pytest.raises(RefusedError, match=r"no \[link\] to a rig"):
        halfreal.Session(definition(link=None), tmp_path / "other.h5")
