"""The go/no-go answer: margins of the loop that runs, limits in the rehearsal, remedies that work."""

import re
from dataclasses import replace

import numpy as np
import pytest

import halfreal
from examples.shaking_table_rod import study
from examples.wallace2005 import DELAY, GALLERY, KS, M, critical_delay, definition, linearised
from halfreal.definition.paths import with_values
from halfreal.presentation import html
from halfreal.presentation.wording import in_time
from halfreal.rigs.table_check import limits_beyond_strokes
from halfreal.runs.loop_stability import margin_of
from halfreal.studies.check.criteria.acceptance import of_gain
from halfreal.studies.check.criteria.gain import specimen_with
from halfreal.studies.check.criteria.reach import out_of_reach, shares
from halfreal.studies.check.criteria.sampling import sampling
from halfreal.studies.check.examined import Examined
from halfreal.studies.check.influence import Influence
from halfreal.studies.check.nonlinear import scaled
from presentation.pages import Page

ROD = study.HERE / "rod.toml"
PREDICTED = {"kind": "forward prediction", "prediction": DELAY, "order": 3, "points": 12}


def test_wallace2005_critical_delay_of_the_loop_that_runs():
    """6.7707 ms at a step of 1 ms, tending to 6.76955 ms; just below it is stable, just above it is not."""
    errors = []
    for step in (1e-3, 5e-4):
        critical = halfreal.check(definition(step=step)).stability.critical_delay
        assert critical is not None
        assert linearised(definition(step=step, delay=critical - 2e-6)).stable
        assert not linearised(definition(step=step, delay=critical + 2e-6)).stable
        errors.append(critical - critical_delay())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_delay_margin_of_a_compensated_loop_is_the_delay_at_which_it_loses_stability():
    answer = halfreal.check(definition(coupling=PREDICTED))
    assert answer.verdict == "GO"
    critical = answer.stability.rig_lag + answer.stability.margin.critical_delay
    # the rig's reconstruction is not an ideal delay at 1 ms: that is its share
    assert linearised(definition(coupling=PREDICTED, delay=critical - 2e-5)).stable
    assert not linearised(definition(coupling=PREDICTED, delay=critical + 2e-5)).stable


def test_the_delay_equation_and_the_loop_that_runs_agree():
    answer = halfreal.check(definition(coupling=PREDICTED))
    equation = answer.rehearsal.stability.continuous
    assert equation.verdict == "stable"
    assert np.abs(answer.linearisation.continuous / equation.root - 1.0).min() < 1e-4
    assert equation.delay_margin == pytest.approx(answer.stability.margin.critical_delay, rel=1e-3)
    page = Page(html.render(answer.rehearsal)).text
    assert "delay equation" in page and page.count(in_time(equation.delay_margin)) > 1
    assert halfreal.check(definition()).rehearsal.stability.continuous.delay_margin is None  # it is unstable


def test_a_step_that_decides_on_stability_is_told():
    """A delay between that of the equation, 6.7696 ms, and that of the loop at a step of 1 ms, 6.7707 ms."""
    test = definition(delay=6.7701e-3)
    assert linearised(test).stable
    assert any("delay equation in continuous time is unstable" in reason for reason in halfreal.check(test).reasons)


def test_gain_margin_is_the_factor_on_the_specimens_stiffness():
    answer = halfreal.check(definition(coupling=PREDICTED))
    assert answer.stability.margin is not None
    factor = 10 ** (answer.stability.margin.gain_margin_db / 20)
    for share, stable in ((0.99, True), (1.01, False)):
        rig = {
            "actuator": {"delay": DELAY, "reconstruction": "cubic"},
            "specimen": {"stiffness": share * factor * KS},
        }
        assert linearised(definition(coupling=PREDICTED, rig=rig)).stable == stable


def test_unstable_loop_is_no_go_with_a_prediction_that_cures_it():
    answer = halfreal.check(definition(limits={"gap": {"trip": 0.005}}))
    assert answer.verdict == "NO-GO"
    assert any("the rig lags by 9.4 ms" in reason for reason in answer.reasons)
    assert any("rehearsal tripped" in reason and "gap" in reason for reason in answer.reasons)
    assert any("forward prediction (order 3, 12 points) by 4.7 ms to 12.9 ms" in remedy for remedy in answer.remedies)


