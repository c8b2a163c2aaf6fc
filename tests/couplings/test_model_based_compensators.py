"""Narrow-band table and broad-band inverse: alone against their formulas, and in the loop of the strut-braced wing."""

import math

import numpy as np
import pytest

import halfreal
from halfreal.contracts.state_space import StateSpace
from halfreal.couplings.broad_band_inverse import BroadBandInverse
from halfreal.couplings.narrow_band_table import NarrowBandTable
from halfreal.errors import HalfrealError
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.rigs.servo_hydraulic import ServoHydraulic
from halfreal.runs.loop_stability import linearised, margin_of
from halfreal.runs.worst_frequency import at_worst, tuned_to
from halfreal.stability.ideal_compensator import performance
from rigs.wing import SHAKER, STEP, definition, gusts

TABLE = {"frequencies": [1.0, 4.0, 10.0], "amplitudes": [1.0, 1.2, 2.0], "leads": [0.0, -0.02, 0.004]}
NARROW, BROAD = {"kind": "narrow band table"}, {"kind": "broad band inverse"}


def models(test):
    """The actuator and the device of a test."""
    return test.rig.follower(STEP), test.virtual.device(STEP)


def with_model_data(test):
    return test.coupling.with_model_data(test)


def source_step(p, s, t, u, y):
    y[0] = p.mean + 1e-3 * math.sin(p.omega * t)
    return 0


def through(coupling, hz, seconds=30.0, mean=0.0, record=("target", "command.asked")):
    """Target and command of a sine that passes the coupling."""
    source = Block(
        "source",
        source_step,
        (),
        (Channel("target", "m"), Channel("measured", "m")),
        {"omega": 2 * np.pi * hz, "mean": mean},
    )
    loop = Loop([source, coupling.block(STEP, "m", ("target",), ("measured",))], dt=STEP)
    return loop.run(round(seconds / STEP), record=list(record)).log


def phasor(log, column, hz, after=20.0):
    kept = log[:, 0] >= after
    t = log[kept, 0]
    basis = np.column_stack([np.cos(2 * np.pi * hz * t), np.sin(2 * np.pi * hz * t), np.ones_like(t)])
    a, b, mean = np.linalg.lstsq(basis, log[kept, column], rcond=None)[0]
    return a - 1j * b, mean


@pytest.mark.parametrize(("hz", "amplitude", "lead"), [(4.0, 1.2, -0.02), (10.0, 2.0, 0.004), (7.0, 1.6, None)])
def test_a_sine_is_amplified_and_shifted_as_the_table_says(hz, amplitude, lead):
    coupling = NarrowBandTable(**NARROW, **TABLE, frequency=hz, mean_time=50.0, points=6)
    log = through(coupling, hz)
    found = phasor(log, 2, hz)[0] / phasor(log, 1, hz)[0]
    if lead is None:  # amplitude and phase are linear between lines
        lead = 0.5 * (4.0 * -0.02 + 10.0 * 0.004) / hz
    assert found == pytest.approx(amplitude * np.exp(2j * np.pi * hz * lead), rel=2e-3)
    assert found == pytest.approx(coupling.response(STEP, [hz])[0], rel=1e-4)


def test_the_mean_passes_as_it_is():
    log = through(NarrowBandTable(**NARROW, **TABLE, frequency=4.0), 4.0, mean=5e-3)
    assert phasor(log, 2, 4.0)[1] == pytest.approx(5e-3, rel=1e-3)


def test_the_frequency_of_a_sine_is_tracked_beside_a_mean():
    coupling = NarrowBandTable(**NARROW, **TABLE, track={"start": 1.5}, mean_time=50.0)
    record = ("target", "command.asked", "coupling.frequency", "coupling.amplitude")
    log = through(coupling, 4.0, mean=5e-3, record=record)
    assert log[0, 3] == pytest.approx(1.5)
    # the mean of squares in a fading window wavers about that of whole cycles
    assert log[log[:, 0] > 20.0, 3].mean() == pytest.approx(4.0, rel=2e-3)
    assert phasor(log, 2, 4.0)[0] / phasor(log, 1, 4.0)[0] == pytest.approx(1.2 * np.exp(-0.16j * np.pi), rel=0.02)


