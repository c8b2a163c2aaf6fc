"""The coupling chosen for a test: a rig's measured response against closed forms, ranking, parts of the error."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import halfreal
from examples.wallace2005 import DELAY, GALLERY, definition
from halfreal.definition.load import from_toml, to_toml
from halfreal.errors import HalfrealError
from halfreal.presentation.tune_text import about, as_numbers, as_text
from halfreal.runs.loop_stability import loop_stability
from halfreal.studies.check.criteria.reach import out_of_reach
from halfreal.studies.tuning.bench import Bench, Outcome
from halfreal.studies.tuning.families import applies, harmonic, ideal_compensators, measured_rigs
from halfreal.studies.tuning.parts import integration, parts
from halfreal.studies.tuning.plant import rig_response
from halfreal.studies.tuning.search import Search
from halfreal.studies.tuning.tune import ALIKE, notes, rank, tune
from halfreal.vrths import problem as vrths

SHORT = vrths.Motion(vrths.motions()["synthetic"].excitation, 12.0)


@pytest.fixture(scope="module")
def frame():
    """Case 4 of the benchmark problem with its uncertain actuator and without a coupling."""
    uncertain = halfreal.load(vrths.GALLERY / "case_4_adaptive.toml").uncertainty
    found = vrths.with_motion(vrths.case(4), SHORT)
    return found.model_copy(update={"coupling": vrths.couplings()["none"], "uncertainty": uncertain})


@pytest.fixture(scope="module")
def uncompensated():
    return tune(halfreal.load(GALLERY / "uncompensated.toml").with_values({"title": "A test, tuned: with another"}))


# --- the rig ----------------------------------------------------------------------------------------------------------


def test_a_delays_inverse_is_the_taylor_series_of_its_prediction():
    bench = Bench(definition(), 0)
    found = rig_response(bench.nominal, bench.due[:, 0])
    late = DELAY - 0.5 * bench.nominal.timing.step  # the half step of a held command is not the rig's
    assert found.lag == pytest.approx(late, rel=1e-6)
    taylor = [late**i / math.factorial(i) for i in range(4)]
    np.testing.assert_allclose(found.inverse(3), taylor, rtol=1e-2)


def test_a_servo_hydraulic_rigs_response_is_that_of_its_model_with_a_command_that_is_held(frame):
    bench = Bench(frame, 0)
    found = rig_response(bench.nominal, bench.due[:, 0])
    exact = 1.0 / np.polyval(frame.rig.inverse(5)[::-1], 1j * found.omega)
    held = np.sinc(found.omega * frame.timing.step / (2 * np.pi))
    np.testing.assert_allclose(found.response, exact * held, rtol=2e-4)

    def left(inverse):
        powers = (1j * found.omega[:, None]) ** np.arange(len(inverse))
        return np.sum(found.power * np.abs(1.0 - found.response * (powers @ inverse)) ** 2)

    # the best inverse of third order follows this motion better than the model's own, cut off there
    assert left(found.inverse(3)) < left(frame.rig.inverse(3))


# --- what is found ----------------------------------------------------------------------------------------------------


def test_an_unstable_test_gets_a_coupling_that_checks_go(uncompensated, tmp_path):
    best = uncompensated.best
    assert best is not None and best.coupling.kind == "forward prediction"
    assert best.coupling.prediction == pytest.approx(DELAY, rel=0.02)
    assert best.title == "A test, tuned: forward prediction"
    assert 'prediction = "9.4 ms"' in to_toml(best)
    again = from_toml(to_toml(best), halfreal.Definition, folder=tmp_path)
    assert again == best
    assert halfreal.check(again).verdict == "GO"
    assert uncompensated.rows[0].nominal.error < 1e-3
    failed = next(row for row in uncompensated.rows if row.name == "none")
    assert failed is uncompensated.rows[-1] and "unstable" in failed.nominal.reason
    assert any("no uncertainty is stated" in note for note in uncompensated.notes)
    # the margin told is that of the definition written
    margin = loop_stability(best).margin
    assert uncompensated.rows[0].delay_margin == pytest.approx(margin.critical_delay)


def test_the_answer_in_words_and_numbers(uncompensated):
    lines = as_text(uncompensated)
    assert lines[1].split()[:3] == ["1", "forward", "prediction"]
    assert any("fails: unstable" in line for line in lines)
    assert {line.index(" dB") + 3 for line in lines if " dB " in line} == {lines[0].index("gain") + 4}
    assert any(line.startswith("Ranked by the first error. Differences up to 0.05 % are ignored") for line in lines)
    assert any("integration" in line for line in about(uncompensated.rows[0].parts))
    numbers = as_numbers(uncompensated)
    assert numbers["couplings"][0]["settings"]["kind"] == "forward prediction"
    assert numbers["couplings"][0]["error"] == uncompensated.rows[0].nominal.error


def test_the_answer_as_a_table(uncompensated):
    frame = uncompensated.to_dataframe()
    assert list(frame.index) == [row.name for row in uncompensated.rows]
    assert frame["error"].iloc[0] == uncompensated.rows[0].nominal.error
    assert repr(uncompensated).startswith(f"<Tuning: best of {len(frame)} couplings: {frame.index[0]}")


def test_what_has_nothing_to_tune_says_so():
    with pytest.raises(HalfrealError, match="gives forces"):
        bar = halfreal.load(GALLERY.parent / "force_controlled_bar" / "index_one.toml")
        tune(bar.model_copy(update={"slow": None}))
    with pytest.raises(HalfrealError, match="slow test"):
        tune(halfreal.load(GALLERY.parent / "force_controlled_bar" / "index_one.toml"))
    with pytest.raises(HalfrealError, match=r"'shaking table' is tuned axis by axis; use halfreal\.tune_table"):
        tune(halfreal.load(GALLERY.parent / "shaking_table_rod" / "rod.toml"))


SERVO = """
def servo(p, s, t, u, y):
    s.x += p.share * (u[0] - s.x)
    y[0], y[1] = s.x, p.k * s.x
    return 0
