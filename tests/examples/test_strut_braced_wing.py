"""The strut-braced wing of the gallery: what Ruffini et al. (2020) measured, on the virtual rig."""

import importlib.util
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.signal import lsim

import halfreal
from examples.wallace2005 import GALLERY
from halfreal.campaigns.plan import read_plan

WING = GALLERY.parent / "strut_braced_wing"


@pytest.fixture(autouse=True)
def beside(monkeypatch):
    monkeypatch.syspath_prepend(str(WING))


@cache
def script(name):
    sys.path.insert(0, str(WING))
    try:
        spec = importlib.util.spec_from_file_location(name, WING / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(WING))


@cache
def stepped(name):
    return script("study").stepped(name)


def errors(test):
    amplitude, phase = np.abs(np.abs(test.ratio) - 1.0), np.abs(np.degrees(np.angle(test.ratio)))
    return amplitude, phase, test.frequency_hz <= 8.0


@pytest.mark.parametrize("name", ["stepped_narrow", "stepped_broad"])
def test_figure_10_compensated(name):
    amplitude, phase, low = errors(stepped(name))
    assert amplitude.mean() <= 0.023
    assert phase[low].max() <= 1.0
    assert phase.max() <= 5.0


def test_figure_10_uncompensated():
    # published: 49 % at 1 Hz to 400 % at 11 Hz measured; 31° at 5 Hz and 38° at 8 Hz, which the model gives too
    test = stepped("stepped_bare")
    ratio = dict(zip(test.frequency_hz.tolist(), test.ratio, strict=True))
    for hz, gain, degrees in ((1, 1.35, 9.2), (5, 1.83, 30.5), (8, 2.62, 38.3), (11, 4.15, 39.6), (15, 10.7, 19.7)):
        assert abs(ratio[hz]) == pytest.approx(gain, rel=0.012)
        assert np.degrees(np.angle(ratio[hz])) == pytest.approx(degrees, abs=0.7)


@cache
def tuned():
    return script("study").tuned_on_the_rig()


def test_on_a_sampled_drive_the_continuous_models_table_loses_accuracy_above_8_hz_as_the_paper_saw():
    amplitude, phase, low = errors(tuned()[0])
    assert amplitude[low].max() < 0.05 and phase[low].max() < 1.5
    assert phase[-1] > 10.0
    bare = errors(stepped("stepped_bare"))
    assert np.all(amplitude < bare[0])


def test_the_table_of_the_sampled_drive_is_right_at_the_first_try():
    amplitude, phase, _ = errors(stepped("stepped_sampled"))
    assert amplitude.mean() < 0.005 and amplitude[:11].mean() < 0.1 * errors(tuned()[0])[0][:11].mean()
    assert phase.mean() < 0.3
    quiet = {"rig.sensors.displacement": {}, "rig.sensors.force": {}}
    found = script("study").measured(halfreal.load(WING / "stepped_sampled.toml").with_values(quiet))
    assert np.abs(found.ratio - 1.0).max() < 5e-4  # what is left is noise, all but this


def test_a_table_tuned_on_the_rig_is_as_good_as_the_papers_and_needs_no_model_of_the_wing():
    tuning = tuned()
    before, after = (errors(one)[0][:11].mean() for one in (tuning[0], tuning[2]))
    assert before > 0.035 and after < 0.003  # published: 2.3 %
    assert np.abs(np.abs(tuning[3].true_ratio) - 1.0).mean() < 0.005  # other noise, and without that of the sensor
    assert np.abs(tuning[2].compensator[4]) == pytest.approx(1.15, abs=0.01)  # published, at 5 Hz


def test_figure_9a_the_drift_with_the_airspeed_is_followed(tmp_path):
    study = script("study")
    short = halfreal.load(WING / "stepped_bare.toml").with_values(
        {"excitation.specimen.frequencies": [5.0], "timing.duration": "10 s"}
    )
    driven = study.with_airspeed(short, tmp_path, 40.0, 10.0)
    run = study.rehearsed(driven)
    gusts = study.rehearsed(short)
    kept, last = (run.time >= 15.0) & (run.time < 20.0), (gusts.time >= 5.0) & (gusts.time < 10.0)
    moved, wanted = (run.signals[name].values[kept] for name in ("rig.displacement", "target"))
    lift = wanted.mean() - gusts.signals["target"].values[last].mean()
    specimen = short.rig.specimen
    whole = specimen.stiffness + 8000.0 * np.outer(specimen.held_at(), specimen.held_at())
    assert lift == pytest.approx(specimen.held_at() @ np.linalg.solve(whole, 40.0 * specimen.pushed_at()), rel=0.01)
    assert moved.mean() == pytest.approx(wanted.mean(), rel=0.01)
    assert np.ptp(wanted) == pytest.approx(np.ptp(gusts.signals["target"].values[last]), rel=0.02)


