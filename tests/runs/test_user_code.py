"""Functions of users in whole tests: what goes wrong is an answer, and what has changed acts."""

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import definition
from halfreal.kernels.prepared import RanAwayError
from halfreal.runs.build import plant

CODE = """
import law

def coupling(p, s, t, u, y):
    error = u[0] if t < p.when else 1.0
    while error > 0.5:
        error = 1.0 / error
    y[0] = u[0]
    return 0

def specimen(p, s, t, u, y):
    left = 0.0 if t < p.when else 1.0
    while left > 0.0:
        left = 1.0 / left
    y[0] = law.STIFFNESS * u[0]
    return 0

def index(p, s, t, u, y):
    y[int(t / p.when)] = u[0]
    return 0

def status(p, s, t, u, y):
    y[0] = u[0]
    return -3 if t >= p.when else 0
"""
SHORT = {"timing": {"step": 1e-3, "duration": 0.3}, "reference": None}


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(CODE)
    (tmp_path / "law.py").write_text("STIFFNESS = 2000.0\n")

    def part(name: str, when: float = 0.1) -> dict:
        return {"kind": "user", "function": f"{tmp_path / 'mine.py'}:{name}", "parameters": {"when": when}}

    return part


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("coupling", "block 'coupling': its loops did not end within 100,000,000 passes in one call"),
        (
            "index",
            "block 'coupling': 'index' (mine.py, line 18) raised IndexError: index 1 is out of "
            "bounds for axis 0 with size 1 at mine.py, line 19",
        ),
        (
            "status",
            "block 'coupling': 'status' (mine.py, line 22) returned -3; return 0 for success, or an integer "
            "from 1 to 997 as a fault",
        ),
    ],
)
def test_a_coupling_that_goes_wrong_in_the_middle_trips_the_rehearsal_in_its_tick(mine, name, words):
    run = halfreal.rehearse(definition(coupling=mine(name), delay=2e-3, **SHORT))
    assert (run.outcome, run.reason) == ("tripped", words)
    assert [event.time for event in run.events if event.text.startswith("trip")] == [pytest.approx(0.1)]


def test_a_specimen_that_does_not_end_ends_rehearsal_and_check_with_its_line(mine):
    rig = {"actuator": {"delay": 2e-3}, "specimen": mine("specimen")}
    for command in (halfreal.rehearse, halfreal.check):
        with pytest.raises(RanAwayError, match=r"block 'specimen': .* in tick 99; .* 'specimen' \(mine.py, line 11\)"):
            command(definition(rig=rig, **SHORT))


def test_what_is_kept_of_a_definition_follows_the_code_that_it_names(mine, tmp_path):
    rig = {"actuator": {"delay": 2e-3}, "specimen": mine("specimen", when=1e9)}
    test, omega = definition(rig=rig, **SHORT), np.array([10.0])
    soft = plant(test).response(omega)
    assert plant(test).response(omega) == soft
    (tmp_path / "law.py").write_text("STIFFNESS = 3000.0\n")
    assert abs(plant(test).response(omega) - soft) > 1e-3 * abs(soft)