def steady_ratio(test, hz):
    log = halfreal.build(test).run(64000, record=["target", "rig.displacement"]).log
    return phasor(log, 2, hz, 10.0)[0] / phasor(log, 1, hz, 10.0)[0]


@pytest.mark.parametrize("hz", [1.0, 5.0, 8.0, 15.0])
@pytest.mark.parametrize("settings", [NARROW, BROAD], ids=["narrow", "broad"])
def test_actuator_and_device_move_together_whatever_the_wing(settings, hz):
    test = definition(coupling=settings, excitation={"specimen": gusts(hz)})
    found = steady_ratio(test, hz)
    assert abs(found) == pytest.approx(1.0, abs=0.023)
    assert abs(np.degrees(np.angle(found))) < (1.0 if hz <= 8.0 else 5.0)
    lines = np.array([hz])
    told = performance(*models(test), lines, with_model_data(test).response(STEP, lines))
    assert found == pytest.approx(told.ratio[0], abs=5e-3)


def test_the_table_comes_from_the_shaker_that_was_identified():
    wrong = {**SHAKER, "resistance": 3.2}
    test = definition(coupling={**NARROW, "shaker": wrong})
    # the compensator of another shaker on this one, as the model says
    lines = np.array([5.0])
    other = with_model_data(test).response(STEP, lines)
    told = performance(*models(definition()), lines, other)
    assert abs(told.ratio[0] - 1.0) > 0.05
    assert steady_ratio(test, 5.0) == pytest.approx(told.ratio[0], abs=2e-3)


def test_feedback_takes_away_what_a_wrong_model_leaves():
    slow = {"excitation": {"specimen": gusts(0.25)}}
    wrong = {**BROAD, "shaker": {**SHAKER, "resistance": 3.2}}
    alone, helped = (
        abs(steady_ratio(definition(coupling={**wrong, **feedback}, **slow), 0.25) - 1.0)
        for feedback in ({}, {"integral": 3.0})
    )
    assert helped < 0.6 * alone


def test_noise_that_the_broad_band_inverse_lets_through_is_what_it_says():
    coupling = with_model_data(definition(coupling=BROAD))
    lines = np.fft.rfftfreq(4096, STEP)
    gain = np.sqrt(np.mean(np.abs(coupling.response(STEP, lines[1:])) ** 2))
    # white noise: the mean of |P|² over all frequencies, its slow mean being but a small part
    assert gain == pytest.approx(coupling.noise, rel=0.02)
    quieter = with_model_data(definition(coupling={**BROAD, "noise_weight": 0.03}))
    assert quieter.noise < coupling.noise


def test_loops_with_compensators_are_stable():
    for settings in (NARROW, BROAD):
        assert linearised(definition(coupling=settings)).stable


def test_a_programme_of_frequencies_is_judged_at_its_worst():
    train = {"kind": "gust", "force": 20.0, "frequencies": [1.0, 15.0, 5.0], "dwell": 5.0}
    test = definition(coupling=NARROW, excitation={"specimen": train})
    worst, told = at_worst(test, lambda one: linearised(one).spectral_radius)
    assert "assessed at 15 Hz, where its delay margin is smallest, of 3 from 1 to 15 Hz" in told
    assert margin_of(tuned_to(test, 1.0)).critical_delay == math.inf
    assert 0.0 < margin_of(worst).critical_delay < math.inf
    # an unstable one is worse than any
    told = at_worst(test, lambda one: 1.1 if one.coupling.frequency == 5.0 else 0.9)[1]
    assert "assessed at 5 Hz, where it grows fastest" in told
    single = definition(coupling=NARROW)
    assert at_worst(single, lambda one: 2.0) == (single, "")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({**NARROW, **TABLE, "frequency": 12.0}, "12 Hz is outside the table of the compensator, 1 to 10 Hz"),
        ({**NARROW, **TABLE, "track": {"start": 0.5}}, "0.5 Hz is outside"),
        ({**NARROW, "frequency": 2.0, "track": {"start": 2.0}}, "both frequency and track are given"),
        ({**NARROW, "amplitudes": [1.0, 2.0]}, "amplitudes and leads"),
        ({**NARROW, **TABLE, "leads": [0.0, 1.0]}, "2 entries for 3 frequencies"),
        ({**NARROW, "frequencies": [3.0, 2.0]}, "increasing frequencies"),
        ({**NARROW, "track": {"start": 30.0}}, "30 Hz is outside the table of the compensator, 0.5 to 20 Hz"),
        ({**BROAD, "highest": 0.1}, "not above lowest"),
        ({**BROAD, "highest": 300.0}, "lower it below 250 Hz, or reduce coupling.spacing"),
    ],
)
def test_a_table_that_does_not_serve_is_refused(settings, told):
    with pytest.raises(ValueError, match=told):
        definition(coupling=settings)