def test_stable_loop_that_trips_is_no_go():
    answer = halfreal.check(definition(coupling=PREDICTED, limits={"force": {"trip": 5.0}}))
    assert answer.verdict == "NO-GO"
    assert answer.linearisation.stable
    assert any("measured.force" in reason for reason in answer.reasons)
    assert "smaller excitation" in answer.remedies[0]


def test_limits_used_are_the_peaks_of_the_rehearsal():
    answer = halfreal.check(definition(coupling=PREDICTED, limits={"command": {"trip": 0.02}, "force": {"trip": 45.0}}))
    force = np.abs(answer.rehearsal.signals["measured.force"].values).max()
    assert answer.rehearsal.limits_used["measured.force"] == pytest.approx(force / 45.0)
    assert any("closest:" in reason for reason in answer.reasons)


def test_step_that_is_too_long_is_told_with_one_that_is_not():
    """A rig without delay of its own is still late by one step: at 10 ms that is too much, at 5 ms it is not."""
    test = definition(step=0.01, delay=0.0)
    answer = halfreal.check(test)
    assert answer.verdict == "NO-GO"
    assert "a step of 1 ms or 2 ms: the test is a GO with it" in answer.remedies
    assert halfreal.check(with_values(test, {"timing.step": 0.005})).linearisation.stable


def test_nonlinear_loop_is_said_to_be_judged_along_its_rehearsal():
    saturating = {"elements": [{"between": [1], "law": {"kind": "bilinear", "stiffness": KS, "limit": 0.003}}]}
    rig = {"actuator": {"delay": 5e-3, "reconstruction": "cubic"}, "specimen": saturating}
    answer = halfreal.check(definition(rig=rig))
    assert answer.nonlinear is not None
    assert any("operating points" in reason for reason in answer.reasons)


def test_adaptive_loop_is_said_to_be_judged_at_its_start():
    answer = halfreal.check(definition(coupling={"kind": "adaptive forward prediction", "prediction": 0.0}))
    assert not answer.stable
    assert answer.verdict == "GO"
    assert any("the coupling adapts in time" in one.text for one in answer.findings if one.severity == "warning")


def test_two_axis_loop_has_margins_too():
    virtual = {
        "mass": [[2.0, 0.0], [0.0, 3.0]],
        "stiffness": [[5000.0, -2000.0], [-2000.0, 4000.0]],
        "modal_damping": [0.05],
        "interface": [1, 2],
        "force_dof": 2,
    }
    specimen = {"stiffness": [[1500.0, -500.0], [-500.0, 800.0]]}
    rig = {"actuator": {"delay": 1e-3, "reconstruction": "cubic"}, "specimen": specimen}
    excitation = {"virtual": {"kind": "sine", "force": 10.0, "frequency": 2.0}}
    test = definition(virtual=virtual, rig=rig, excitation=excitation)
    answer = halfreal.check(test)
    critical = answer.stability.critical_delay
    assert critical is not None and answer.stability.margin is not None
    factor = 10 ** (answer.stability.margin.gain_margin_db / 20)
    for share, stable in ((0.99, True), (1.01, False)):
        stiffer = {"stiffness": share * factor * np.array(specimen["stiffness"])}
        stiff = definition(virtual=virtual, rig={**rig, "specimen": stiffer}, excitation=excitation)
        assert linearised(stiff).stable == stable
    for delay, stable in ((critical - 1e-4, True), (critical + 1e-4, False)):
        assert linearised(with_values(test, {"rig.actuator.delay": delay})).stable == stable


def test_limits_used_do_not_depend_on_what_is_recorded():
    limits = {"command": {"trip": 0.02}, "command_rate": {"trip": 2.0}}
    full, sparse = (
        halfreal.check(definition(coupling=PREDICTED, limits=limits, record=record)).rehearsal.limits_used
        for record in ({}, {"channels": ["target"], "every": 333})
    )
    assert full == sparse
    assert set(full) == {"command.asked", "command rate"}


