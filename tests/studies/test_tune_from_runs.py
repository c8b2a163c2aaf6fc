"""Tables corrected by what was recorded: against P_id in closed form, and what is told where it cannot be done."""

import cmath
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halfreal
from examples.wallace2005 import GALLERY
from halfreal.errors import HalfrealError
from halfreal.presentation.tune_runs_text import as_numbers, as_text, figure
from halfreal.runs import LoopStability, linearised
from halfreal.runs.run import Event
from halfreal.stability.ideal_compensator import ideal_response
from halfreal.studies.tuning.from_runs import LARGEST, RIGHT, tune_from_runs

WING = GALLERY.parent / "strut_braced_wing"
HZ = [5.0, 8.0]
SHORT = {"excitation.specimen.frequencies": HZ, "excitation.specimen.dwell": "10 s", "timing.duration": "20 s"}
QUIET = {"rig.sensors.displacement": {}, "rig.sensors.force": {}}


def made_of(name="stepped_narrow", **coupling):
    found = halfreal.load(WING / f"{name}.toml").with_values(SHORT | QUIET)
    return found.with_values({"coupling": {"kind": "narrow band table", **coupling}}) if coupling else found


made_of.__test__ = False  # a test definition, not a test


def table(amplitudes, leads):
    return {"frequencies": HZ, "amplitudes": list(amplitudes), "leads": list(leads)}


def recorded(definition):
    return halfreal.rehearse(definition, stability=LoopStability(linearised(definition), None, None, ()))


@cache
def ideal():
    """P_id at the frequencies of the test."""
    test = made_of()
    step = test.timing.step
    return ideal_response(test.rig.follower(step), test.virtual.device(step), 2 * np.pi * np.array(HZ))


@cache
def wrong(part, late):
    """A test whose table is off by so much, and its record."""
    table_of = made_of().coupling.with_responses(
        made_of(), np.array(HZ), part * ideal() * np.exp(-2j * np.pi * np.array(HZ) * late)
    )
    definition = made_of(**table(table_of.amplitudes, table_of.leads))
    return definition, recorded(definition)


def test_a_secant_finds_the_ideal_compensator_without_a_model():
    definition, last = wrong(0.95, 0.5e-3)
    found = tune_from_runs(definition, [wrong(0.9, 1e-3)[1], last])
    assert {row.slope_from for row in found.rows} == {"two records"}
    np.testing.assert_allclose([row.after for row in found.rows], ideal(), rtol=2e-3)
    after = recorded(found.best)
    again = tune_from_runs(found.best, [last, after])
    for row, before in zip(again.rows, found.rows, strict=True):
        assert abs(1 - row.ratio) < 2e-3 < 0.1 * abs(1 - before.ratio)


def test_one_record_takes_the_slope_of_the_rigs_model_and_nothing_of_the_specimen():
    definition, record = wrong(0.9, 1e-3)
    found = tune_from_runs(definition, [record])
    assert {row.slope_from for row in found.rows} == {"the rig's model"}
    np.testing.assert_allclose([row.after for row in found.rows], ideal(), rtol=2e-3)
    heavy = definition.rig.specimen.unchecked_copy({"mass": 3.0 * definition.rig.specimen.mass})
    other = definition.unchecked_copy({"rig": definition.rig.unchecked_copy({"specimen": heavy})})
    told = tune_from_runs(other, [record])
    assert [row.after for row in told.rows] == [row.after for row in found.rows]
    assert "another [rig]" in told.notes[0]


def test_a_rig_without_a_model_takes_r_over_p_and_says_so():
    definition, record = wrong(0.95, 0.5e-3)

    class Silent(type(definition.rig)):
        def follower(self, step, shaker=None):
            raise HalfrealError("no model")

    silent = definition.unchecked_copy({"rig": Silent.model_construct(**dict(definition.rig))})
    found = tune_from_runs(silent, [record])
    for row in found.rows:
        assert row.slope == pytest.approx(row.ratio / row.before) and row.slope_from == "r/P" and math.isnan(row.left)
    assert any("does not load the rig" in line for line in as_text(found))


def test_large_steps_are_cut_and_told():
    bare = recorded(made_of("stepped_bare"))
    found = tune_from_runs(made_of(), [bare])
    for row in found.rows:
        assert row.before == pytest.approx(1.0, abs=1e-9)
        assert abs(row.after - row.before) == pytest.approx(LARGEST) and "step limited to 50 %" in row.note


