"""GO, MARGINAL and NO-GO: what is stable and below what the definition accepts, and what would bring it to a GO."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import DELAY, GALLERY, KS, M, definition
from halfreal.contracts.finding import Finding, binding, verdict
from halfreal.definition.paths import with_values
from halfreal.errors import HalfrealError
from halfreal.runs.ideal_phase import ideal_phase
from halfreal.runs.loop_stability import loop_stability
from halfreal.studies.check.criteria.rehearsal import rehearsal, remedies
from halfreal.studies.check.examined import Examined
from halfreal.studies.check.excitation_factor import largest_factor
from halfreal.studies.check.nonlinear import scaled

PREDICTED = {"kind": "forward prediction", "prediction": DELAY, "order": 3, "points": 12}
SHORT = {"step": 1e-3, "duration": 3.0}
ALL = ("gain_margin", "phase_margin", "delay_margin", "synchronisation", "fidelity", "limit_reserve")
NOTHING = dict.fromkeys(ALL, "none")


def below(answer):
    return [finding.name for finding in answer.findings if finding.severity == "marginal"]


def test_a_marginal_finding_is_between_a_no_go_and_a_warning_and_binds():
    low, wrong = Finding("marginal", "low", name="gain", room=0.0), Finding("no-go", "wrong", name="fault", room=0.0)
    close = Finding("note", "close", name="limit", room=0.0)
    assert verdict([low, close]) == "MARGINAL" and verdict([low, wrong]) == "NO-GO"
    assert low.reason == "below acceptance: low"
    assert binding([close, low]).startswith("gain") and binding([close, low, wrong]).startswith("fault")


def test_a_loop_near_its_critical_delay_is_marginal_and_a_prediction_brings_it_to_a_go():
    """6.5 of 6.77 ms: stable, with 4 % of further delay, which only the lag's own share tells."""
    test = definition(delay=6.5e-3, timing=SHORT)
    answer = halfreal.check(test)
    assert answer.verdict == answer.rehearsal.verdict == "MARGINAL" and answer.linearisation.stable
    assert {"accepted gain margin", "accepted phase margin", "accepted delay margin"} <= set(below(answer))
    assert answer.binding.startswith("accepted gain margin")
    assert "gain margin 3 dB" in next(reason for reason in answer.reasons if reason.startswith("acceptance criteria"))
    assert any(re.match(r"forward prediction .* the rig's lag of 6.5 ms: the test is a GO", r) for r in answer.remedies)
    cured = {"kind": "forward prediction", "prediction": 6.5e-3, "order": 3, "points": 12}
    assert halfreal.check(definition(delay=6.5e-3, timing=SHORT, coupling=cured)).verdict == "GO"


def test_what_a_definition_does_not_ask_for_is_not_judged():
    answer = halfreal.check(definition(delay=6.5e-3, timing=SHORT, acceptance=NOTHING))
    assert answer.verdict == "GO" and "[acceptance] sets no criteria" in answer.reasons
    strict = halfreal.check(definition(coupling=PREDICTED, timing=SHORT, acceptance={"gain_margin": 25.0}))
    assert strict.verdict == "MARGINAL" and below(strict) == ["accepted gain margin"]


def test_errors_of_the_rehearsal_are_judged_by_themselves():
    loose = {**NOTHING, "synchronisation": 0.01}
    answer = halfreal.check(definition(delay=3e-3, timing=SHORT, acceptance=loose))
    assert below(answer) == ["accepted synchronisation error"]
    (found,) = (finding for finding in answer.findings if finding.severity == "marginal")
    kept = answer.rehearsal
    gap = kept.signals["measured.displacement"].values - kept.signals["target"].values
    due = kept.signals["target"].values
    assert found.value == pytest.approx(np.linalg.norm(gap) / np.linalg.norm(due))


def test_a_small_gain_margin_is_judged_where_any_delay_is_borne():
    """A mass beside a virtual part that is heavily damped: the loop gain stays below 1, up to some mass."""

    def heavy(mass, gain_margin):
        return definition(
            virtual={"mass": M, "damping": 2000.0, "stiffness": 2250.0, "force_dof": 1},
            rig={"actuator": {"delay": 1e-3}, "specimen": {"stiffness": 0.0, "mass": mass}},
            excitation={"virtual": {"kind": "sine", "force": 10.0, "frequency": 1.5}},
            timing={"step": 1e-3, "duration": 0.5},
            acceptance={**NOTHING, "gain_margin": gain_margin},
        )

    light = halfreal.check(heavy(0.5 * M, 20.0), remedies=False)
    assert np.isinf(light.stability.margin.critical_delay) and light.verdict == "MARGINAL"
    most = 0.5 * M * 10.0 ** (light.stability.margin.gain_margin_db / 20.0)
    near = halfreal.check(heavy(0.99 * most, 3.0), remedies=False)
    assert near.stability.margin.gain_margin_db == pytest.approx(-20 * np.log10(0.99), rel=1e-3)
    assert near.verdict == "MARGINAL" and near.binding.startswith("accepted gain margin")
    assert any("a specimen 1 % stiffer or heavier makes the loop unstable" in reason for reason in near.reasons)