@pytest.mark.parametrize("delay", [2.5e-3, 9.4e-3])
def test_critical_delay_of_a_held_command_is_a_whole_number_of_steps(delay):
    """A staircase is late by whole steps: with 1 ms the loop loses stability just above 6 ms."""
    rig = {"actuator": {"delay": delay, "reconstruction": "hold"}, "specimen": {"stiffness": KS}}
    test = definition(rig=rig)
    assert halfreal.check(test).stability.critical_delay == pytest.approx(6e-3, abs=1e-12)
    assert linearised(with_values(test, {"rig.actuator.delay": 5.999e-3})).stable
    assert not linearised(with_values(test, {"rig.actuator.delay": 6.001e-3})).stable


def test_check_rehearsal_and_record_have_one_verdict():
    for test in (
        definition(coupling={"kind": "none"}),
        definition(coupling=PREDICTED, uncertainty={"rig.actuator.delay": {"low": "8 ms", "high": "20 ms"}}),
    ):
        answer = halfreal.check(test)
        assert answer.verdict == answer.rehearsal.verdict == "NO-GO"
        assert answer.rehearsal.reasons == answer.reasons
        assert answer.rehearsal.remedies == answer.remedies


def test_nonlinear_checks_of_tests_that_trip_at_once_or_last_three_ticks_are_answered():
    saturating = {"elements": [{"between": [1], "law": {"kind": "bilinear", "stiffness": KS, "limit": 0.003}}]}
    rig = {"actuator": {"delay": 5e-3, "reconstruction": "cubic"}, "specimen": saturating}
    assert halfreal.check(definition(rig=rig, limits={"force": {"trip": 1e-6}})).verdict == "NO-GO"
    assert halfreal.check(definition(rig=rig, timing={"step": 1e-3, "duration": 3e-3})).verdict == "MARGINAL"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"timing": {"step": 1e-6, "duration": 1e9}}, "shorten the test"),
        ({"rig": {"actuator": {"delay": 11.0}, "specimen": {"stiffness": KS}}}, "steps, more than 2000"),
        ({"title": "nul\x00"}, "control character"),
    ],
)
def test_what_no_computer_bears_is_refused_at_once(more, told):
    with pytest.raises(ValueError, match=told):
        definition(**more)


def test_a_small_gain_margin_is_told_below_its_limit_and_by_what_the_coupling_does():
    margin = halfreal.check(definition(coupling=PREDICTED)).stability.margin
    near = replace(margin, gains=np.array([10 ** (2.9996 / 20)]))
    (told,) = of_gain(definition(coupling=PREDICTED), near)
    assert "gain margin 2.99 dB, required 3 dB" in told.text and "a shorter prediction" in told.text
    (told,) = of_gain(definition(), near)
    assert "predict" not in told.text and "a lighter or softer specimen" in told.text


def test_where_nothing_else_helps_the_size_of_the_specimen_is_told():
    """A mass twice as heavy as the virtual one: unstable with any delay, and stable with the share of it told."""

    def with_mass(mass):
        actuator = {"delay": 1e-3, "reconstruction": "cubic"}
        return definition(rig={"actuator": actuator, "specimen": {"stiffness": 0.0, "mass": mass}})

    answer = halfreal.check(with_mass(2 * M))
    assert answer.verdict == "NO-GO"
    told, tune = answer.remedies
    assert tune.startswith("'halfreal tune'")
    share = float(re.search(r"a specimen with ([\d.]+) % of the mass", told)[1]) / 100
    for factor, stable in ((1.0, True), (1.0 / 0.85, False)):
        assert linearised(with_mass(2 * M * factor * share)).stable == stable


def test_excitations_that_the_step_does_not_carry_and_limits_beyond_a_stroke_are_told():
    def warned(**random):
        kind = {"kind": "random", "displacement": 0.01, "frequency": 1.0, "to": 40.0, "period": 1.0, **random}
        return [finding.text for finding in sampling(Examined(definition(excitation={"virtual": kind})))]

    assert warned() == []
    assert "16.0004 s, i.e. 16000.4 steps" in warned(period=16.0004)[0]
    assert "reaches 600 Hz, but a step of 1 ms resolves less than 500 Hz" in warned(to=600.0)[0]
    with pytest.raises(ValueError, match=r"9584 lines .* end at 63.5 Hz or below, or repeat after 1.669 s"):
        warned(to=600.0, period=16.0)
    table = halfreal.load(ROD)
    assert list(limits_beyond_strokes(table.rig, table)) == []
    (told,) = limits_beyond_strokes(table.rig, with_values(table, {"limits.command.trip": 0.3}))
    assert "axis x to reach 300 mm" in told.text and "end stop (50 mm) at 50 mm" in told.text