def test_figure_11_the_wing_feels_the_device():
    test = stepped("stepped_narrow")
    expected = 1.0 / (8000.0 + 800j * 2 * np.pi * test.frequency_hz)
    relative = test.emulated / expected
    low = test.frequency_hz <= 8.0
    np.testing.assert_allclose(np.abs(relative[low]), 1.0, atol=0.01)
    np.testing.assert_allclose(np.degrees(np.angle(relative[low])), 0.0, atol=1.0)


def test_the_hybrid_test_moves_as_the_wing_with_the_device_on_it():
    test = stepped("stepped_narrow")
    specimen = halfreal.load(WING / "stepped_narrow.toml").rig.specimen
    at = specimen.held_at()
    for hz, found in zip(test.frequency_hz[:8], test.device[:8], strict=True):
        s = 2j * np.pi * hz
        stiffness = s**2 * specimen.mass + s * specimen.damping_matrix() + specimen.stiffness
        whole = stiffness + np.outer(at, at) * (8000.0 + 800.0 * s)
        emulated = abs(at @ np.linalg.solve(whole, specimen.pushed_at()) * 10.0)
        assert abs(found) == pytest.approx(emulated, rel=0.01)


def emulated_peak(stiffness, damping):
    """Of the strut root of the wing with the device on it, without any rig."""
    definition = halfreal.load(WING / "single_gust.toml")
    wing, gust = definition.rig.specimen, definition.excitation.specimen
    at, n = np.outer(wing.held_at(), wing.held_at()), wing.dofs
    inverse = np.linalg.inv(wing.mass)
    below = [-inverse @ (wing.stiffness + stiffness * at), -inverse @ (wing.damping_matrix() + damping * at)]
    a = np.block([[np.zeros((n, n)), np.eye(n)], below])
    b = np.concatenate([np.zeros(n), inverse @ wing.pushed_at()])[:, None]
    t = np.arange(0.0, 1.0, 1e-4)
    hz = gust.frequencies[0]
    force = np.where(t < 1.0 / hz, 0.5 * gust.force * (1.0 - np.cos(2 * np.pi * hz * t)), 0.0)
    _, moved, _ = lsim((a, b, np.concatenate([wing.held_at(), np.zeros(n)])[None], np.zeros((1, 1))), force, t)
    return np.abs(moved).max()


def test_figure_12_a_single_gust_moves_the_wing_as_the_device_would():
    study = script("study")
    peaks = {}
    for device in ((k, c) for k in (100.0, 8000.0) for c in (200.0, 800.0)):
        run = study.single_gust(*device)
        peaks[device] = np.abs(run.signals["target"].values).max()
        assert peaks[device] == pytest.approx(emulated_peak(*device), rel=0.03)
    # as in the paper more damping takes the peak down, and more so with a soft spring (64 % and 36 % there)
    reductions = [1.0 - peaks[k, 800.0] / peaks[k, 200.0] for k in (100.0, 8000.0)]
    assert reductions[0] > 0.5 and reductions[0] > reductions[1] > 0.25


@pytest.mark.parametrize("rig", ["stepped_bare", "stepped_sampled"])
def test_the_shaker_is_identified_within_its_intervals(rig):
    found = script("identify").identified(rig)
    true = {"damping": 2.0, "stiffness": 10.0, "inductance": 0.025, "resistance": 1.6}
    for name, value in true.items():
        assert found.interval(name)[0] < value < found.interval(name)[1]
    assert found.half_widths["inductance"] < 1e-4 and found.half_widths["resistance"] < 0.01


def test_the_plan_of_devices_fits_the_single_gust():
    design = read_plan(WING / "plans" / "devices.toml", halfreal.load(WING / "single_gust.toml"))[1]
    assert design.values.tolist() == [[k, c] for k in (100.0, 8000.0) for c in (200.0, 500.0, 800.0)]


def test_the_map_of_devices_is_drawn(tmp_path):
    script("device_map").main(tmp_path, points=3)
    results = halfreal.load_results(Path(tmp_path) / "device_map.sqlite")
    peak = results["peak rig.displacement"].reshape(3, 3)
    assert np.all(np.diff(peak, axis=0) < 0) and np.all(np.diff(peak, axis=1) < 0)
    assert results["growth rate"].max() < 0.0
    assert (tmp_path / "device_map.png").stat().st_size > 10_000
