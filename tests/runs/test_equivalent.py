"""Laws without a slope at rest are judged at the amplitudes of the rehearsal; memory of users' laws is no pole."""

import math

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import C, K, M, definition
from halfreal.runs.equivalent import unstable_below
from halfreal.runs.loop_stability import linearised, loop_stability
from halfreal.studies.tuning.plant import rig_response

CODE = """
def power(p, s, t, u, y):
    y[0] = p.k * u[0]
    if u[1] != 0.0:
        y[0] += p.c * abs(u[1]) ** p.a * (1.0 if u[1] > 0.0 else -1.0)
    return 0

def slide(p, s, t, u, y):
    y[0] = p.k * u[0] + (p.c if u[1] >= 0.0 else -p.c)
    return 0

def slip(p, s, t, u, y):
    force = p.k * (u[0] - s.offset)
    if abs(force) > p.c:
        s.offset = u[0] - (p.c if force > 0.0 else -p.c) / p.k
        force = p.k * (u[0] - s.offset)
    y[0] = force
    return 0
"""


@pytest.fixture
def made_of(tmp_path):
    (tmp_path / "laws.py").write_text(CODE)

    def made(function: str, numbers: dict, state: dict | None = None, **more):
        specimen = {
            "kind": "user",
            "function": f"{tmp_path / 'laws.py'}:{function}",
            "parameters": numbers,
            "state": state or {},
        }
        rig = {"actuator": {"delay": 1e-3}, "specimen": specimen}
        return definition(rig=rig, reference=None, timing={"step": 1e-3, "duration": 8.0}, **more)

    return made


def steady(test):
    """Amplitude of the rig's velocity once the start has died out [m/s]."""
    run = halfreal.rehearse(test)
    return float(np.sqrt(2.0 * np.mean(run.signals["rig.velocity"].values[-4000:] ** 2)))


@pytest.mark.parametrize("exponent", [0.4, 0.0])
def test_steep_damper_is_judged_as_the_viscous_one_that_takes_out_the_same_energy(made_of, exponent):
    """Of a sine of amplitude V, c |v|^a is worth c V^(a−1) · 2 Γ(1 + a/2) / (√π Γ((3 + a)/2))."""
    test = made_of("power", {"k": 100.0, "c": 2.0, "a": exponent})
    worth = 2.0 * math.gamma(1 + exponent / 2) / (math.sqrt(math.pi) * math.gamma((3 + exponent) / 2))
    viscous = 2.0 * steady(test) ** (exponent - 1.0) * worth
    expected = linearised(made_of("power", {"k": 100.0, "c": viscous, "a": 1.0})).continuous[0].real
    assert linearised(test).continuous[0].real == pytest.approx(expected, rel=0.15)  # the start counts too
    told = " ".join(loop_stability(test).caveats)
    assert "no slope at rest" in told and "block 'specimen' at rig.velocity" in told


def test_small_amplitudes_of_a_steep_damper_are_told_where_they_do_not_come_to_rest(made_of):
    """Friction is worth ever more viscous damping in ever smaller motion, and a delayed one drives the loop there."""
    test = made_of("power", {"k": 100.0, "c": 2.0, "a": 0.0})
    below = unstable_below(test)
    assert below is not None
    assert "may not come to rest" in " ".join(loop_stability(test).caveats)
    free = halfreal.rehearse(made_of("power", {"k": 100.0, "c": 2.0, "a": 0.0}, excitation={}, virtual=kicked()))
    kept = np.abs(free.signals["rig.velocity"].values[-1000:]).max()
    assert 0.1 * below * steady(test) < kept < 10.0 * below * steady(test)


def test_friction_that_pushes_at_rest_is_judged_as_that_which_does_not(made_of):
    """It moves the closed loop, which has slopes there, and stands in the cut one, which has none."""
    one, other = (loop_stability(made_of(name, {"k": 100.0, "c": 1.0, "a": 0.0})) for name in ("slide", "power"))
    assert one.linearisation.equivalent and one.margin is not None and not one.margin_unknown
    assert one.linearisation.spectral_radius == pytest.approx(other.linearisation.spectral_radius, rel=1e-3)
    assert one.margin.gain_margin_db == pytest.approx(other.margin.gain_margin_db, rel=0.1)


def kicked():
    """The virtual part, which starts with a velocity."""
    support = {"stiffness": K, "damping": C}
    return {"mass": M, "damping": C, "stiffness": K, "support": support, "initial_velocity": [0.05]}


def test_offset_of_a_users_law_is_memory_and_the_answer_that_of_the_built_in_law(made_of):
    test = made_of("slip", {"k": 1000.0, "c": 1.0}, {"offset": 0.0})
    law = {"kind": "elastoplastic", "stiffness": 1000.0, "yield_force": 1.0}
    rig = {"actuator": {"delay": 1e-3}, "specimen": {"elements": [{"between": [1], "law": law}]}}
    own, theirs = (loop_stability(one) for one in (definition(rig=rig, reference=None), test))
    assert theirs.linearisation.memory == ("specimen.offset",)
    assert theirs.linearisation.spectral_radius == pytest.approx(own.linearisation.spectral_radius, rel=1e-9)
    assert theirs.margin is not None and own.margin is not None
    assert theirs.margin.critical_delay == pytest.approx(own.margin.critical_delay, rel=1e-6)


def test_a_rig_with_friction_has_a_response_that_couplings_can_be_fitted_to(made_of):
    """A delay of one step, of which a coupling knows half: remedies of a check and ``tune`` invert that."""
    test = made_of("power", {"k": 100.0, "c": 2.0, "a": 0.0})
    motion = np.sin(2 * np.pi * 3.0 * np.arange(8000) * 1e-3)
    assert rig_response(test, motion).lag == pytest.approx(0.5e-3, rel=1e-3)
