"""Actuators that are programs: an FMU against our own actuator, a library against a user's function."""

import math

import numpy as np
import pytest

import halfreal
from contracts.native import COMPILER, NO_COMPILER, an_fmu, of_functions
from examples.wallace2005 import GALLERY
from halfreal.definition.paths import with_values
from halfreal.errors import HalfrealError

pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)
HZ, DAMPING = 40.0, 0.7
LAG = """def step(p, s, t, u, y):
    s.x += p.dt / p.lag * (u[0] - s.x)
    y[0] = s.x
    y[1] = (u[0] - s.x) / p.lag
    y[2] = -y[1] / p.lag
    return 0
"""


def moved_by(actuator, **changes):
    base = halfreal.load(GALLERY / "forward_prediction.toml")
    given = {"timing.duration": 0.5, "reference": None, "coupling.prediction": 6e-3, "rig.actuator": actuator}
    return with_values(base, {**given, **changes})


def moved(test, *names):
    run = halfreal.rehearse(test)
    assert run.outcome == "completed"
    return np.array([run.signals[name].values for name in (*names, "measured.displacement", "measured.force")])


def fmu(**outputs):
    omega = 2 * math.pi * HZ
    return {
        "kind": "fmu",
        "fmu": str(an_fmu("rig")),
        "type": "model exchange",
        "inputs": {"command": "excitation"},
        "outputs": {"displacement": "x", **outputs},
        "parameters": {"m": omega**-2, "c": 2 * DAMPING / omega, "k": 1.0},
        "substeps": 8,
    }


def test_an_fmu_is_our_own_second_order_actuator():
    """m x¨ + c x˙ + x = c with lines between commands: only the integration differs."""
    pytest.importorskip("fmpy", reason="needs the extra fmi")
    own = {"kind": "second order", "frequency": HZ, "damping": DAMPING, "reconstruction": "linear"}
    ours, theirs = (moved(moved_by(one), "rig.velocity") for one in (own, fmu()))
    for name, a, b in zip(("velocity", "displacement", "force"), ours, theirs, strict=True):
        off = np.abs(a - b).max() / np.abs(a).max()
        assert off < (0.05 if name == "velocity" else 1e-6), name  # the velocity from differences


def test_a_library_is_the_users_function(tmp_path):
    (tmp_path / "lag.py").write_text(LAG)
    library = {"kind": "library", "function": f"{of_functions()}:actuator", "parameters": {"lag": 5e-3}}
    user = {"kind": "user", "function": f"{tmp_path / 'lag.py'}:step", "parameters": {"lag": 5e-3}}
    found = [
        moved(moved_by({**one, "state": state}), "rig.acceleration")
        for one, state in ((library, {"x": 0.0}), (user, {"x": 0.0}))
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    assert found[0][2].any()


def test_the_check_measures_its_lag_and_says_that_it_is_a_program(tmp_path):
    (tmp_path / "lag.py").write_text(LAG)
    user = {"kind": "user", "function": f"{tmp_path / 'lag.py'}:step", "parameters": {"lag": 5e-3}, "state": {"x": 0.0}}
    test = moved_by(user)
    found = halfreal.check(test, remedies=False)
    assert found.verdict in ("GO", "MARGINAL") and "a user's function" in " ".join(test.rig.nonlinearities)
    text = " ".join(found.reasons)
    assert "this test runs lag.py" in text
    with pytest.raises(HalfrealError, match="actuator is a program without a model"):
        test.rig.follower(1e-3)