"""
"""A rig that says nothing of itself: it is late by a first-order lag, on the step of the test."""


def test_a_rig_that_says_nothing_is_tuned_by_what_its_loop_does(tmp_path):
    (tmp_path / "mine.py").write_text(SERVO)
    numbers = {"share": 0.1, "k": 400.0}
    rig = {"kind": "user", "function": f"{tmp_path}/mine.py:servo", "parameters": numbers, "state": {"x": 0.0}}
    mine = definition(rig=rig, reference=None)
    assert applies(mine) == ""
    bench = Bench(mine.model_copy(update={"timing": mine.timing.model_copy(update={"duration": 4.0})}), 0)
    (model,), _ = measured_rigs(bench)
    z = np.exp(1j * model.omega * 1e-3)
    # x⁺ = x + 0.1 (u − x) is measured at the next tick; the half step of a held command is not the rig's
    np.testing.assert_allclose(model.response, 0.1 / (1.0 - 0.9 / z) / z**0.5, rtol=1e-6)
    found = parts(bench, halfreal.Definition.model_fields["coupling"].default)
    assert found.tracking_delay > 0.05 and found.delay == pytest.approx(9.5e-3, abs=1e-3)
    assert found.feedback_delay is None and math.isnan(found.noise_gain)  # its sensors are not known
    assert "delay of the measured force              not known" in about(found)
    assert bench.by_sensors and any("true displacement" in note for note in notes(mine, bench))


def row(name, worst, margin, kind="model inverse", failed=0):
    coupling, nominal = SimpleNamespace(kind=kind), Outcome("", worst)
    return SimpleNamespace(
        name=name, worst=worst, delay_margin=margin, coupling=coupling, nominal=nominal, failed=failed, short=""
    )


def test_ranked_by_error_and_of_those_alike_by_margin_and_simplicity():
    rows = [
        row("poor", 0.1, 1.0),
        row("adapts", 0.01, 0.01, kind="adaptive model based"),
        row("fragile", 0.01, 0.001),
        row("fixed", 0.01 + 0.5 * ALIKE, 0.009),
        row("fails", math.inf, 1.0, failed=3),
        row("fails less", math.inf, 1.0, failed=1),
    ]
    assert [one.name for one in rank(rows)] == ["fixed", "adapts", "fragile", "poor", "fails less", "fails"]


# --- rigs that are pushed back, and rigs driven by forces -------------------------------------------------------------


def test_a_rig_that_is_pushed_back_gets_the_ideal_compensator_by_what_its_model_says():
    wing = halfreal.load(GALLERY.parent / "strut_braced_wing" / "stepped_bare.toml")
    stays = {
        "excitation.specimen.frequencies": [5.0, 8.0],
        "excitation.specimen.dwell": "10 s",
        "timing.duration": "20 s",
    }
    bench = Bench(wing.with_values(stays), 0)
    found = {one.name: one.error for one in ideal_compensators(Search(bench, lambda text: None), 8.0)}
    bare = bench.outcomes(wing.coupling, [0])[0].error
    assert not bench.by_sensors  # it tells its true displacement
    assert found.keys() == {"narrow band table", "broad band inverse"}
    assert max(found.values()) < 0.2 * bare
    driven = wing.excitation.unchecked_copy({"specimen": SimpleNamespace(dwells=None, highest_frequency=None)})
    shaken = bench.nominal.unchecked_copy({"excitation": driven})
    tried = []
    hunt = SimpleNamespace(
        bench=SimpleNamespace(nominal=shaken), family=lambda name, grid, *_: tried.append((name, grid))
    )
    ideal_compensators(hunt, 12.0)  # an excitation that stays at no frequency and names none
    assert [name for name, _ in tried] == ["broad band inverse"] and tried[0][1][0]["highest"] == 12.0


def test_a_rig_that_is_not_pushed_back_or_has_no_model_is_spared_them(tmp_path):
    (tmp_path / "mine.py").write_text(SERVO)
    rig = {
        "kind": "user",
        "function": f"{tmp_path}/mine.py:servo",
        "parameters": {"share": 0.1, "k": 1.0},
        "state": {"x": 0.0},
    }
    for test in (definition(), definition(rig=rig, reference=None)):
        assert ideal_compensators(Search(SimpleNamespace(nominal=test, drawn=[test]), print), 5.0) == []


def test_harmonic_couplings_keep_the_frequencies_that_the_test_gives():
    square = halfreal.load(GALLERY.parent / "two_actuator_beam" / "square.toml")
    tried = []
    harmonic(
        SimpleNamespace(bench=SimpleNamespace(nominal=square), family=lambda name, grid, *_: tried.extend(grid[-1:]))
    )
    assert [(one["base_frequency"], one["harmonics"]) for one in tried] == [(62.5, 9)] * 3
    assert [one["kind"] for one in tried] == ["harmonic rls", "harmonic rls", "harmonic lms"]


# --- parts of the error -----------------------------------------------------------------------------------------------


def test_the_parts_of_an_error_are_what_was_put_in(frame):
    """Sensor noise over the motion; a rig late by a known time; a force late by what its prediction leaves out."""
    bench = Bench(frame, 0)
    quiet = parts(bench, vrths.couplings()["adaptive model, force"])
    noise = frame.rig.sensors.displacement.noise * np.sqrt(len(bench.due)) / np.linalg.norm(bench.due)
    assert quiet.noise == pytest.approx(noise, rel=0.02)
    assert quiet.whole == pytest.approx(noise, rel=0.02)
    assert quiet.largest == "sensor noise"
    assert quiet.integration == pytest.approx(0.0, abs=1e-9)  # exact, and the reference has the same step
    late = parts(bench, vrths.couplings()["PI + lead"])
    assert late.delay == pytest.approx(4.6e-3, abs=0.15e-3)  # J₁ of Table 3
    assert late.tracking_delay > 10 * late.amplitude
    unpredicted = parts(bench, vrths.couplings()["adaptive model"])
    assert unpredicted.feedback_delay > 20 * quiet.feedback_delay
    assert unpredicted.fidelity == pytest.approx(unpredicted.feedback_delay, rel=0.1)


def test_integration_is_told_by_the_schemes_own_order():
    errors = []
    for step in (4e-3, 2e-3):
        coarse = definition(step=step)
        virtual = coarse.virtual.model_dump() | {"scheme": {"kind": "newmark"}}
        coarse = coarse.model_copy(update={"virtual": type(coarse.virtual).model_validate(virtual)})
        errors.append(integration(Bench(coarse, 0)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


# --- samples, and motions out of reach --------------------------------------------------------------------------------


def test_samples_have_their_own_reference_and_the_worst_counts(frame):
    bench = Bench(frame, 4)
    assert len(bench.drawn) == 5
    stiffness = {float(one.rig.specimen.stiffness[0, 0]) for one in bench.drawn}
    assert len(stiffness) == 5
    coupling = vrths.couplings()["model inverse"]
    each = [one.error for one in bench.outcomes(coupling, range(5))]
    assert bench.robust(coupling, range(5)).error == max(each) > each[0]
    assert bench.robust(coupling, range(5), give_up=0.5 * each[0]).error == each[0]


def test_a_motion_beyond_the_actuator_is_told_before_the_run():
    small = definition(
        rig={"actuator": {"delay": DELAY, "stroke": 1e-3, "speed": 1e-2}, "specimen": {"stiffness": 2250.0}}
    )
    told = out_of_reach(small.model_copy(update={"reference": halfreal.load(GALLERY / "uncompensated.toml").reference}))
    assert len(told) == 2
    assert "the actuator's stroke is 1 mm, but the emulated system needs" in told[0].text
    assert "the actuator's speed is 10 mm/s" in told[1].text
    assert out_of_reach(definition()) == []
    weak = halfreal.load(GALLERY / "uncompensated.toml")
    limits = weak.limits.model_copy(update={"displacement": type(weak.limits.displacement)(trip=[1e-3])})
    assert any(
        "limits.displacement.trip is 1 mm" in reason
        for reason in halfreal.check(
            weak.model_copy(
                update={"limits": limits, "coupling": halfreal.load(GALLERY / "forward_prediction.toml").coupling}
            )
        ).reasons
    )
