import json

import numpy as np
import pytest
from typer.testing import CliRunner

import halfreal
from examples.shaking_table_rod import study
from examples.wallace2005 import GALLERY
from halfreal.cli import app
from halfreal.cli.options import as_toml
from halfreal.couplings.axis_filters import AxisFilters
from halfreal.errors import HalfrealError
from halfreal.identification.feed_forward import delay_from_phase
from halfreal.identification.frf import Estimate
from halfreal.presentation.tune_table_text import as_text
from halfreal.rigs.table_tuning import axis_response
from halfreal.studies.tuning.table import ALIKE, follows, own_band, predictions, tune_table

ROD = study.HERE / "rod.toml"
SIX_AXES = study.HERE.parent / "shaking_table_six_axes" / "six_axes.toml"


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_table_is_tuned_and_written_as_a_definition(tmp_path):
    target = tmp_path / "best.toml"
    answer = run("tune", ROD, "--bandwidth", "30 Hz", "-o", target, "--json")
    assert answer.exit_code == 0, answer.output
    numbers = json.loads(answer.stdout)
    (axis,) = numbers["axes"]
    best = halfreal.load(target)
    assert (tmp_path / "best.png").stat().st_size > 10_000
    # the gains that the folder's own study finds
    assert best.rig.controller.proportional == pytest.approx(159, abs=0.5)
    # as it follows: the model of the table, which is continuous, and half a tick of its sampled measurement
    hz = np.linspace(0.5, 30.0, 100)
    modelled = delay_from_phase(hz, axis_response(best.rig, "x", hz))
    assert axis["delay_before_s"] == pytest.approx(modelled, abs=best.timing.step)
    # behind the inverse: flat, and later by the low-pass less the table, as the measured axis and the filter have it
    assert 0.99 < axis["least_amplitude"] < axis["largest_amplitude"] < 1.05
    assert axis["delay_s"] == pytest.approx(axis["delay_behind_inverse_s"], abs=2e-5)
    assert axis["delay_s"] < 0.7 * axis["delay_before_s"]
    assert numbers["stable"]


def test_the_most_accurate_prediction_counts_that_leaves_the_loop_stable():
    """A mass of 12.5 kg at the tip of a light rod: every prediction amplifies more than the loop bears."""
    found = tune_table(study.definition(), bandwidth_hz=30.0, shapes=((3, 12), (2, 12)))
    assert not np.any(found.coupling.prediction)
    assert found.tried[0].linearisation.stable
    assert [one.linearisation.stable for one in found.tried[1:]] == [False, False]
    assert min(one.left for one in found.tried) < found.tried[0].left
    assert any("unstable" in line for line in as_text(found))


def heavy(mass: float):
    """The rod's test with another mass on the table."""
    test = study.definition()
    specimen = test.rig.specimen.model_copy(update={"mass": np.array([[mass]])})
    return test.model_copy(update={"rig": test.rig.model_copy(update={"specimen": specimen})})


def test_where_no_prediction_is_stable_that_is_told_and_nothing_is_written(tmp_path):
    """A mass of 40 kg is more than the rod's first two modes have at its tip, 1/(1/53.8 + 1/52) = 26 kg."""
    test, target = tmp_path / "heavy.toml", tmp_path / "best.toml"
    test.write_text(as_toml(heavy(40.0)))
    answer = run("tune", test, "--bandwidth", "30 Hz", "-o", target)
    assert answer.exit_code == 1 and "no prediction makes this loop stable" in answer.output, answer.output
    assert f"next: halfreal check {test}" in answer.output
    assert not target.exists() and not target.with_suffix(".png").exists()
    radii = [float(line.split()[-1]) for line in answer.output.splitlines() if "unstable, spectral radius" in line]
    assert len(radii) > 5 and radii == sorted(radii)


def test_of_predictions_that_err_alike_the_one_with_the_most_margin_counts():
    """An axis that is late by five ticks, and a mass that is light enough for every prediction."""
    late, hz = np.array([5e-3]), np.arange(0.5, 50.0, 0.125)
    axis = Estimate(hz, np.exp(-2j * np.pi * hz * late[0]), np.ones_like(hz))
    plain = AxisFilters(kind="feed-forward filters")
    first, *others = predictions(heavy(1.0), plain, [axis], late, 20.0, ((3, 4), (4, 8), (2, 12)))
    alike = [one for one in (first, *others) if one.left <= ALIKE]
    assert len(alike) == 2 and first.left > min(one.left for one in others)
    assert first.margin.gain_margin_db == max(one.margin.gain_margin_db for one in alike)
    assert [one.left for one in others] == sorted(one.left for one in others)


def test_an_axis_that_noise_hides_is_told_with_the_amplitude():
    test = study.definition()
    noise = test.rig.sensors.displacement.model_copy(update={"noise": 2e-3})
    sensors = test.rig.sensors.model_copy(update={"displacement": noise})
    noisy = test.model_copy(update={"rig": test.rig.model_copy(update={"sensors": sensors})})
    with pytest.raises(HalfrealError, match=r"axis x is hidden by noise: measured with 200 µm rms.*--amplitude"):
        tune_table(noisy)


def test_without_a_bandwidth_the_band_is_that_of_the_table():
    """Its lag in slow motion, 8.1 ms, turns the phase by a fifth at 24 Hz; of slow controllers the amplitude tells."""
    rig = study.definition().rig
    assert own_band(rig) == pytest.approx(24.0, abs=1.0)
    slow = rig.model_copy(update={"controller": study.Pid()})
    band = own_band(slow)
    assert abs(axis_response(slow, "x", np.array([band]))[0]) == pytest.approx(0.9, abs=0.02)


def test_an_amplitude_that_an_axis_does_not_bear_is_told_in_its_unit():
    with pytest.raises(HalfrealError, match="with 500 mrad rms up to 60 Hz tripped"):
        follows(halfreal.load(SIX_AXES), 5, 50.0, 0.5)


def test_options_of_tables_are_refused_elsewhere_and_too_much_bandwidth_is_told(tmp_path):
    other = run("tune", GALLERY / "uncompensated.toml", "--bandwidth", "25 Hz", "-o", tmp_path / "x.toml")
    assert other.exit_code == 2 and "for shaking tables" in other.output
    for given, told in (("70 Hz", "55.6 Hz or less"), ("1 Hz", "2 Hz or more"), ("25 mm", "where Hz is expected")):
        answer = run("tune", ROD, "--bandwidth", given, "-o", tmp_path / "x.toml")
        assert answer.exit_code == 2 and told in answer.output, answer.output
