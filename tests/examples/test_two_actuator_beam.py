"""What the README of the two-actuator beam states, after section 5 of the paper on adaptive feed-forward filters."""

from functools import cache

import numpy as np
import pytest

import halfreal
from examples.beam import EXAMPLE, figures, flexible_plate, modes, study
from halfreal.contracts.context import AT_REST

RIG = study.rig


@cache
def sine(hz, *changes):
    return study.run(study.sine(hz, dict(changes)))


@cache
def square(harmonics):
    return study.run(study.square(harmonics))


def worst(found, reference):
    return float(np.abs(found / reference - 1).max())


@pytest.mark.parametrize("name", ["sine", "square", "flexible_plate"])
def test_definitions_describe_the_beam_of_the_parts(name):
    beam = halfreal.load(EXAMPLE / f"{name}.toml").virtual
    assert beam.model_dump(mode="json") == RIG.virtual().model_dump(mode="json")


@pytest.mark.parametrize(("hz", "integration"), [(150.0, 0.003), (320.0, 0.022), (800.0, 0.0954)])
def test_the_hybrid_test_is_the_assembled_structure_but_for_its_integration_error(hz, integration):
    """Fig. 20: H_Pz, H_Bz, H_Bα; the integration error is that of inputs taken as linear between samples."""
    reference, emulated = study.assembled(hz)[0], study.emulated(hz, "exact")[0]
    found = sine(hz).receptances(hz)
    assert worst(emulated, reference) == pytest.approx(integration, abs=0.0006)
    assert worst(found, emulated) < 2e-3
    assert worst(study.emulated(hz, "continuous")[0], reference) < 2e-4  # 20 modes of the beam


def test_a_closed_gap_is_not_yet_the_reference():
    """Newmark's method at 0.2 ms, as in the paper: perfectly synchronised at 320 Hz, and 19 % off."""
    record = sine(320.0, ("virtual.scheme", "newmark"))
    assert study.nmse_at(record, study.largest_ends(record.definition), 10.0) < 1e-6
    found = record.receptances(320.0)
    assert worst(found, study.assembled(320.0)[0]) == pytest.approx(0.19, abs=0.01)
    assert worst(found, study.emulated(320.0, "newmark")[0]) < 2e-3


@pytest.mark.parametrize(("hz", "begins", "ends"), [(60.0, 1e2, 1e-2), (320.0, 1e-2, 1e-6), (800.0, 0.5, 1e-5)])
def test_learning_curves_fall_to_the_orders_told(hz, begins, ends):
    record = sine(hz)
    largest = study.largest_ends(record.definition)
    assert study.nmse_at(record, largest, 0.1) > begins
    assert study.nmse_at(record, largest, 10.0) < ends


def test_lms_is_unstable_where_its_linearised_loop_is():
    """Fig. 21: a gain that is too high; here at 60 Hz, beside the virtual beam's own 59.2 Hz."""
    slow, fast = (study.sine(60.0, study.lms(memory)) for memory in ("1 s", "0.3 s"))
    assert halfreal.check(slow).linearisation.stable
    fine, wild = study.run(slow), study.run(fast)
    assert not fine.tripped and study.nmse_at(fine, study.largest_ends(slow), 9.0) < 0.05
    assert wild.tripped
    judged = halfreal.build(fast, AT_REST)
    judged.run(8)
    assert not halfreal.linearise(judged).stable


def closed_after(record, level):
    """Seconds after which the learning curve stays below a level."""
    time, curve = study.learning_curve(record, study.largest_ends(record.definition))
    return float(time[min(np.flatnonzero(curve > level)[-1] + 1, len(time) - 1)])


@pytest.mark.parametrize(
    ("law", "hz", "level", "share"),
    [
        ("LMS", 60.0, 0.05, 1.25),
        ("LMS", 320.0, 1e-5, 0.2),
        ("LMS", 800.0, 1e-4, 0.5),
        ("RLS", 60.0, 0.05, 0.7),
        ("RLS", 320.0, 1e-5, 0.6),
        ("RLS", 800.0, 1e-4, 0.7),
    ],
)
def test_the_automatic_choice_closes_the_gap_as_soon_as_told(law, hz, level, share):
    """As a share of the time that the best of the four chosen by hand takes."""
    best = study.rls(0.99) if law == "RLS" else study.lms("1 s" if hz == 60.0 else "0.1 s")
    by_hand, chosen = (closed_after(sine(hz, *changes.items()), level) for changes in (best, study.automatic(law)))
    assert by_hand < 9.0
    assert chosen <= share * by_hand