def test_a_motion_that_the_rig_cannot_make_is_no_go():
    gallery = halfreal.load(GALLERY / "forward_prediction.toml")
    actuator = gallery.rig.actuator.model_copy(update={"stroke": 3e-3})
    small = gallery.model_copy(update={"rig": gallery.rig.model_copy(update={"actuator": actuator})})
    answer = halfreal.check(small.model_copy(update={"limits": type(gallery.limits)()}))
    assert answer.rehearsal.outcome == "completed" and answer.linearisation.stable
    assert answer.verdict == "NO-GO" and "the actuator's stroke is 3 mm" in " ".join(answer.reasons)
    assert answer.binding.startswith("reach of the rig")
    (told,) = (remedy for remedy in answer.remedies if "within the rig's reach" in remedy)
    factor = float(re.search(r"([\d.]+) times this one", told)[1])
    assert out_of_reach(scaled(small, factor)) == [] != out_of_reach(scaled(small, 1.02 * factor))


def test_a_motion_that_the_rig_cannot_make_is_no_go_without_a_reference_too():
    gallery = halfreal.load(GALLERY / "forward_prediction.toml")
    nothing = {"limits": {}, "reference": None, "acceptance": {"synchronisation": "none"}}
    small = with_values(gallery, {"rig.actuator.stroke": 3e-3, **nothing})
    answer = halfreal.check(small)
    assert answer.verdict == "NO-GO"
    needed = 1e3 * np.abs(answer.rehearsal.signals["target"].values).max()
    assert f"the actuator's stroke is 3 mm, but the rehearsal needs {needed:.4g} mm" in " ".join(answer.reasons)
    (told,) = (remedy for remedy in answer.remedies if "within the rig's reach" in remedy)
    factor = float(re.search(r"([\d.]+) times this one", told)[1])
    assert shares(scaled(small, factor)) <= [1.0] < shares(scaled(small, 1.02 * factor))


def test_numbers_that_the_binding_margin_depends_on_are_those_of_brute_force():
    """A specimen 1 % stiffer takes 20 log 1.01 dB of the gain margin; damping is changed by hand."""
    test = definition(delay=4e-3, reference=None)
    answer = halfreal.check(test, remedies=False, influences=True)
    margin = answer.stability.margin.gain_margin_db
    assert answer.binding.startswith("gain of the loop")
    shares = {one.place: one.share for one in answer.influences}
    assert shares["rig.specimen.stiffness"] == pytest.approx(-20.0 * np.log10(1.01) / margin / 0.01, rel=1e-3)
    damped = margin_of(test.with_values({"virtual.damping": 1.01 * test.virtual.damping.item()})).gain_margin_db
    assert shares["virtual.damping"] == pytest.approx((damped / margin - 1.0) / 0.01, rel=1e-6)
    assert halfreal.check(test, remedies=False).influences == ()


@pytest.mark.parametrize(
    ("share", "text"), [(0.0123, "+0.012 %"), (0.9, "+0.9 %"), (-12.6, "-13 %"), (132.0, "+130 %"), (-99.7, "-100 %")]
)
def test_influences_are_written_without_exponents(share, text):
    assert str(Influence("virtual.mass", share)) == f"virtual.mass: {text} for 1 %"


def test_a_specimen_of_nearly_twice_the_stiffness_is_100_percent_stiffer():
    assert specimen_with(definition(), 1.998) == "a specimen 100 % stiffer or heavier"


def test_no_remedy_is_a_specimen_of_nearly_nothing():
    test = definition(coupling=PREDICTED, acceptance={"gain_margin": 200.0})
    found = halfreal.check(test)
    assert found.verdict == "MARGINAL"
    assert not any("of the mass and stiffness" in one for one in found.remedies)