def test_a_test_beyond_the_table_is_refused_before_it_runs():
    beyond = r"40 Hz is outside the table of the compensator, 0.5 to 20 Hz"
    with pytest.raises(ValueError, match=beyond):
        definition(coupling=NARROW, excitation={"specimen": gusts(40.0)})
    unchecked = definition().model_copy(update={"coupling": NarrowBandTable(**NARROW)})
    with pytest.raises(HalfrealError, match=r"coupling.frequency: 0.4 Hz is outside"):
        with_model_data(unchecked).response(STEP, [0.4])


def test_a_test_without_a_frequency_is_told_so():
    test = definition(coupling=NARROW, excitation={"specimen": {"kind": "step", "force": 5.0}})
    with pytest.raises(HalfrealError, match=r"give coupling.frequency or coupling.track"):
        halfreal.build(test)


def test_other_actuators_have_ideal_compensators_too():
    plain = {
        "title": "first order",
        "timing": {"step": STEP, "duration": 10.0},
        "virtual": {"mass": 2.0, "damping": 30.0, "stiffness": 3000.0, "force_dof": 1},
        "excitation": {"virtual": {"kind": "sine", "force": 10.0, "frequency": 4.0, "ramp": 1.0}},
        "coupling": NARROW,
        "rig": {
            "kind": "simulated",
            "actuator": {"kind": "first order", "time_constant": 8e-3},
            "specimen": {"stiffness": 500.0},
        },
    }
    test = halfreal.Definition.model_validate(plain)
    log = halfreal.build(test).run(40000, record=["target", "rig.displacement"]).log
    found = phasor(log, 2, 4.0, 5.0)[0] / phasor(log, 1, 4.0, 5.0)[0]
    assert found == pytest.approx(1.0, abs=5e-3)


def test_a_servo_hydraulic_actuator_gives_way_to_its_load_as_its_rig_does():
    actuator = {
        "valve_gain": 2.5e13,
        "valve_damping": 425.0,
        "valve_stiffness": 1e5,
        "interaction": 8e5,
        "leakage": 3.3,
    }
    rig = {
        "kind": "servo-hydraulic",
        "actuator": actuator,
        "specimen": {"mass": 30.0, "damping": 100.0, "stiffness": 1e6},
    }
    test = definition()
    test = test.model_copy(update={"rig": ServoHydraulic.model_validate(rig)})
    omega = 2 * np.pi * np.array([0.5, 3.0, 12.0, 25.0])
    command, force = models(test)[0].responses(omega)
    load = 1e6 + 100j * omega - 30.0 * omega**2
    a, b, c = test.rig.matrices(1)
    whole = StateSpace(a, b, c, np.zeros((2, 2))).response(omega)[:, 0, 0] * np.exp(-0.5j * omega * STEP)
    np.testing.assert_allclose(command / (1.0 + force * load), whole, rtol=1e-9)


def test_a_broad_band_inverse_needs_weights():
    with pytest.raises(HalfrealError, match="weights are not known"):
        BroadBandInverse(**BROAD).block(STEP, "m", ("target",), ("measured",))
