"""The rig's lag, measured on the code that runs, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import definition
from halfreal.runs.loop_stability import loop_stability

STEP = 1e-3


def lag_of(rig, **more):
    found = loop_stability(definition(rig={"specimen": {"stiffness": 2250.0}, **rig}, **more)).lag
    assert found is not None
    return found


def test_the_lag_of_a_second_order_actuator_is_twice_its_damping_over_its_frequency_and_its_delay():
    """2ζ/ω₀ in slow motion; at ω the phase of 1/(1 − (ω/ω₀)² + 2ζjω/ω₀)."""
    omega, zeta, delay = 2 * np.pi * 20.0, 0.7, 3e-3
    found = lag_of({"actuator": {"kind": "second order", "frequency": 20.0, "damping": zeta, "delay": delay}})
    assert found.latest() == (pytest.approx(delay + 2 * zeta / omega, rel=2e-3), "")
    at = 2 * np.pi * 15.0
    due = delay + np.arctan2(2 * zeta * at / omega, 1.0 - (at / omega) ** 2) / at
    assert found.latest(15.0)[0] == pytest.approx(due, rel=5e-3)
    beyond = 2 * np.pi * 40.0  # where the phase is beyond −180° and wraps
    due = delay + np.arctan2(2 * zeta * beyond / omega, 1.0 - (beyond / omega) ** 2) / beyond
    assert found.at(beyond)[0] == pytest.approx(due, rel=2e-2)


@pytest.mark.parametrize(
    ("actuator", "due"),
    [
        ({"delay": 7e-3, "reconstruction": "cubic"}, 7e-3),
        ({"delay": 2.5e-3, "reconstruction": "hold"}, 3e-3),  # late by whole steps
        ({"kind": "first order", "time_constant": 5e-3, "delay": 4e-3}, 9e-3),
    ],
)
def test_a_delay_a_staircase_and_a_first_order_lag_are_told_as_they_are(actuator, due):
    assert lag_of({"actuator": actuator}).latest()[0] == pytest.approx(due, abs=0.02e-3)


def test_the_force_sensor_is_part_of_the_lag_and_the_displacement_sensor_is_not():
    sensors = {"force": {"delay": 2e-3}, "displacement": {"delay": 5e-3}}
    found = lag_of({"actuator": {"delay": 6e-3, "reconstruction": "cubic"}, "sensors": sensors})
    assert found.latest()[0] == pytest.approx(8e-3, rel=1e-6)
    assert found.latest(4.0)[0] == pytest.approx(8e-3, rel=1e-2)


def test_each_axis_has_its_own_and_the_slowest_is_named(tmp_path):
    """A rig of a user's: two first-order lags of 3 and 8 ms, behind commands that are mixed."""
    (tmp_path / "rig.py").write_text(
        "import numpy as np\n"
        "def step(p, s, t, u, y):\n"
        "    for i in range(2):\n"
        "        s.x[i] += (1.0 - np.exp(-p.dt / p.lag[i])) * (u[i] - s.x[i])\n"
        "        y[i] = s.x[i]\n"
        "        y[2 + i] = 50.0 * s.x[i]\n"
        "    return 0\n"
    )
    rig = {
        "kind": "user",
        "function": str(tmp_path / "rig.py") + ":step",
        "parameters": {"lag": [3e-3, 8e-3]},
        "state": {"x": [0.0, 0.0]},
    }
    virtual = {
        "mass": [[2.0, 0.0], [0.0, 2.0]],
        "damping": [[20.0, 0.0], [0.0, 20.0]],
        "stiffness": [[4000.0, -1000.0], [-1000.0, 3000.0]],
        "interface": [1, 2],
    }
    test = halfreal.Definition.model_validate(
        {
            "title": "two axes",
            "axes": ["x", "y"],
            "timing": {"step": STEP, "duration": 1.0},
            "virtual": virtual,
            "rig": rig,
        }
    )
    found = loop_stability(test)
    late, axis = found.lag.latest()
    held = [STEP / (1.0 - np.exp(-STEP / one)) for one in (3e-3, 8e-3)]  # of the recursion, whose input is held
    np.testing.assert_allclose(found.lag.slow, held, rtol=1e-6)
    assert (late, axis) == (pytest.approx(held[1]), "y")
    assert found.critical_delay is None  # nothing is known that would be ideal in its place


def test_the_same_lag_of_two_kinds_of_rig_gets_the_same_words():
    texts = []
    for actuator in ({"delay": 2e-3, "reconstruction": "cubic"}, {"kind": "first order", "time_constant": 2e-3}):
        answer = halfreal.check(
            definition(
                rig={"actuator": actuator, "specimen": {"stiffness": 2250.0}}, timing={"step": STEP, "duration": 2.0}
            ),
            remedies=False,
        )
        texts.append(next(reason for reason in answer.reasons if "additional delay" in reason))
        assert "of the rig's lag of" in texts[-1]
    assert texts[0].split(" % of")[1][:18] == texts[1].split(" % of")[1][:18]