def test_what_is_not_excited_cut_short_or_lost_in_noise_is_left_as_it_is():
    definition, record = wrong(0.9, 1e-3)
    wider = definition.with_values({"coupling.frequencies": [2.0, 8.0], "excitation.specimen.frequencies": [2.0, 8.0]})
    found = tune_from_runs(wider, [record])
    assert [(row.hz, row.after is None) for row in found.rows] == [(2.0, True), (5.0, False), (8.0, False)]
    assert "not excited" in found.rows[0].note
    assert found.best.coupling.amplitudes[0] == wider.coupling.amplitudes[0]
    tripped = replace(record, outcome="tripped", reason="a limit", events=(Event(17.0, "guard.cause", "a limit"),))
    short = tune_from_runs(definition, [tripped])
    assert [row.hz for row in short.rows if row.after is not None] == [5.0] and "tripped: a limit" in short.notes[0]
    moved, noise = record.signals["measured.displacement"], np.random.default_rng(1)
    loud = replace(moved, values=moved.values + 0.05 * noise.standard_normal(len(moved.values)))
    noisy = tune_from_runs(definition, [replace(record, signals={**record.signals, "measured.displacement": loud})])
    assert noisy.best is None and not noisy.right
    assert all(row.scatter > 0.1 and "too noisy: scatter" in row.note for row in noisy.rows)


def test_a_gust_that_passes_is_no_steady_sine():
    single = halfreal.load(WING / "single_gust.toml").with_values(QUIET)
    found = tune_from_runs(single.with_values({"coupling": {"kind": "narrow band table"}}), [recorded(single)])
    assert found.best is None and not found.right and "not steady" in found.rows[0].note


def test_two_records_of_one_table_do_not_tell_the_slope():
    definition, record = wrong(0.9, 1e-3)
    moved = record.signals["measured.displacement"]
    alike = replace(
        record, signals={**record.signals, "measured.displacement": replace(moved, values=1.0 * moved.values)}
    )
    found = tune_from_runs(definition, [record, alike])
    assert {row.slope_from for row in found.rows} == {"the rig's model"}


def test_wrong_records_are_refused():
    definition, record = wrong(0.9, 1e-3)
    with pytest.raises(HalfrealError, match=r"another \[virtual\]"):
        tune_from_runs(definition.with_values({"virtual.damping": 400.0}), [record])
    with pytest.raises(HalfrealError, match="has no table to correct"):
        tune_from_runs(made_of("stepped_broad"), [record])
    with pytest.raises(HalfrealError, match="one or two records, but 3 are given"):
        tune_from_runs(definition, [record] * 3)
    with pytest.raises(HalfrealError, match="ends before its first frequency"):
        tune_from_runs(definition, [replace(record, outcome="stopped", events=(Event(3.0, "guard.cause", "x"),))])


def test_the_answer_in_words_numbers_and_a_picture():
    definition, record = wrong(0.9, 1e-3)
    found = tune_from_runs(definition, [record])
    line = next(one for one in as_text(found) if one.startswith("     5 Hz"))
    amplitude = 100 * (abs(found.rows[0].ratio) - 1)
    assert f"{amplitude:+.2f} %" in line and f"{abs(ideal()[0]):.3f}" in line
    numbers = as_numbers(found)["frequencies"][0]
    assert numbers["compensator_after_phase_deg"] == pytest.approx(math.degrees(cmath.phase(found.rows[0].after)))
    assert len(figure(found).axes) == 3
    assert not found.right and found.best is not None and RIGHT not in line


@settings(max_examples=50, deadline=None)
@given(st.floats(0.3, 3.0), st.floats(-2.5, 0.6), st.sampled_from(HZ))
def test_a_corrected_table_realises_what_it_is_asked_for(amplitude, phase, hz):
    """Lags out of the buffer, leads by prediction, whose own gain is made up for."""
    wanted = amplitude * cmath.exp(1j * phase)
    given_table = made_of(**table([1.0, 1.0], [0.0, 0.0]))
    found = given_table.coupling.with_responses(given_table, np.array([hz]), np.array([wanted]))
    step = given_table.timing.step
    assert found.response(step, np.array([hz]))[0] == pytest.approx(wanted, rel=2e-5)
    other = int(hz == HZ[0])
    assert (found.amplitudes[other], found.leads[other]) == (1.0, 0.0)