def test_a_structure_of_little_damping_is_asked_for_half_of_what_an_ideal_rig_would_leave():
    """Coupled at once to a spring, an undamped oscillator's margin is that of its damper: arg(k_s/(k − mω² + jcω))."""
    damper, stiff = 0.6, 500.0
    virtual = {"mass": M, "damping": damper, "stiffness": 2250.0, "force_dof": 1}
    rig = {"actuator": {"delay": 1e-3, "reconstruction": "cubic"}, "specimen": {"stiffness": stiff}}
    force = {"virtual": {"kind": "sine", "force": 10.0, "frequency": 1.5}}
    ahead = {"kind": "forward prediction", "prediction": 1e-3, "order": 2, "points": 4}
    test = definition(virtual=virtual, rig=rig, excitation=force, coupling=ahead, timing=SHORT)
    found = loop_stability(test)
    omega = np.sqrt((2250.0 + stiff) / M)
    due = np.degrees(np.arctan2(damper * omega, stiff))
    assert due < 5.0
    assert ideal_phase(test, found.margin, found.lag, smooth=False) == pytest.approx(due, rel=0.05)
    assert found.margin.phase_margin_deg == pytest.approx(due, rel=0.15)
    assert "accepted phase margin" not in below(halfreal.check(test, remedies=False))
    absolute = test.model_copy(update={"acceptance": {"phase_margin": 5.0}})
    assert "accepted phase margin" in below(halfreal.check(absolute, remedies=False))


def test_an_unstable_loop_on_any_rig_gets_a_coupling_that_was_tried():
    actuator = {"kind": "second order", "frequency": 20.0, "damping": 0.8, "delay": 1e-3}
    answer = halfreal.check(definition(rig={"actuator": actuator, "specimen": {"stiffness": KS}}, timing=SHORT))
    assert answer.verdict == "NO-GO"
    (inverse,) = (remedy for remedy in answer.remedies if remedy.startswith('the coupling "model inverse"'))
    coefficients = [float(value) for value in re.search(r"\[(.*)\]", inverse)[1].split(",")]
    assert coefficients[1] == pytest.approx(1e-3 + 1.6 / (2 * np.pi * 20.0), rel=0.1)
    cured = {"kind": "model inverse", "coefficients": coefficients}
    tried = halfreal.check(definition(rig=answer_rig(actuator), timing=SHORT, coupling=cured), remedies=False)
    assert tried.linearisation.stable and (tried.verdict == "GO") == inverse.endswith(": the test is a GO with it")
    assert answer.remedies[-1].startswith("'halfreal tune'")


def answer_rig(actuator):
    return {"actuator": actuator, "specimen": {"stiffness": KS}}


def test_where_a_limit_binds_the_excitation_that_keeps_it_is_told():
    limited = definition(coupling=PREDICTED, limits={"force": {"trip": 5.0}}, timing=SHORT)
    answer = halfreal.check(limited)
    assert answer.verdict == "NO-GO" and answer.binding.startswith("limit of measured.force")
    factor = float(re.search(r"([\d.]+) times this one", answer.remedies[0])[1])
    peaks = np.abs(halfreal.rehearse(definition(coupling=PREDICTED, timing=SHORT)).signals["measured.force"].values)
    assert factor == pytest.approx(5.0 / peaks.max(), rel=0.01)
    assert halfreal.rehearse(scaled(limited, factor)).outcome == "completed"
    assert halfreal.rehearse(scaled(limited, 1.02 * factor)).outcome == "tripped"


def test_the_factor_of_a_curved_answer_is_bisected_and_one_that_never_passes_is_none():
    found = largest_factor(lambda factor: (factor / 0.4) ** 3)
    assert found <= 0.4 and found == pytest.approx(0.4, rel=0.1)
    assert largest_factor(lambda factor: 2.0) is None


def test_a_fault_in_a_block_is_what_binds():
    answer = halfreal.check(definition(coupling=PREDICTED, timing=SHORT), remedies=False)
    examined = Examined(definition(coupling=PREDICTED, timing=SHORT), tries_remedies=False)
    broken = replace(
        answer.rehearsal,
        outcome="tripped",
        reason="block 'coupling': 'mine' (mine.py, line 3) returned 3, a user-defined fault",
    )
    examined.__dict__["rehearsal"] = broken
    (found,) = rehearsal(examined)
    assert found.name == "fault that ended the rehearsal" and found.room == 0.0
    assert binding([*answer.findings, found]).startswith("fault that ended the rehearsal")
    (told,) = remedies(examined)
    assert told.startswith("correct the function")


def test_margins_that_are_asked_for_and_not_known_are_no_go_ahead(monkeypatch):
    def unknown(*_):
        raise HalfrealError("too many crossings")

    monkeypatch.setattr("halfreal.runs.loop_stability.delay_margin", unknown)
    asked = definition(coupling=PREDICTED, timing=SHORT)
    answer = halfreal.check(asked, remedies=False)
    assert answer.verdict == "MARGINAL" and answer.binding.startswith("accepted margins")
    assert "margins are not known: too many crossings" in answer.reasons
    none = dict.fromkeys(("gain_margin", "phase_margin", "delay_margin"), "none")
    assert halfreal.check(with_values(asked, {"acceptance": none}), remedies=False).verdict == "GO"


def test_an_adaptive_coupling_is_judged_with_the_coefficients_that_it_reaches():
    """Started with twice the rig's delay it has a phase margin of 51°, and 19° once it has adapted."""
    path = GALLERY / "over_compensated.toml"
    found = halfreal.check(with_values(halfreal.load(path), {"acceptance.phase_margin": 40.0}), remedies=False)
    assert found.verdict == "MARGINAL" and found.stability.margin.phase_margin_deg > 50.0
    (short,) = [one for one in found.findings if one.severity == "marginal"]
    assert short.text.startswith("at the coefficients reached at t = ") and 15.0 < short.value < 25.0
