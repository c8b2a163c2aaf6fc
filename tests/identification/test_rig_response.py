"""How a rig follows, against the closed form e^{−sτ}/(1 + sT), and records that tell nothing."""

import dataclasses

import numpy as np
import pytest

import halfreal
from halfreal.errors import HalfrealError
from halfreal.identification.rig_record import NotIdentifiableError, cut_off, rig_record
from halfreal.identification.rig_response import rig_response
from halfreal.models.excitations import Chirp, Random, Sine
from lagging_rig import lagging, moved

DELAY, LAG = 4.3e-3, 5e-3


@pytest.fixture(scope="module", params=["periods", "whole record"])
def response(request):
    excitation = {
        "periods": Random(displacement=0.5e-3, frequency=0.5, to=20.0, period=2.0, ramp=0.5),
        "whole record": Chirp(displacement=1e-3, frequency=0.5, to=20.0, duration=15.0, ramp=0.5),
    }[request.param]
    return rig_response(moved(lagging(), excitation, 16.0), 0)


def test_the_measured_response_is_that_of_delay_and_lag(response):
    hz, used = response.lines.frequency_hz, response.used
    s = 2j * np.pi * hz
    expected = np.exp(-s * DELAY) / (1.0 + s * LAG)
    off = np.abs(response.lines.response / expected - 1.0)[used]
    assert used.sum() > 30
    assert np.median(off) < 2e-3
    # real and imaginary part have the deviation that is told
    assert 0.5 < np.mean((off / response.deviation()[used]) ** 2) / 2.0 < 2.0


def test_the_fit_separates_the_delay_from_the_lag(response):
    fit = response.fit
    assert fit.poles == pytest.approx([-1.0 / LAG], rel=0.01)
    assert abs(fit.delay - DELAY) < 3.0 * response.delay_half_width < 1e-4
    assert response.slow_lag() == pytest.approx(DELAY + LAG, rel=0.01)


def test_a_pure_delay_needs_no_pole():
    definition = lagging(**{"rig.actuator": {"kind": "delay", "delay": "9.4 ms"}})
    fit = rig_response(moved(definition), 0).fit
    assert len(fit.poles) == 0 and fit.delay == pytest.approx(9.4e-3, abs=5e-6)
    assert fit.constant == pytest.approx(1.0, abs=1e-3)


def test_a_single_frequency_is_not_fitted_and_it_is_said_why():
    found = rig_response(moved(lagging(), Sine(displacement=2e-3, frequency=3.0)), 0)
    assert found.fit is None and "a rational fit needs 6" in found.notes[0]


def test_records_that_tell_nothing_are_refused_with_what_would_help():
    definition = lagging()
    run = halfreal.rehearse(definition)
    still = {name: dataclasses.replace(one, values=np.zeros(one.values.size)) for name, one in run.signals.items()}
    motion = run.signals["measured.displacement"].values
    stuck = np.clip(motion, 0.5 * motion.min(), 0.5 * motion.max())
    cut = {**run.signals, "measured.displacement": halfreal.runs.Signal("m", stuck)}
    none = {key: one for key, one in run.signals.items() if key != "measured.force"}
    for changed, error, told in (
        ({"signals": none}, HalfrealError, "measured.force not in the record"),
        ({"signals": still}, NotIdentifiableError, "the command does not move"),
        ({"signals": cut}, NotIdentifiableError, "measured displacement is cut off at .* % are allowed"),
        ({"step": 1e-3}, HalfrealError, "a step of 1 ms, and the definition one of 2 ms"),
    ):
        with pytest.raises(error, match=told):
            rig_record(dataclasses.replace(run, **changed), definition, "run.h5")
    with pytest.raises(NotIdentifiableError, match="at least 256 are needed"):
        rig_record(halfreal.rehearse(lagging(**{"timing.duration": "0.3 s"})), definition)
    with pytest.raises(HalfrealError, match="contains every 4th tick only"):
        rig_record(halfreal.rehearse(lagging(**{"record": {"every": 4}})), definition)


def test_a_signal_that_rests_is_not_cut_off():
    motion = np.concatenate([np.zeros(50), np.sin(np.arange(200) * 0.1), np.zeros(50)])
    assert cut_off(motion)[0] == 0.0
    assert cut_off(np.clip(motion, -0.5, 0.5))[0] > 0.3