@pytest.mark.parametrize(("harmonics", "floor"), [(1, 1.106), (5, 0.1128), (9, 0.001487)])
def test_harmonics_that_are_left_out_leave_the_gap_of_the_truncated_series(harmonics, floor):
    """Fig. 22: the gap of the last two seconds, averaged over their periods, is that of the virtual beam alone."""
    record = square(harmonics)
    largest, predicted = study.square_floor(record.definition)
    assert (predicted**2).sum(axis=1).max() / (largest @ largest) == pytest.approx(floor, rel=1e-3)
    gap = np.column_stack([record.signals[f"target.{i}"] - record.signals[f"measured.displacement.{i}"] for i in "12"])
    periods = gap[-125 * len(predicted) :].reshape(125, len(predicted), 2).mean(axis=0)
    assert ((periods - predicted) ** 2).sum(axis=1).max() / (largest @ largest) < 5e-4


def test_without_compensation_the_plate_belongs_to_the_structure():
    """Eq. 27 in place of Eq. 26."""
    found = sine(150.0, ("rig.parameters.compensation", 0)).receptances(150.0)
    assert worst(found, study.emulated(150.0, "exact", with_plate=True)[0]) < 2e-3
    assert abs(found[1] / study.assembled(150.0)[0, 1] - 1) > 0.3


def test_figures_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "SHOWN", (320.0,))
    monkeypatch.setattr(figures, "STEPPED", np.array([150.0, 800.0]))
    monkeypatch.setattr(figures, "LMS_MEMORIES", ("0.3 s",))
    monkeypatch.setattr(figures, "RLS_FACTORS", (0.999,))
    monkeypatch.setattr(figures, "NUMBERS_OF_HARMONICS", (1,))
    monkeypatch.setattr(
        figures, "plates", lambda: {(320.0, 3e-3, kept): study.flexible(320.0, 3e-3, kept) for kept in (0, 2)}
    )
    monkeypatch.setattr(figures, "grid", lambda low, high, count: np.geomspace(low, high, 50))
    figures.main(tmp_path)
    assert {path.stem for path in tmp_path.glob("*.png")} == set(figures.FIGURES)


def test_a_plate_that_bends_is_compensated_by_its_reduced_model():
    """Eqs. 28–30: taken for rigid at 800 Hz another structure is tested, with two modes it is the assembled one."""
    rigid, modal = (study.flexible(800.0, 3e-3, modes) for modes in (0, 2))
    assert rigid.force > 0.5 and rigid.response > 0.3
    assert modal.force < 0.05 and modal.response < 0.05


def test_without_modes_the_plate_is_the_rigid_one():
    """But for its beam elements, which have no rotary inertia of the section: h² beside l² of the plate."""
    beam, rigid = flexible_plate.transfer_system(6e-3, 0), RIG.transfer_system()
    np.testing.assert_allclose(beam.mass, rigid.mass, rtol=0.005, atol=1e-9)
    for name in ("actuators", "interface", "acceleration_sensors"):
        np.testing.assert_allclose(getattr(beam, name), getattr(rigid, name), atol=1e-9)


def test_modes_in_space_are_those_of_the_plane_and_two_that_do_not_deflect():
    """Fig. 16."""
    found = modes.modes(*modes.calibrated())
    assert [mode.hz for mode in found] == pytest.approx(modes.PRINTED, abs=0.5)
    assert [mode.kind for mode in found] == ["deflection"] * 3 + ["lateral bending", "torsion", "deflection"]
    plane = RIG.assembled().natural_frequencies_hz()[:4]
    assert [mode.hz for mode in found if mode.kind == "deflection"] == pytest.approx(plane, rel=1e-3)
    assert all((mode.at_p > 0.1) == (mode.kind == "deflection") for mode in found)


def test_torsion_of_the_uncalibrated_beams_is_that_of_a_rod():
    """Fixed at both ends, f = √(GJ/ρI_p)/2L, L = 600 mm."""
    section = modes.section()
    expected = np.sqrt(section.torsion / section.inertia) / (4 * RIG.FREE_LENGTH)
    assert modes.before_calibration()[1] == pytest.approx(expected, rel=0.003)


def test_with_nine_harmonics_the_automatic_choice_closes_the_gap_no_later_than_by_hand():
    test = halfreal.load(EXAMPLE / "square.toml")
    left_out = ("forgetting", "identification_forgetting", "random_interval")
    found = []
    for coupling in (test.coupling, test.coupling.changed(**dict.fromkeys(left_out))):
        loop = halfreal.build(test.model_copy(update={"coupling": coupling}))
        after = round((test.coupling.identification_time + 5.0) / test.timing.step)
        found.append(float(loop.run(after, record=["coupling.nmse"]).log[-1, 1]))
    by_hand, chosen = found
    assert chosen < by_hand < 5e-3
