"""What a check says of free motion of nonlinear loops."""

import pytest

import halfreal
from examples.wallace2005 import definition
from studies.test_limit_cycles import HARDENING, SATURATING, nonlinear

SHORT = {"step": 1e-3, "duration": 6.0}
ONLY = {name: "none" for name in ("gain_margin", "phase_margin", "delay_margin", "synchronisation", "fidelity")}


def driven(millimetres):
    return {"virtual": {"kind": "sine", "displacement": 1e-3 * millimetres, "frequency": 1.5, "ramp": 2.0}}


def judged(law, delay, millimetres, **acceptance):
    test = nonlinear(
        law, delay, excitation=driven(millimetres), timing=SHORT, acceptance={**ONLY, **acceptance}, limits={}
    )
    return halfreal.check(test, remedies=False)


def test_softening_loop_is_a_no_go_that_stays_bounded():
    answer = judged(SATURATING, 8e-3, 2.0)
    assert answer.verdict == "NO-GO"
    assert any("stays bounded: it settles on a limit cycle of 5.41 mm at 6.82 Hz" in one for one in answer.reasons)


def test_hardening_loop_tells_where_it_diverges():
    answer = judged(HARDENING, 7e-3, 2.0)
    assert answer.verdict == "GO"
    assert any("free motion beyond 6 mm at 7.03" in one and "diverges: 4." in one for one in answer.reasons)
    assert answer.free_motion is not None and answer.free_motion.ratio == pytest.approx(4.7, rel=0.05)


def test_too_little_room_below_divergence_is_marginal_unless_that_is_accepted():
    close = judged(HARDENING, 7e-3, 7.0)
    assert close.verdict == "MARGINAL" and "accepted amplitude margin" in close.binding
    assert any("required: 2 times" in one for one in close.reasons)
    assert judged(HARDENING, 7e-3, 7.0, amplitude_margin=1.0).verdict == "GO"
    assert judged(HARDENING, 7e-3, 7.0, amplitude_margin="none").verdict == "GO"


def test_remedies_are_told():
    test = nonlinear(HARDENING, 7e-3, excitation=driven(7.0), timing=SHORT, acceptance=ONLY, limits={})
    assert any(one.startswith("a smaller excitation: about 0.6") for one in halfreal.check(test).remedies)


def test_unbounded_growth_is_told():
    answer = judged(HARDENING, 12e-3, 1.0)
    assert answer.verdict == "NO-GO" and any("settles on no limit cycle" in one for one in answer.reasons)


def test_linear_loops_are_not_searched():
    assert halfreal.check(definition(delay=3e-3, timing=SHORT), remedies=False).free_motion is None
